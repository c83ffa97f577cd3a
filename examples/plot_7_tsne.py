"""
t-SNE of a QOT graph
====================

openTSNE lays out any affinity. That of QOT is symmetric and sparse by itself, and it is exact; new
points are placed by their own rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import sparrot

digits = load_digits(n_class=4)
new = np.arange(len(digits.data)) % 5 == 0
embedding = sparrot.tsne(digits.data[~new], perplexity=20, early_exaggeration_iter=100, n_iter=150)
placed = embedding.transform(digits.data[new])

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharex=True, sharey=True)
for ax, Y, part, title in zip(
    axes, (embedding, placed), (~new, new), ("fitted", "new"), strict=True
):
    sparrot.plot.embedding(np.asarray(Y), digits.target[part].astype(str), ax=ax)
    ax.set_title(title)

# %%
# Does the nearest fitted digit on the map carry the right name?

distance = np.linalg.norm(np.asarray(placed)[:, None] - np.asarray(embedding), axis=2)
right = (digits.target[~new][distance.argmin(axis=1)] == digits.target[new]).mean()
print(f"{right:.1%} of {new.sum()} new digits land next to one of their kind")
assert right > 0.95
