"""
Outliers, and a floor on every row
==================================

Four clusters, and forty points that heavy-tailed noise has thrown out of them. Far points have
nobody but each other: in the plain QOT graph they pair off with weight one, and spectral
clustering finds these pairs and nothing else. ``min_neighbors=5`` asks that every row have at
least five effective neighbors. That is still one convex problem with one solution, and the
outliers now hang on to the cluster they came from.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import sparrot

warnings.simplefilter("ignore", sparrot.AffinityWarning)  # which say what is shown here

rng = np.random.default_rng(0)
labels = np.repeat(np.arange(4), 200)
X = rng.standard_normal((800, 10))
X[:, :4] += 6 * np.eye(4)[labels]
X[rng.permutation(800)[:40]] += 3 * rng.standard_t(1.5, (40, 10))

graphs = {
    "plain": sparrot.qot(X, perplexity=15),
    "connected": sparrot.qot(X, eps="connected"),
    "min_neighbors=5": sparrot.qot(X, perplexity=15, min_neighbors=5),
    "n_neighbors=15": sparrot.qot(X, n_neighbors=15),
}
scores = {}
for name, graph in graphs.items():
    model = sparrot.SpectralClustering(4, affinity="precomputed").fit(graph.matrix)
    scores[name] = sparrot.metrics.nmi(labels, model.labels_)
    sizes = sorted(np.unique(model.labels_, return_counts=True)[1].tolist())
    print(
        f"{name:15}  {graph.n_connected_components:2} pieces, gap {graph.spectral_gap:.0e}, "
        f"clusters of {sizes}, mutual information {scores[name]:.2f}"
    )
assert graphs["plain"].n_connected_components > 1
assert scores["plain"] < 0.1
assert graphs["min_neighbors=5"].n_connected_components == 1
assert scores["min_neighbors=5"] > 0.9
assert scores["n_neighbors=15"] > 0.9

# %%
# The smallest eps that connects the graph does so by a thread: its second eigenvalue is one to
# twelve digits, and a cluster is still lost to a pair of outliers. The floor leaves eps as it is
# and holds the few rows that need it. Effective neighbors are :math:`1 / |W_i|^2`; ``row_eps`` is
# what each row adds to eps, and is zero where the row has more than its floor.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
bins = np.geomspace(0.9, 60, 40)
for name in ("plain", "min_neighbors=5", "n_neighbors=15"):
    W = graphs[name].matrix
    axes[0].hist(1 / W.power(2).sum(axis=1), bins, histtype="step", label=name)
axes[0].set(xscale="log", xlabel="effective neighbors of a row", ylabel="rows")
axes[0].legend()

floor = graphs["min_neighbors=5"]
distance = np.linalg.norm(X - X.mean(axis=0), axis=1)
axes[1].scatter(distance, floor.row_eps / floor.eps, s=4)
axes[1].set(xscale="log", xlabel="distance from the mean", ylabel="row_eps / eps")
axes[1].set_yscale("symlog")
axes[1].set_ylim(-0.5, 1e4)
print(f"{(floor.row_eps > 0).sum()} of {len(X)} rows are at their floor")

# %%
# The certificate has two more numbers, and ``check`` recomputes all of it from the points.

print(floor.certificate)
found = floor.check(X)
assert found.floor_violation <= 1e-8
assert found.complementarity <= 1e-8
