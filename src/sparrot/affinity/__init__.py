"""The named affinities: functions, estimators, and their one result type.

The names are listed in `__init__.pyi`; each is loaded on first use, so that the table of kinds can
be read without the solvers behind it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
