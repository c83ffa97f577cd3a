"""Points and affinities in files.

The names are listed in `__init__.pyi`; each is loaded on first use, so that the table of formats
can be read without NumPy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
