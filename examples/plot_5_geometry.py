"""
Distances and paths along the manifold
======================================

From the affinity alone, without coordinates: distances along a curve that noise in 250 dimensions
hides, and a path of measures that moves along it instead of jumping across.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

import sparrot
from sparrot.geometry import geodesic_distances, interpolate
from sparrot.spectral import heat_kernel, laplacian

spiral = sparrot.datasets.make_spiral(400)
a = sparrot.qot(spiral.X)
n = len(spiral.X)

# %%
# **Geodesics.** Points are evenly spaced along the closed curve, so the true distance from point 0
# is the smaller of the two ways round.

distance = geodesic_distances(a, 0)
arc = np.minimum(np.arange(n), n - np.arange(n))
euclidean = np.linalg.norm(spiral.X - spiral.X[0], axis=1)
by_graph, by_points = (np.corrcoef(arc, d)[0, 1] for d in (distance, euclidean))
print(f"correlation with arc length: {by_graph:.3f}; of Euclidean distances {by_points:.3f}")
assert by_graph > 0.99

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].scatter(arc, distance, s=6)
axes[0].set(xlabel="arc length (points)", ylabel="heat distance (steps of the walk)")
axes[1].scatter(arc, euclidean, s=6)
axes[1].set(xlabel="arc length (points)", ylabel="Euclidean distance")

# %%
# **Interpolation.** Two bumps a third of the curve apart. The heat kernel of the graph stands for
# the transport cost; the path between the bumps follows the curve.

start, stop = 70, 200
bumps = [np.exp(-((np.arange(n) - k) ** 2) / 200) for k in (start, stop)]
path = interpolate(heat_kernel(laplacian(a), 20.0), *bumps, 5)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for measure, shade in zip(path, plt.colormaps["viridis"](np.linspace(0, 0.9, 5)), strict=True):
    ax.plot(measure, color=shade)
ax.set(xlabel="point, along the curve", ylabel="mass")
middle = path[2] @ np.arange(n)
print(f"the middle of the path from {start} to {stop} is at {middle:.0f}")
assert abs(middle - 135) < 10
