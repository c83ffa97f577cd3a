"""scVelo from moments to arrows and pseudotime on our graph: `make peers-scvelo`."""

import warnings

import numpy as np
import scvelo as scv

import sparrot


def main() -> None:
    """Simulated cells; scVelo must neither replace our graph nor stumble over it."""
    scv.settings.verbosity = 1
    adata = scv.datasets.simulation(n_obs=300, n_vars=30, random_seed=0)
    scv.pp.normalize_per_cell(adata)
    time = adata.obs["true_t"].to_numpy()
    for n_neighbors, asked in ((15, None), (30, 30)):
        sparrot.sc.neighbors(adata, n_neighbors)
        W = adata.obsp["connectivities"].copy()
        scv.pp.moments(adata, n_neighbors=asked)
        assert sparrot.sc.affinity(adata).certificate.violation == 0
        scv.tl.velocity(adata, mode="stochastic")
        scv.tl.velocity_graph(adata, show_progress_bar=False)
        assert np.isfinite(adata.layers["Ms"]).all()
        ahead = float((scv.utils.get_transition_matrix(adata) @ time - time).mean())
        assert ahead > 0, "cells should move on"
        sparrot.sc.umap(adata, maxiter=50)
        scv.tl.velocity_embedding(adata, basis="umap")
        assert np.isfinite(adata.obsm["velocity_umap"]).all()
        scv.tl.velocity_pseudotime(adata)
        r = np.corrcoef(adata.obs["velocity_pseudotime"], time)[0, 1]
        assert r > 0.8, "the order of the cells should be that of the simulation"
        assert (adata.obsp["connectivities"] != W).nnz == 0
        print(f"n_neighbors={n_neighbors}: {ahead:.2f} ahead, pseudotime correlates by {r:.2f}")
    sparrot.sc.neighbors(adata, 15)
    scv.pp.moments(adata, n_neighbors=30)  # more than there are: scVelo builds its own graph
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sparrot.sc.diffmap(adata)
    assert any("has been replaced" in str(warning.message) for warning in told)
    print("a graph that scVelo replaced is told")


if __name__ == "__main__":
    main()
