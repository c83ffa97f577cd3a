"""
A closed curve behind noise in 250 dimensions
=============================================

The quick start: from points to a graph, and from the graph to coordinates. The points lie on a
closed curve, and each was moved by noise of a strength that varies along the curve. The two leading
eigenvectors of the QOT graph are a circle again.
"""

# sphinx_gallery_thumbnail_number = 2
import numpy as np

import sparrot

spiral = sparrot.datasets.make_spiral()  # 1000 points
a = sparrot.qot(spiral.X)
print(a)
print(a.certificate)

# %%
# The graph is a sparse, symmetric matrix whose rows sum to one. It follows the curve: the points
# are numbered along it, so mass sits near the diagonal and, as the curve is closed, in two corners.

sparrot.plot.affinity(a)

# %%
# ``Eigenmaps`` takes the leading eigenvectors after the constant one.

Y = sparrot.Eigenmaps(2).fit_transform(spiral.X)
sparrot.plot.embedding(Y, values=spiral.t, name="position on the curve", cmap="twilight_shifted")

# %%
# How good is it? The mean angle between the spaces of nine eigenvectors (the constant one and four
# pairs, sines and cosines along the curve) of this graph and of the clean curve. For a k-NN graph
# of the noisy points it is larger.

clean = sparrot.eigenpairs(sparrot.knn(spiral.clean, 2), 9).vectors


def angle(affinity):
    """Between eigenvectors of a graph and those of the clean curve, in radians."""
    vectors = sparrot.eigenpairs(affinity, 9).vectors
    return sparrot.metrics.mean_principal_angle(vectors, clean)


print(f"QOT {angle(a):.2f}, 60 nearest neighbors {angle(sparrot.knn(spiral.X, 60)):.2f}")
assert angle(a) < 0.1
assert angle(sparrot.knn(spiral.X, 60)) > 0.2
assert np.abs(a.matrix.sum(axis=1) - 1).max() <= 1e-8
