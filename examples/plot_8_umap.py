"""
A UMAP layout of a QOT graph
============================

umap-learn lays out any weighted graph. It samples each edge in proportion to its weight, and
leaves out those too light for one sample: the result tells how many.
"""

import numpy as np
from sklearn.datasets import load_iris

import sparrot

iris = load_iris()
X, species = iris.data[::2], iris.target[::2]
a = sparrot.qot(X, eps="connected")
print(f"perplexity {a.perplexity:.0f}, {a.n_connected_components} component")
layout = sparrot.umap_layout(a, n_epochs=120)
lost = f"{layout.dropped_weight:.2%} of the weight"
print(f"{layout.n_dropped} of {layout.n_edges} edges left out, {lost}")
sparrot.plot.embedding(layout.embedding, iris.target_names[species], name="species")

# %%
# Setosa stands apart from the two others.

centers = np.stack([layout.embedding[species == k].mean(axis=0) for k in range(3)])
apart = np.linalg.norm(centers[0] - centers[1]) / np.linalg.norm(centers[1] - centers[2])
print(f"setosa is {apart:.1f} times as far from versicolor as virginica is")
assert apart > 1.2
assert layout.dropped_weight < 0.05
