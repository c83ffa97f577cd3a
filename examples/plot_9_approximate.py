"""
Too many points to look at every pair
=====================================

An exact solve looks at every pair of points. Where that takes too long, ``search="approximate"``
looks only at approximate neighbors and neighbors of neighbors. Row sums are exact as before;
what the search may have missed is estimated from rows that were checked against all points, and is
part of the certificate. Here on 2,000 points, where the exact answer is at hand.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsTransformer

import sparrot

X = np.random.default_rng(0).standard_normal((2000, 6))
exact = sparrot.qot(X, perplexity=30)

# %%
# Any transformer with scikit-learn's interface may supply the first neighbors; by default it is
# pynndescent (the extra ``approximate``).

nearest = KNeighborsTransformer(n_neighbors=15)
near = sparrot.qot(X, exact.relative_eps, search="approximate", neighbors=nearest)
print(exact.certificate)
print(near.certificate)
missed = abs(exact.matrix - near.matrix).sum() / len(X)
print(f"difference to the exact answer: {missed:.1e} of the mass of a row")
assert not near.certificate.exact
assert near.certificate.marginal_error <= 1e-8
assert missed < 0.01

# %%
# Weights found by both, against each other.

i, j = exact.matrix.nonzero()
figure, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.scatter(exact.matrix[i, j], near.matrix[i, j], s=1, rasterized=True)
ax.set(xlabel="weight, exact", ylabel="weight, approximate")
