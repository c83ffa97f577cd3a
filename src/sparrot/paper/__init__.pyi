"""The names of this room; `__init__.py` loads each on first use."""

from ._experiment import (
    EXPERIMENTS as EXPERIMENTS,
    Claim as Claim,
    Experiment as Experiment,
    Numbers as Numbers,
    find_experiment as find_experiment,
)
from ._work import (
    Report as Report,
    Work as Work,
    code_digest as code_digest,
    fingerprint as fingerprint,
)
