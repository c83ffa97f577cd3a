"""The names of this room; `__init__.py` loads each on first use."""

from ._affinities import (
    load as load,
    save as save,
)
from ._points import (
    read_points as read_points,
)
