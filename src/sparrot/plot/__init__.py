"""Results -> figures; nothing is solved here.

Every function takes arrays or results, draws on the Axes it is given or on new ones, and returns
them. Needs the extra `plot`; matplotlib is loaded when something is drawn.
"""

from sparrot.plot._curves import convergence, eps_path, perplexity, spectrum
from sparrot.plot._matrix import affinity
from sparrot.plot._scatter import eigenvectors, embedding, potential

__all__ = [
    "affinity",
    "convergence",
    "eigenvectors",
    "embedding",
    "eps_path",
    "perplexity",
    "potential",
    "spectrum",
]
