"""
What eps does, and what it does not
===================================

``eps`` sets how many neighbors a point gets. ``qot_path`` solves for many of them, each from the
ones before. On the noisy spiral the answer hardly changes over a decade around the default.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparrot

spiral = sparrot.datasets.make_spiral(600)
clean = sparrot.eigenpairs(sparrot.knn(spiral.clean, 2), 9).vectors
grid = np.logspace(1, -1, 9)
angles, neighbors = [], []
for a in sparrot.qot_path(spiral.X, grid):
    vectors = sparrot.eigenpairs(a, 9).vectors
    angles.append(sparrot.metrics.mean_principal_angle(vectors, clean))
    neighbors.append(a.mean_neighbors)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].loglog(grid, neighbors, "o-")
axes[0].set(xlabel="eps / mean cost", ylabel="neighbors a row")
axes[1].semilogx(grid, angles, "o-")
axes[1].set(xlabel="eps / mean cost", ylabel="mean angle to the clean curve", ylim=(0, np.pi / 2))

near = [angle for eps, angle in zip(grid, angles, strict=True) if 0.3 < eps < 3.5]
print(f"angle between {min(near):.2f} and {max(near):.2f} for eps from 0.32 to 3.2")
assert max(near) < 0.2

# %%
# ``summarize`` computes a short path and keeps what ``sparrot report`` draws: the number of
# neighbors of a point, the leading eigenvalues and the components of the graph.

summary = sparrot.summarize(spiral.X)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
sparrot.plot.eps_path(summary, axes=axes)

# %%
# Where the number of neighbors is what matters, ask for it. ``eps="connected"`` finds the smallest
# eps with a connected graph.

asked = sparrot.qot(spiral.X, perplexity=20)
least = sparrot.qot(spiral.X, eps="connected")
print(
    f"perplexity 20 at eps = {asked.relative_eps:.2f}, connected from {least.relative_eps:.3f} on"
)
assert abs(asked.perplexity - 20) < 0.2
assert least.n_connected_components == 1
