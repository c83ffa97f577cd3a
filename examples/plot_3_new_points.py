"""
Points that come later
======================

An estimator that was fitted gives new points their rows: sparse, of mass one, found by one equation
in one variable each. Nothing is solved again. The same rows carry eigenvectors, clusters and any
other signal over to the new points.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparrot

spiral = sparrot.datasets.make_spiral(1200)
new = np.arange(1200) % 3 == 1
X, X_new = spiral.X[~new], spiral.X[new]

rows = sparrot.QOT().fit(X).transform(X_new)
print(f"{rows.shape[0]} rows of {rows.nnz / rows.shape[0]:.0f} neighbors, sums to one")
assert np.allclose(rows.sum(axis=1), 1)

# %%
# A row weighs the training points that the new point would join. Means with these weights carry a
# signal over: here, the position on the curve, as a point on the unit circle.

circle = np.exp(1j * spiral.t)
guess = rows @ circle[~new]
off = np.abs(np.angle(guess / circle[new]))
print(f"position on the curve: median error {np.median(off):.3f} of 2 pi")
assert np.median(off) < 0.1

# %%
# The maps do the same with their eigenvectors (the Nystrom extension).

model = sparrot.Eigenmaps(2).fit(X)
Y, Y_new = model.embedding_, model.transform(X_new)

figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.scatter(*Y.T, s=14, color="0.8", label="fitted")
ax.scatter(*Y_new.T, s=10, c=spiral.t[new], cmap="twilight_shifted", label="new")
ax.set(aspect="equal", xlabel="coordinate 1", ylabel="coordinate 2")
ax.legend(frameon=False, loc="center")

nearest = np.linalg.norm(Y_new[:, None] - Y, axis=2).argmin(axis=1)
off = np.abs(np.angle(circle[~new][nearest] / circle[new]))
print(f"nearest fitted point in the map: median error {np.median(off):.3f} of 2 pi")
assert np.median(off) < 0.1
