"""Sparse, density-adaptive, bistochastic affinity graphs by regularized optimal transport.

`sparrot.qot(X)` builds the affinity, `sparrot.QOT` is the scikit-learn estimator. The public names
are listed in `__init__.pyi`; each is loaded on first use, so that `import sparrot` costs next to
nothing.
"""

import lazy_loader

__version__ = "1.0.0rc1"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
