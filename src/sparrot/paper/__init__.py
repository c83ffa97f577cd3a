"""The experiments of the paper: each runs, checks the paper's claims by its numbers, and draws.

One module per experiment, `sparrot.paper.spiral` for instance, and what several of them share in
private modules. Nothing else in the package but the command line imports this room. Its names are
listed in `__init__.pyi`; each is loaded on first use, so that help need not wait for NumPy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
