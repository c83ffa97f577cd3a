"""CellRank's kernels on our graph: `make peers-cellrank`, in an environment of its own."""

import anndata
import cellrank
import numpy as np

import sparrot


def main() -> None:
    """A noisy curve, walked along pseudotime with CellRank's defaults."""
    rng = np.random.default_rng(0)
    time = np.sort(rng.random(400))
    X = np.column_stack([np.cos(3 * time), np.sin(3 * time), 0.1 * rng.standard_normal((400, 20))])
    adata = anndata.AnnData(X, obs={"time": time})
    for options in ({}, {"perplexity": 30}, {"eps": 0.05}):
        sparrot.sc.neighbors(adata, **options)
        kernel = cellrank.kernels.PseudotimeKernel(adata, time_key="time")
        T = kernel.compute_transition_matrix(show_progress_bar=False).transition_matrix
        assert T.shape == (400, 400)
        assert np.allclose(T.sum(axis=1), 1), "a cell has nowhere to go"
        ahead = float((T @ time - time)[:300].mean())
        assert ahead > 0, "cells should move on"
        W = cellrank.kernels.ConnectivityKernel(adata).compute_transition_matrix().transition_matrix
        assert np.allclose(W.sum(axis=1), 1)
        print(f"sc.neighbors(adata, {options}): hard threshold, {T.nnz} moves, {ahead:.3f} ahead")


if __name__ == "__main__":
    main()
