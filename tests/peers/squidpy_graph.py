"""squidpy's statistics on our graph of places: `make peers-squidpy`."""

import anndata
import numpy as np
import squidpy as sq

import sparrot


def main() -> None:
    """Two tissues side by side: cells have neighbors of their own kind."""
    rng = np.random.default_rng(0)
    places = rng.random((400, 2))
    kinds = np.where(places[:, 0] < 0.5, "left", "right")
    X = rng.poisson(1.0, (400, 5)) + 3 * (kinds == "left")[:, None] * np.eye(5)[0]
    adata = anndata.AnnData(X.astype(np.float32), obs={"kind": kinds}, obsm={"spatial": places})
    adata.uns["spatial"] = {"images": {}}
    adata.obs["kind"] = adata.obs["kind"].astype("category")
    sparrot.sc.neighbors(adata, 8, use_rep="spatial", key_added="sparrot")
    ours = {"connectivity_key": "sparrot_connectivities"}
    sq.gr.nhood_enrichment(adata, "kind", **ours, show_progress_bar=False, seed=0)
    z = adata.uns["kind_nhood_enrichment"]["zscore"]
    assert z[0, 0] > 5 > -5 > z[0, 1]
    sq.gr.spatial_autocorr(adata, mode="moran", **ours, n_perms=None, show_progress_bar=False)
    moran = adata.uns["moranI"]["I"]
    assert moran.idxmax() == "0"
    assert moran["0"] > 0.3
    sq.gr.centrality_scores(adata, "kind", **ours, show_progress_bar=False)
    sq.gr.interaction_matrix(adata, "kind", **ours)
    assert adata.uns["spatial"] == {"images": {}}
    print(f"enrichment {z[0, 0]:.1f}, Moran's I {moran['0']:.2f}")


if __name__ == "__main__":
    main()
