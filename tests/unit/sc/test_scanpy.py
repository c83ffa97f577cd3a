import inspect
import logging
import warnings
from functools import partial

import anndata
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer

import sparrot
from problems import points
from sparrot.errors import AffinityWarning, InvalidInputError
from sparrot.io import _anndata
from sparrot.layout._umap import UMAPLayout
from sparrot.sc import _neighbors, _tools
from sparrot.sc._anndata import get_start


@pytest.fixture(scope="module")
def pbmc():
    return sc.datasets.pbmc68k_reduced()


def bare(pbmc):
    """The cells without any graph."""
    return anndata.AnnData(
        pbmc.X.copy(),
        obs=pbmc.obs[["bulk_labels"]],
        var=pbmc.var,
        obsm={"X_pca": pbmc.obsm["X_pca"]},
    )


@pytest.fixture(scope="module")
def done(pbmc):
    adata = bare(pbmc)
    sparrot.sc.neighbors(adata, perplexity=20, use_rep="X_pca")
    return adata


def cloud(n=120, p=6):
    return anndata.AnnData(np.random.default_rng(0).standard_normal((n, p)))


@pytest.mark.parametrize("key", [None, "mine"])
def test_all_keys_of_scanpy_are_there_and_of_the_same_kind(pbmc, key):
    ours, theirs = bare(pbmc), bare(pbmc)
    sparrot.sc.neighbors(ours, use_rep="X_pca", key_added=key)
    sc.pp.neighbors(theirs, use_rep="X_pca", key_added=key, method="gauss")  # compiles nothing
    assert set(ours.obsp) == set(theirs.obsp)
    assert set(ours.obsm) == set(theirs.obsm)
    uns = key or "neighbors"
    assert set(theirs.uns) == set(ours.uns) == {uns}
    entry, model = ours.uns[uns], theirs.uns[uns]
    assert set(model) <= set(entry)
    assert set(model["params"]) <= set(entry["params"])
    for name in ("n_neighbors", "metric", "use_rep", "random_state"):
        assert entry["params"][name] == model["params"][name]
    assert None not in entry["params"].values()
    for name in theirs.obsp:
        assert type(ours.obsp[name]) is type(theirs.obsp[name]) is sp.csr_matrix
    D, E = (a.obsp[model["distances_key"]] for a in (ours, theirs))
    assert np.array_equal(np.diff(D.indptr), np.diff(E.indptr))
    # Both are the 14 nearest cells; scanpy computes distances in float32.
    assert np.sort(D.data.reshape(700, -1)) == pytest.approx(
        np.sort(E.data.reshape(700, -1)), rel=1e-4
    )


def test_the_graph_is_the_affinity_and_the_potential_comes_with_it(done):
    a = sparrot.qot(done.obsm["X_pca"], perplexity=20, min_neighbors=5)
    W = done.obsp["connectivities"]
    assert (W != a.matrix).nnz == 0
    assert not W.diagonal().any()
    assert np.array_equal(done.obs["neighbors_potential"], a.potential)
    back = sparrot.sc.affinity(done)
    assert back.certificate == a.certificate
    assert back.check(done.obsm["X_pca"]).violation <= 1e-9


def test_distances_are_true_and_duplicates_stay_as_zeros():
    X = np.repeat(1e3 + np.random.default_rng(0).standard_normal((30, 5)), 2, axis=0)
    adata = anndata.AnnData(X)
    sparrot.sc.neighbors(adata, 5, perplexity=8)
    D = adata.obsp["distances"]
    assert set(np.diff(D.indptr)) == {4}
    i, j = np.repeat(np.arange(60), 4), D.indices
    assert not (i == j).any()
    assert D.data == pytest.approx(cdist(X, X)[i, j], rel=1e-12, abs=0)
    assert (D.data.reshape(60, 4) == 0).sum(axis=1).tolist() == [1] * 60


@pytest.mark.filterwarnings("ignore:The function louvain is deprecated:FutureWarning")
def test_the_tools_of_scanpy_run_unchanged(done):
    adata = done.copy()
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False, random_state=0)
    sc.tl.louvain(adata, flavor="igraph")
    sc.tl.paga(adata, groups="leiden")
    sc.tl.diffmap(adata)
    adata.uns["iroot"] = 0
    sc.tl.dpt(adata)
    n = adata.obs["leiden"].nunique()
    assert 2 <= n <= 60
    assert adata.uns["paga"]["connectivities"].shape == (n, n)
    assert np.isfinite(adata.obs["dpt_pseudotime"]).all()


@pytest.mark.filterwarnings("ignore:.*leiden:FutureWarning")  # its default backend will change
def test_leidenalg_runs_on_a_graph_under_another_key(pbmc):
    adata = bare(pbmc)
    sparrot.sc.neighbors(adata, eps=0.5, use_rep="X_pca", key_added="qot")
    sc.tl.leiden(adata, neighbors_key="qot", resolution=0.5)
    assert adata.obs["leiden"].nunique() >= 2
    assert adata.uns["qot"]["params"]["eps"] == 0.5


def test_the_diffusion_map_is_ordered_by_the_algebraically_largest_eigenvalues():
    adata = cloud()
    sparrot.sc.neighbors(
        adata, perplexity=4, min_neighbors=None
    )  # few neighbors: negative eigenvalues of size 0.9
    sparrot.sc.diffmap(adata, n_comps=10)
    expected = np.linalg.eigvalsh(adata.obsp["connectivities"].toarray())
    assert expected[0] < -0.5
    assert adata.uns["diffmap_evals"] == pytest.approx(expected[::-1][:10], abs=1e-8)
    V = adata.obsm["X_diffmap"]
    assert V[:, 0] == pytest.approx(np.full(120, 120**-0.5), abs=1e-6)
    sc.tl.diffmap(adata, n_comps=10)
    assert adata.uns["diffmap_evals"].min() < 0  # what scanpy's own does


def test_pieces_and_slow_components_are_told(caplog):
    adata = cloud(80)
    adata.X[40:] += 100
    sparrot.sc.neighbors(adata, perplexity=10)
    with pytest.warns(AffinityWarning, match="the graph has 2 components"):
        sparrot.sc.diffmap(adata, n_comps=3)
    ring = sp.csr_matrix(sp.eye(400, k=1) + sp.eye(400, k=399))
    slow = anndata.AnnData(np.zeros((400, 1)), obsp={"connectivities": (ring + ring.T) / 2})
    slow.uns["neighbors"] = {"connectivities_key": "connectivities"}
    sparrot.sc.diffmap(slow, n_comps=4)
    assert "stationary" in caplog.text


def test_tsne_writes_the_keys_of_scanpy():
    adata = cloud()
    sparrot.sc.neighbors(adata, perplexity=10)
    quick = {"n_iter": 30, "early_exaggeration_iter": 30, "copy": True}
    one = sparrot.sc.tsne(adata, **quick)
    two = sparrot.sc.tsne(adata, key_added="t", **quick)
    assert one.obsm["X_tsne"].shape == (120, 2)
    assert np.array_equal(one.obsm["X_tsne"], two.obsm["t"])
    assert one.uns["tsne"]["params"] == two.uns["t"]["params"]
    assert not adata.obsm


def test_wide_data_goes_through_pca_and_the_log_says_how_to_do_without(caplog):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((100, 80)) * (rng.random((100, 80)) < 0.3)
    adata = anndata.AnnData(sp.csr_matrix(dense))
    falls_back = pytest.warns(AffinityWarning, match="80 columns.* Falling back .*use_rep='X'")
    with caplog.at_level(logging.INFO), falls_back:
        sparrot.sc.neighbors(adata, perplexity=10)
    assert not [r for r in caplog.records if r.levelno > logging.INFO]
    assert "50 principal components" in caplog.text
    assert "use_rep='X' (or n_pcs=0) takes all 80 columns" in caplog.text
    assert adata.obsm["X_pca"].shape == (100, 50)
    assert adata.varm["PCs"].shape == (80, 50)
    assert adata.uns["neighbors"]["params"]["n_pcs"] == 50
    caplog.clear()
    sparrot.sc.neighbors(adata, perplexity=10, use_rep="X")
    assert "principal" not in caplog.text
    W = sparrot.qot(dense, perplexity=10, min_neighbors=5).matrix
    assert (adata.obsp["connectivities"] != W).nnz == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, ["every cell has at least 15 effective neighbors, the default of n_neighbors"]),
        (
            {"perplexity": 20, "n_neighbors": 10},
            ["every cell has at least 5 effective neighbors, the default of min_neighbors"],
        ),
        ({"n_neighbors": 15}, []),
        ({"perplexity": 20, "min_neighbors": 5}, []),
        ({"perplexity": 20, "min_neighbors": None}, []),
        ({"kind": "eot"}, []),
    ],
)
def test_the_log_tells_a_floor_that_nobody_asked_for(arguments, said, caplog):
    with caplog.at_level(logging.INFO, logger="sparrot.sc"):
        sparrot.sc.neighbors(cloud(), **arguments)
    assert [record.getMessage() for record in caplog.records] == said


def test_principal_components_of_the_user_are_not_replaced():
    adata = cloud(100, 80)
    own = np.random.default_rng(1).standard_normal((100, 10))
    adata.obsm["X_pca"] = own
    adata.uns["pca"] = {"mine": 1}
    with pytest.raises(InvalidInputError, match=r"n_pcs must be at most 10, .* got 20; run"):
        sparrot.sc.neighbors(adata, perplexity=10, n_pcs=20)
    sparrot.sc.neighbors(adata, perplexity=10)
    assert np.array_equal(adata.obsm["X_pca"], own)
    assert adata.uns["pca"] == {"mine": 1}
    W = sparrot.qot(own, perplexity=10, min_neighbors=5).matrix
    assert (adata.obsp["connectivities"] != W).nnz == 0


@pytest.mark.parametrize(("n", "n_pcs"), [(200, None), (40, None), (40, 60)])
def test_the_principal_components_that_are_stored_are_those_that_scanpy_takes(n, n_pcs):
    ours = cloud(n, 120)
    ours.obsm["X_pca"] = np.random.default_rng(1).standard_normal((n, 100))
    theirs = ours.copy()
    sparrot.sc.neighbors(ours, 10, n_pcs)
    sc.pp.neighbors(theirs, 10, n_pcs, method="gauss")
    D, E = (np.sort(a.obsp["distances"].data.reshape(n, 9)) for a in (ours, theirs))
    assert pytest.approx(E, rel=1e-5) == D
    assert ours.uns["neighbors"]["params"]["n_pcs"] == (n_pcs or 100)


def test_cells_without_a_matrix_are_told_before_anything_is_computed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInputError, match=r"^adata\.X is None; take"):
            sparrot.sc.neighbors(anndata.AnnData(shape=(50, 100)))


@pytest.mark.parametrize(
    "options", [{"perplexity": 1000}, {"max_iter": 1}, {"kind": "knn"}, {"metric": "nearness"}]
)
def test_what_fails_leaves_no_trace(options):
    adata = cloud(100, 80)
    with pytest.raises(sparrot.SparrotError):
        sparrot.sc.neighbors(adata, **options)
    assert not [*adata.obsm, *adata.varm, *adata.obsp, *adata.uns, *adata.obs]


@pytest.mark.parametrize("wrong", [1, 0, -3, True, "15", [15], np.full(120, 15), np.nan])
def test_what_is_no_number_of_neighbors_is_refused_before_anything_is_solved(monkeypatch, wrong):
    monkeypatch.setattr(_neighbors, "choose_points", lambda *_: pytest.fail("started"))
    with pytest.raises(InvalidInputError, match=r"n_neighbors must be .* of at least") as caught:
        sparrot.sc.neighbors(cloud(), wrong)
    assert caught.value.parameter == "n_neighbors"
    assert caught.value.value is wrong
    for_each = "for a number of each point take min_neighbors and a small eps"
    assert caught.value.remedy == (for_each if np.ndim(wrong) else "15 is a good start")


@pytest.mark.parametrize(("wrong", "near"), [(7.5, 15), (20.0, 20), (np.inf, 15)])
def test_a_number_of_neighbors_is_an_integer(wrong, near):
    message = rf"n_neighbors must be an integer, .* got {wrong}; pass n_neighbors={near}$"
    with pytest.raises(InvalidInputError, match=message):
        sparrot.sc.neighbors(cloud(), wrong)


@pytest.mark.parametrize("n", [0, 1])
def test_a_graph_needs_two_cells(pbmc, n, caplog):
    with pytest.raises(InvalidInputError, match=rf"^adata needs at least 2 cells, got {n}:"):
        sparrot.sc.neighbors(pbmc[:n].copy())
    assert not caplog.records


@pytest.mark.parametrize("n", [2, 3, 8, 20, 40, 60])
@pytest.mark.parametrize("asked", [None, 15, 60])
def test_where_cells_are_too_few_there_are_fewer_neighbors_and_the_log_says_so(caplog, n, asked):
    adata = cloud(n)
    sparrot.sc.neighbors(adata, asked)
    params = adata.uns["neighbors"]["params"]
    half = 1 + n // 2
    fits = n > (asked or 2 * 15 - 3)  # so many others; 15 are half of 28 and one more
    k = (asked or 15) if fits else half
    assert params["n_neighbors"] == k
    assert params["min_neighbors"] == min(k, n - 1)
    assert set(np.diff(adata.obsp["distances"].indptr)) == {k - 1}
    assert effective_neighbors(adata).min() >= min(k, n - 1) * (1 - 1e-7)
    said = [record.getMessage() for record in caplog.records]
    assert said == (
        [] if fits else [f"{n} cells are too few for n_neighbors={asked or 15}: taking {k}"]
    )


def test_distances_alone_can_be_to_all_cells(caplog):
    adata = cloud(20)
    sparrot.sc.neighbors(adata, 20, perplexity=6)
    params = adata.uns["neighbors"]["params"]
    assert (params["n_neighbors"], params["perplexity"], params["min_neighbors"]) == (20, 6, 3)
    assert not caplog.records
    sparrot.sc.neighbors(adata, 21, perplexity=6)
    assert adata.uns["neighbors"]["params"]["n_neighbors"] == 11  # as sc.pp.neighbors has it
    theirs = cloud(20)
    sc.pp.neighbors(theirs, 21, method="gauss")
    assert theirs.uns["neighbors"]["params"]["n_neighbors"] == 11


def test_layers_stand_in_for_the_matrix():
    adata = cloud()
    adata.layers["raw"] = sp.csr_matrix(np.abs(adata.X))
    sparrot.sc.neighbors(adata, layer="raw")
    W = sparrot.qot(np.abs(adata.X), n_neighbors=15).matrix
    assert (adata.obsp["connectivities"] != W).nnz == 0
    assert adata.uns["neighbors"]["params"]["layer"] == "raw"
    wide = cloud(60, 70)
    wide.layers["raw"] = np.abs(wide.X)
    sparrot.sc.neighbors(wide, layer="raw", perplexity=10, n_pcs=20)
    assert wide.obsm["X_pca_raw"].shape == (60, 20)
    assert wide.uns["neighbors"]["params"]["use_rep"] == "X_pca_raw"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_backed_data_gives_the_same_graph(tmp_path, form):
    adata = cloud(90, 60)
    adata.X = form(adata.X)
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    for use_rep in ("X", None):
        for each in (backed, adata):
            sparrot.sc.neighbors(each, perplexity=10, use_rep=use_rep)
        assert (backed.obsp["connectivities"] != adata.obsp["connectivities"]).nnz == 0
    assert backed.isbacked
    backed.file.close()


def test_h5ad_files_hold_everything(tmp_path, done):
    path = tmp_path / "cells.h5ad"
    done.write_h5ad(path)
    again = anndata.read_h5ad(path)
    a, b = sparrot.sc.affinity(done), sparrot.sc.affinity(again)
    assert (a.matrix != b.matrix).nnz == 0
    assert (a.kind, a.eps, a.certificate, a.history) == (b.kind, b.eps, b.certificate, b.history)
    assert np.array_equal(a.potential, sparrot.load(path).potential)


def test_copies_views_and_other_kinds():
    adata = cloud()
    other = sparrot.sc.neighbors(adata, kind="eot", perplexity=10, copy=True)
    assert not adata.obsp
    assert other.obsp["connectivities"].nnz < 120 * 119
    view = adata[:80]
    sparrot.sc.neighbors(view, kind="tsallis", q=0.5, perplexity=10, metric="cosine")
    assert not view.is_view
    assert view.uns["neighbors"]["params"]["metric"] == "cosine"
    sparrot.sc.tsne(view, n_iter=5, early_exaggeration_iter=5)


def test_a_changed_matrix_loses_its_certificate():
    adata = cloud()
    sparrot.sc.neighbors(adata)
    W = adata.obsp["connectivities"]
    W.data[W.data < W.data.max() / 12] = 0  # as sc.tl.umap may do
    with pytest.warns(AffinityWarning, match=r"was changed after it was made.*\(sc\.tl\.umap sets"):
        certificate = sparrot.sc.affinity(adata).certificate
    assert certificate.marginal_error == pytest.approx(abs(W.sum(axis=1) - 1).max())
    assert certificate.violation == np.inf


def in_pieces():
    """Clouds of 70 and 50 cells far apart, in turns, with a graph; and which are in the larger."""
    adata = cloud(120)
    larger = np.arange(120) % 12 < 7
    adata.X[larger] += 100
    sparrot.sc.neighbors(adata, perplexity=10)
    return adata, larger


def test_the_diffusion_map_of_the_largest_component_is_that_of_its_cells():
    adata, larger = in_pieces()
    with pytest.warns(AffinityWarning, match="50 of 120 points are outside the largest of 2 comp"):
        sparrot.sc.diffmap(adata, n_comps=4, components="largest")
    alone = adata[larger].copy()
    sparrot.sc.diffmap(alone, n_comps=4)
    assert np.array_equal(adata.obsm["X_diffmap"][larger], alone.obsm["X_diffmap"])
    assert np.isnan(adata.obsm["X_diffmap"][~larger]).all()
    assert np.array_equal(adata.uns["diffmap_evals"], alone.uns["diffmap_evals"])
    adata.uns["iroot"] = int(np.flatnonzero(larger)[0])
    sc.tl.dpt(adata, n_dcs=4)
    assert np.array_equal(np.isfinite(adata.obs["dpt_pseudotime"]), larger)
    with pytest.raises(InvalidInputError, match="n_comps must be an integer from 1 to 69"):
        sparrot.sc.diffmap(adata, n_comps=70, components="largest")


def test_pieces_are_one_warning_whose_remedies_are_those_of_the_graph():
    adata, _ = in_pieces()
    raise_it = "raise the floor, min_neighbors or n_neighbors, or take a larger perplexity"
    plain = adata.copy()
    with pytest.warns(AffinityWarning):
        sparrot.sc.neighbors(plain, perplexity=10, min_neighbors=None)
    floor = "give every point at least 5 effective neighbors, with QOT by min_neighbors=5, or take"
    for data, remedy in ((adata, raise_it), (plain, floor)):
        for components, words in (("warn", "the graph has 2 comp"), ("largest", "50 of 120")):
            with pytest.warns(AffinityWarning) as caught:
                sparrot.sc.diffmap(data, n_comps=4, components=components)
            (said,) = caught
            assert words in said.message.problem
            assert remedy in said.message.remedy
            assert ("components='largest'" in said.message.remedy) == (components == "warn")


def test_a_graph_in_pieces_is_passed_over_or_refused_on_demand():
    adata, _ = in_pieces()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparrot.sc.diffmap(adata, n_comps=4, components="each")
    assert adata.uns["diffmap_evals"][:2] == pytest.approx([1, 1])
    with pytest.raises(InvalidInputError, match="the graph has 2 components"):
        sparrot.sc.diffmap(adata, components="error")
    with pytest.raises(InvalidInputError, match="components must be one of"):
        sparrot.sc.diffmap(adata, components="first")


def test_cells_that_hang_by_a_thread_are_called_by_name():
    W = sp.lil_matrix(sp.block_diag([sp.csr_array((1 - np.eye(k)) / (k - 1)) for k in (300, 2)]))
    W[0, 301] = W[301, 0] = 1e-6
    adata = anndata.AnnData(np.zeros((302, 1)), obsp={"connectivities": W.tocsr()})
    adata.obs_names = [f"cell {i}" for i in range(302)]
    adata.uns["neighbors"] = {"connectivities_key": "connectivities"}
    with pytest.warns(AffinityWarning, match=r"\(cell 300, cell 301\).* in name only") as caught:
        sparrot.sc.diffmap(adata, n_comps=3)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    W[2, :] = W[:, 2] = W[5, :] = W[:, 5] = 0
    W[2, 5] = W[5, 2] = 1.0
    adata.obsp["connectivities"] = W.tocsr()
    with pytest.warns(AffinityWarning, match=r"\(cell 300, cell 301\).* in name only"):
        sparrot.sc.diffmap(adata, n_comps=3, components="largest")


@pytest.mark.parametrize("kind", ["qot", "eot"])
def test_a_whole_component_is_an_affinity(kind):
    adata, larger = in_pieces()
    sparrot.sc.neighbors(adata, perplexity=10, kind=kind)
    whole = adata[larger].copy()
    sparrot.sc.diffmap(whole, n_comps=4)
    W = adata.obsp["connectivities"][larger][:, larger]
    assert whole.uns["diffmap_evals"] == pytest.approx(sparrot.eigenpairs(W, 4).values, abs=1e-3)
    sparrot.sc.tsne(whole, n_iter=5, early_exaggeration_iter=5)  # for umap see test_integrations
    assert whole.obsm["X_tsne"].shape == (70, 2)


@pytest.mark.parametrize("tool", ["diffmap", "tsne", "umap"])
@pytest.mark.parametrize("kind", ["qot", "eot"])
def test_cells_that_lost_edges_are_counted_with_the_remedy(tool, kind):
    adata, larger = in_pieces()
    sparrot.sc.neighbors(adata, perplexity=10, kind=kind)
    larger[np.flatnonzero(larger)[:3]] = False
    part = adata[larger].copy()
    lost = np.count_nonzero(part.obsp["connectivities"].sum(axis=1) < 1 - 1e-3)
    with pytest.raises(InvalidInputError, match="120 points, of which 67 are here") as raised:
        getattr(sparrot.sc, tool)(part)
    assert f"rows of {lost} of these no longer sum to one" in str(raised.value)
    assert "run sparrot.sc.neighbors on these points" in raised.value.remedy
    assert "whole connected components" in raised.value.remedy


@pytest.mark.parametrize("tool", ["affinity", "diffmap", "tsne", "umap"])
def test_a_part_of_the_cells_is_no_affinity(done, tool):
    part = done[:100].copy()
    with pytest.raises(InvalidInputError, match="was an affinity of 700 points"):
        getattr(sparrot.sc, tool)(part)


def test_whole_components_are_an_affinity_without_a_certificate():
    X = np.random.default_rng(0).standard_normal((120, 3))
    X[70:] += 100
    adata = anndata.AnnData(X)
    with pytest.warns(AffinityWarning, match="the graph has 2 components"):
        sparrot.sc.neighbors(adata, n_neighbors=8)
    part = adata[70:].copy()
    a = sparrot.sc.affinity(part)
    assert a.certificate is None
    assert a.matrix.shape == (50, 50)
    found = a.check(part.X)
    assert max(found.marginal_error, found.floor_violation, found.complementarity) <= 1e-8
    assert found.violation <= 1e-9 * np.abs(a.potential).max()


def test_parts_of_an_affinity_that_are_joined_lack_edges(done):
    cells = np.arange(700)
    parts = [done[cells < 5], done[cells >= 5]]
    joined = anndata.concat(parts, uns_merge="same", pairwise=True)
    with pytest.warns(AffinityWarning, match=r"\(edges are missing, as after anndata\.concat"):
        sparrot.sc.affinity(joined)
    with pytest.raises(InvalidInputError, match="of its points have lost all edges"):
        sparrot.sc.diffmap(joined)


def effective_neighbors(adata):
    W = adata.obsp["connectivities"]
    return 1 / np.asarray(W.multiply(W).sum(axis=1)).ravel()


@pytest.mark.parametrize(
    ("options", "k"), [({}, 15), ({"n_neighbors": 15}, 15), ({"n_neighbors": 8}, 8)]
)
def test_every_cell_has_as_many_effective_neighbors_as_were_asked_for(caplog, options, k):
    adata = cloud(200)
    adata.X[:4] *= 20  # outliers
    sparrot.sc.neighbors(adata, **options)
    found = effective_neighbors(adata)
    assert found.min() >= k * (1 - 1e-7)
    assert np.median(found) < 1.01 * k
    assert set(np.diff(adata.obsp["distances"].indptr)) == {k - 1}
    params = adata.uns["neighbors"]["params"]
    assert (params["n_neighbors"], params["min_neighbors"]) == (k, k)
    assert not {"perplexity", "eps"} & set(params)
    assert not caplog.records


@pytest.mark.filterwarnings("ignore::sparrot.errors.AffinityWarning")
@pytest.mark.parametrize("scale", [{"perplexity": 10}, {"eps": 0.1}])
def test_other_scales_have_a_floor_that_can_be_switched_off(scale):
    adata = cloud(200)
    adata.X[:4] *= 20
    sparrot.sc.neighbors(adata, 8, **scale)
    assert effective_neighbors(adata).min() >= 5 * (1 - 1e-7)
    assert adata.uns["neighbors"]["params"]["min_neighbors"] == 5
    assert adata.uns["neighbors"]["params"]["n_neighbors"] == 8  # of the distances
    for off in (None, 0):
        sparrot.sc.neighbors(adata, min_neighbors=off, **scale)
        assert effective_neighbors(adata).min() < 4
        assert "min_neighbors" not in adata.uns["neighbors"]["params"]
        assert (adata.obsp["connectivities"] != sparrot.qot(adata.X, **scale).matrix).nnz == 0


def test_floors_go_along_when_cells_are_sorted(tmp_path):
    adata = cloud(200)
    adata.X[:4] *= 8
    sparrot.sc.neighbors(adata, 8)
    order = np.random.default_rng(0).permutation(200)
    a, b = sparrot.sc.affinity(adata), sparrot.sc.affinity(adata[order].copy())
    assert np.ptp(a.row_eps) > 0
    assert np.array_equal(b.row_eps, a.row_eps[order])
    assert b.check(adata.X[order]).violation <= 1e-9 * np.abs(a.potential).max()
    adata[order].copy().write_h5ad(tmp_path / "a.h5ad")
    c = sparrot.load(tmp_path / "a.h5ad")
    assert np.array_equal(c.row_eps, b.row_eps)
    sparrot.sc.neighbors(adata, perplexity=20, min_neighbors=None)
    assert "neighbors_row_eps" not in adata.obs


def test_a_floor_alone_goes_with_a_perplexity():
    adata = cloud(200)
    for floor in (8, None, np.full(200, 3.0)):
        sparrot.sc.neighbors(adata, min_neighbors=floor)
        W = sparrot.qot(adata.X, perplexity=30, min_neighbors=floor).matrix
        assert (adata.obsp["connectivities"] != W).nnz == 0
    with pytest.raises(InvalidInputError, match="n_neighbors or min_neighbors, not both"):
        sparrot.sc.neighbors(adata, 15, min_neighbors=5)
    with pytest.raises(InvalidInputError, match="min_neighbors is no parameter of eot; it has eps"):
        sparrot.sc.neighbors(adata, kind="eot", min_neighbors=5)


def test_the_smallest_connected_eps_has_no_floor_of_its_own():
    adata = cloud()
    sparrot.sc.neighbors(adata, eps="connected")
    assert sparrot.sc.affinity(adata).min_neighbors is None


def test_the_start_of_a_layout_is_named(done):
    message = r"a key of obsm \('X_pca'\), got 'X_draw'"
    with pytest.raises(InvalidInputError, match=message):
        sparrot.sc.umap(done, init_pos="X_draw")
    with pytest.raises(InvalidInputError, match=r"'paga', and uns.* is not there; run sc.tl.paga"):
        sparrot.sc.umap(done, init_pos="paga")


def test_a_layout_starts_around_the_groups_of_paga(done, monkeypatch):
    adata = done.copy()
    sc.tl.paga(adata, "bulk_labels")
    groups = adata.obs["bulk_labels"].cat.codes.to_numpy()
    at = np.random.default_rng(0).random((groups.max() + 1, 2))
    adata.uns["paga"]["pos"] = at
    start = get_start(adata, "paga", seed=3)
    best = adata.uns["paga"]["connectivities"].toarray().argmax(axis=1)
    way = np.abs(at - at[best])[groups]
    assert (np.abs(start - at[groups]) <= way / 2).all()
    assert np.ptp(start[groups == 0], axis=0).min() > 0
    assert np.array_equal(start, get_start(adata, "paga", seed=3))
    stays = lambda W, k, init, **_: UMAPLayout(init, 0, 0, 0, 0.0)  # noqa: E731
    monkeypatch.setattr(_tools, "umap_layout", stays)
    monkeypatch.setattr(_tools, "curve", lambda *_: (1.0, 1.0))  # which needs umap-learn
    sparrot.sc.umap(adata, init_pos="paga", random_state=3)
    assert np.array_equal(adata.obsm["X_umap"], start.astype(np.float32))


@pytest.mark.parametrize(
    ("ours", "theirs", "newest", "in_place"),
    [
        (
            sparrot.sc.neighbors,
            sc.pp.neighbors,
            ("distances", "rng"),
            ["adata", "n_neighbors", "n_pcs"],
        ),
        (sparrot.sc.umap, sc.tl.umap, ("rng",), ["adata"]),
        (sparrot.sc.diffmap, sc.tl.diffmap, ("rng",), ["adata", "n_comps"]),
    ],
)
def test_every_argument_of_scanpy_is_taken(ours, theirs, newest, in_place):
    known = inspect.signature(ours).parameters
    assert not {*inspect.signature(theirs).parameters, *newest} - set(known)  # of scanpy 1.12
    assert list(known)[: len(in_place)] == in_place


def test_the_defaults_of_a_layout_are_those_of_scanpy():
    ours, theirs = (inspect.signature(f).parameters for f in (sparrot.sc.umap, sc.tl.umap))
    differ = {name for name in theirs if ours[name].default != theirs[name].default}
    assert differ <= {"neighbors_key"}  # None is scanpy's other word for the default graph


def test_a_diffusion_map_does_not_depend_on_a_seed(done):
    one = sparrot.sc.diffmap(done, 4, random_state=0, copy=True)
    other = sparrot.sc.diffmap(done, 4, random_state=np.random.RandomState(5), rng=7, copy=True)
    assert np.array_equal(one.obsm["X_diffmap"], other.obsm["X_diffmap"])


def test_a_layout_takes_what_that_of_scanpy_takes(done, monkeypatch):
    taken = {}

    def layout(W, n_components, **arguments):
        taken.update(arguments)
        return UMAPLayout(np.zeros((W.shape[0], n_components)), 0, 0, 0, 0.0)

    monkeypatch.setattr(_tools, "umap_layout", layout)
    adata = sparrot.sc.umap(done, gamma=2.0, a=1.5, b=0.9, method="umap", rng=3, copy=True)
    expected = {"repulsion_strength": 2.0, "a": 1.5, "b": 0.9, "random_state": 3}
    assert expected.items() <= taken.items()
    assert adata.uns["umap"]["params"] == {"a": 1.5, "b": 0.9, "random_state": 3}
    with pytest.raises(InvalidInputError, match=r"method must be .*umap, got 'rapids'"):
        sparrot.sc.umap(done, method="rapids")
    for name in ("alpha", "gamma"):
        with pytest.raises(InvalidInputError, match=f"^{name} must be positive and finite, got -1"):
            sparrot.sc.umap(done, **{name: -1})
    with pytest.raises(InvalidInputError, match=r"^a is given, and b is not.* give both, or leave"):
        sparrot.sc.umap(done, a=1.5)


def test_arguments_that_change_nothing_change_nothing():
    a, b = cloud(), cloud()
    sparrot.sc.neighbors(a, 10)
    same = {"random_state": 7, "knn": True, "method": "qot", "transformer": "sklearn"}
    sparrot.sc.neighbors(b, 10, 0, metric_kwds={}, rng=np.random.default_rng(1), **same)
    assert (a.obsp["connectivities"] != b.obsp["connectivities"]).nnz == 0
    params = a.uns["neighbors"]["params"]
    assert params.pop("random_state") == 0
    assert b.uns["neighbors"]["params"] == params  # a generator is nothing for a file
    for seed in ({"random_state": 7}, {"rng": np.int64(7)}):
        sparrot.sc.neighbors(b, 10, **seed)
        assert b.uns["neighbors"]["params"] == params | {"random_state": 7}
    sparrot.sc.neighbors(b, 10, method="eot")
    assert b.uns["neighbors"]["params"]["method"] == "eot"


@pytest.mark.parametrize(
    ("metric", "options", "D"),
    [
        ("minkowski", {"metric_kwds": {"p": 3}}, {"metric": "minkowski", "p": 3}),
        (lambda x, y: np.abs(x - y).sum(), {}, {"metric": "cityblock"}),
    ],
)
def test_a_metric_may_have_arguments_or_be_a_function(tmp_path, metric, options, D):
    adata = cloud(60)
    D = cdist(adata.X, adata.X, **D)
    sparrot.sc.neighbors(adata, 8, metric=metric, **options)
    W = sparrot.qot(D, n_neighbors=8, metric="precomputed").matrix
    assert np.abs(adata.obsp["connectivities"] - W).max() < 1e-6
    np.fill_diagonal(D, np.inf)
    near = adata.obsp["distances"].toarray()
    assert np.allclose(np.sort(near, axis=1)[:, -7:], np.sort(D, axis=1)[:, :7])
    adata.write_h5ad(tmp_path / "a.h5ad")
    assert anndata.read_h5ad(tmp_path / "a.h5ad").uns["neighbors"]["params"]["metric"]


def test_distances_stand_for_points():
    by_points, by_distances = cloud(), cloud()
    D = cdist(by_points.X, by_points.X)
    sparrot.sc.neighbors(by_points, 10)
    sparrot.sc.neighbors(by_distances, 10, distances=D)
    for key in ("connectivities", "distances"):
        assert np.abs(by_points.obsp[key] - by_distances.obsp[key]).max() < 1e-6
    sparrot.sc.neighbors(by_distances, 10, distances=D, metric="braycurtis")
    W = sparrot.qot(D, n_neighbors=10, metric="precomputed").matrix
    assert np.abs(by_distances.obsp["connectivities"] - W).max() < 1e-6


def test_a_transformer_is_an_approximate_search():
    ours, theirs = cloud(), cloud()
    sparrot.sc.neighbors(ours, 10, transformer=sparrot.KNeighborsTransformer(n_neighbors=40))
    sparrot.sc.neighbors(
        theirs, 10, search="approximate", neighbors=KNeighborsTransformer(n_neighbors=40)
    )
    assert np.abs(theirs.obsp["connectivities"] - ours.obsp["connectivities"]).max() < 1e-9
    assert not sparrot.sc.affinity(ours).certificate.exact
    sparrot.sc.neighbors(ours, transformer=sparrot.KNeighborsTransformer(n_neighbors=12))
    assert ours.uns["neighbors"]["params"]["n_neighbors"] == 12


def test_the_remedies_for_a_poor_transformer_are_taken_and_keep_the_number_of_neighbors(caplog):
    adata = cloud(400)
    poor = sparrot.KNeighborsTransformer(n_neighbors=3)
    with pytest.warns(AffinityWarning, match="may have left out pairs") as caught:
        sparrot.sc.neighbors(adata, transformer=poor)
    more = "transformer=sparrot.KNeighborsTransformer(n_neighbors=60), n_neighbors=3"
    assert str(caught[0].message).endswith(
        f"; give it more neighbors, as in {more}, or leave out transformer"
    )
    eval(f"sparrot.sc.neighbors(adata, {more})")
    assert adata.uns["neighbors"]["params"]["min_neighbors"] == 3
    with pytest.warns(AffinityWarning, match=r"neighbors=.*n_neighbors=60\), or take search='exa"):
        sparrot.sc.neighbors(adata, 3, search="approximate", neighbors=poor)


def test_the_log_tells_of_few_pairs_that_a_transformer_missed(pbmc, caplog):
    with caplog.at_level(logging.INFO):
        sparrot.sc.neighbors(bare(pbmc), 15, transformer=KNeighborsTransformer(n_neighbors=15))
    assert "left out pairs of up to 4% of the rows" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO):
        sparrot.sc.neighbors(bare(pbmc), 15)
    assert "left out" not in caplog.text


def test_a_transformer_that_misses_much_of_few_cells_gets_a_warning():
    adata = anndata.AnnData(points("swiss-roll", 1500))
    poor = KNeighborsTransformer(n_neighbors=3)
    with pytest.warns(AffinityWarning, match="the worst lacks pairs of .* leave out transformer"):
        sparrot.sc.neighbors(adata, 15, transformer=poor)
    certificate = sparrot.sc.affinity(adata).certificate
    assert certificate.missed_rows < 0.1 < certificate.missed_mass


def test_a_transformer_need_not_tell_its_parameters():
    class Search:
        def fit_transform(self, X):
            return KNeighborsTransformer(n_neighbors=40).fit_transform(X)

    told, untold = cloud(), cloud()
    sparrot.sc.neighbors(told, 10, transformer=KNeighborsTransformer(n_neighbors=40))
    sparrot.sc.neighbors(untold, 10, transformer=Search())
    assert (told.obsp["connectivities"] != untold.obsp["connectivities"]).nnz == 0


@pytest.mark.parametrize(
    ("metric", "metric_kwds"),
    [
        ("l2", {}),
        ("sqeuclidean", {}),
        ("minkowski", {}),
        ("minkowski", {"p": 2, "w": None}),
        ("sqeuclidean", {"w": np.ones(6)}),
    ],
)
def test_one_distance_has_one_cost_whatever_its_name(metric, metric_kwds):
    plain, named = cloud(), cloud()
    sparrot.sc.neighbors(plain, 10)
    sparrot.sc.neighbors(named, 10, metric=metric, metric_kwds=metric_kwds)
    for key in ("connectivities", "distances"):
        assert np.abs(plain.obsp[key] - named.obsp[key]).max() < 1e-6
    assert np.allclose(plain.obs["neighbors_potential"], named.obs["neighbors_potential"])
    assert named.uns["neighbors"]["params"]["metric"] == "euclidean"
    D = cdist(plain.X, plain.X, "sqeuclidean" if metric == "sqeuclidean" else "euclidean")
    sparrot.sc.neighbors(named, 10, distances=D, metric=metric)
    assert np.abs(plain.obsp["distances"] - named.obsp["distances"]).max() < 1e-6
    assert named.uns["neighbors"]["params"]["use_rep"] == "X"  # or sc.tl.umap may run a PCA


def test_arguments_of_a_metric_are_stored_as_a_file_can_hold_them(tmp_path):
    def power(x, y, f, g=None):
        return f(np.abs(x - y)).sum()

    adata = cloud(60)
    sparrot.sc.neighbors(adata, 8, metric=power, metric_kwds={"f": np.sqrt, "g": None})
    adata.write_h5ad(tmp_path / "a.h5ad")
    stored = anndata.read_h5ad(tmp_path / "a.h5ad").uns["neighbors"]["params"]
    assert stored["metric_kwds"] == {"f": "sqrt"}


def test_what_is_no_graph_is_not_overwritten():
    adata = cloud()
    adata.uns["spatial"] = {"slice": {"images": {}}}  # as of Visium
    with pytest.raises(InvalidInputError, match=r"^key_added is 'spatial', and .* another key_"):
        sparrot.sc.neighbors(adata, key_added="spatial")
    assert list(adata.uns) == ["spatial"]
    assert not adata.obsp
    for key in ("mine", "mine", None, None):  # a graph is
        sparrot.sc.neighbors(adata, key_added=key)


def test_a_graph_that_was_replaced_is_told():
    adata = cloud()
    sparrot.sc.neighbors(adata)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparrot.sc.diffmap(adata)
    sc.pp.neighbors(adata, method="gauss")  # as scVelo's pp.moments does by itself
    with pytest.warns(AffinityWarning, match="has been replaced .* scv.pp.moments with n_neigh"):
        sparrot.sc.diffmap(adata)
    del adata.obs["neighbors_potential"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparrot.sc.diffmap(adata)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_rep": "X_scvi"}, r"use_rep must be .*obsm \(there are none\), got 'X_scvi'"),
        ({"layer": "raw"}, r"layer must be .*layers \(there are none\), got 'raw'"),
        ({"layer": "raw", "use_rep": "X"}, "only one can be given"),
        ({"n_neighbors": 1}, "at least 2"),
        ({"kind": "knn"}, "kind must be one of qot, eot, tsallis"),
        ({"perplexity": 10, "eps": 1}, "not both"),
        ({"metric": "precomputed"}, "metric must be a distance between points, got 'precomputed'"),
        ({"knn_": True}, "knn_ is no parameter of qot; it has eps, perplexity"),
        ({"knn": False}, "knn must be True, got False.* kind='eot' with drop=None"),
        ({"method": "umap"}, "method is 'umap', by which.* leave it out, or call sc.pp.neighbors"),
        ({"method": "best"}, "method must be one of qot, eot, tsallis, got 'best'"),
        ({"method": "qot", "kind": "eot"}, "method is 'qot', and kind is 'eot'; give one of"),
        ({"transformer": "rapids"}, "transformer must be one of pynndescent, sklearn"),
        ({"transformer": 3}, "^transformer must be a transformer such as sklearn"),
        ({"transformer": KNeighborsTransformer}, "^transformer must be a transformer such as"),
        (
            {"transformer": sparrot.KNeighborsTransformer(metric="manhattan")},
            "transformer has the metric 'manhattan'.* give metric and no transformer",
        ),
        ({"transformer": KNeighborsTransformer(p=1)}, "transformer has the metric 'minkowski'"),
        (
            {"transformer": KNeighborsTransformer(metric="cosine")},
            "'cosine', .*; pass a Euclidean transformer with metric='cosine'",
        ),
        ({"transformer": "sklearn", "search": "approximate"}, "one of transformer and search"),
        (
            {"transformer": "pynndescent", "neighbors": KNeighborsTransformer()},
            "give one of transformer and neighbors",
        ),
        ({"metric_kwds": {"squared": True}}, "metric_kwds has 'squared'.* leave it out"),
        ({"metric": "minkowski", "metric_kwds": {"r": 1}}, "^metric_kwds {'r': 1} does not suit"),
        ({"metric_kwds": {"p": 3}}, "^metric_kwds {'p': 3} does not suit the metric 'euclidean'"),
        ({"metric": "nearness", "metric_kwds": {"p": 3}}, "^metric 'nearness' is not known"),
        ({"metric": "nan_euclidean"}, "^metric is 'nan_euclidean', .*; impute missing entries"),
        ({"distances": np.eye(3)}, "distances must be a dense 120 x 120 array"),
        ({"distances": sp.eye(120)}, "distances must be a dense 120 x 120 .* transformer"),
        ({"distances": np.eye(120), "use_rep": "X"}, "use_rep is about points"),
        ({"hollow": False}, "affinity to themselves"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(InvalidInputError, match=message):
        sparrot.sc.neighbors(cloud(), **options)


def test_tools_without_a_graph_say_what_to_run():
    with pytest.raises(InvalidInputError, match=r"run sparrot\.sc\.neighbors"):
        sparrot.sc.diffmap(cloud())
    with pytest.raises(InvalidInputError, match=r"holds no .* sparrot\.sc\.neighbors \(and not sc"):
        sparrot.sc.affinity(cloud())
    with pytest.raises(InvalidInputError, match="there are none"):
        sparrot.sc.affinity(cloud(), "mine")


def test_what_is_no_anndata_is_named():
    X = np.zeros((5, 2))
    for tool in (getattr(sparrot.sc, name) for name in sparrot.sc.__all__):
        with pytest.raises(InvalidInputError, match="adata must be an AnnData, got ndarray"):
            tool(X)


@pytest.mark.parametrize("n", [2, 3, 5, 9, 12, 30])
def test_too_few_cells_for_a_perplexity_are_refused(n):
    adata = cloud(n)
    sparrot.sc.neighbors(adata)
    assert adata.obsp["connectivities"].sum(axis=1) == pytest.approx(np.ones((n, 1)), abs=1e-8)
    with pytest.raises(InvalidInputError, match="perplexity must be"):
        sparrot.sc.neighbors(adata, perplexity=30)


def test_the_module_is_imported_by_its_name():
    import sparrot.sc as module

    assert module is sparrot.sc
    assert set(module.__all__) == {"affinity", "diffmap", "neighbors", "tsne", "umap"}


def test_the_diffusion_map_of_a_graph_of_scanpy_is_scanpys(pbmc):
    adata = bare(pbmc)
    sc.pp.neighbors(adata, use_rep="X_pca", method="gauss")
    ours = sparrot.sc.diffmap(adata, copy=True)
    sc.tl.diffmap(adata)
    assert adata.uns["diffmap_evals"].min() > 0  # so the largest in size are the largest
    # Scanpy rounds to float32. A vector is determined up to the rounding over the gap.
    assert ours.uns["diffmap_evals"] == pytest.approx(adata.uns["diffmap_evals"], abs=1e-6)
    gaps = -np.diff(adata.uns["diffmap_evals"][:7])
    cosines = np.abs((ours.obsm["X_diffmap"] * adata.obsm["X_diffmap"]).sum(axis=0))[:6]
    assert gaps.min() > 1e-3
    assert cosines == pytest.approx(np.ones(6), abs=1e-4)


def test_a_graph_of_an_old_file_is_found(pbmc):
    assert "connectivities_key" not in pbmc.uns["neighbors"]
    adata = sparrot.sc.diffmap(pbmc, n_comps=4, copy=True)
    assert adata.obsm["X_diffmap"].shape == (700, 4)
    with pytest.raises(InvalidInputError, match=r"the key of a graph in uns, got 'mine'"):
        sparrot.sc.diffmap(pbmc, neighbors_key="mine")


@pytest.mark.parametrize("n", [3, 12, 15, 16, 40])
def test_a_diffusion_map_of_few_cells_has_as_many_components_as_that_of_scanpy(n):
    adata = cloud(n)
    sparrot.sc.neighbors(adata, eps=1.0)
    sparrot.sc.diffmap(adata)
    ours = adata.obsm["X_diffmap"].shape
    sc.tl.diffmap(adata)
    assert ours == adata.obsm["X_diffmap"].shape == (n, min(n - 1, 15))


def test_the_default_key_said_aloud_is_the_default_graph():
    adata = cloud()
    sparrot.sc.neighbors(adata, key_added="neighbors")
    assert set(adata.obsp) == {"connectivities", "distances"}
    sc.tl.diffmap(adata, neighbors_key="neighbors")  # reads those names, and no others


def test_components_that_nobody_computes_are_remarked_on(caplog):
    sparrot.sc.neighbors(cloud(), n_pcs=3)
    assert "n_pcs=3 is ignored" in caplog.text


def test_rows_of_the_entropic_kind_miss_one_by_what_is_dropped():
    adata = cloud()
    sparrot.sc.neighbors(adata, kind="eot", perplexity=10)
    assert 0 < abs(adata.obsp["connectivities"].sum(axis=1) - 1).max() <= 1e-3


def test_what_is_backed_is_copied_into_memory_and_its_views_are_refused(tmp_path):
    cloud(90, 8).write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    one = sparrot.sc.neighbors(backed, copy=True)
    part = sparrot.sc.neighbors(backed[:50], copy=True)
    assert not one.isbacked
    assert not backed.obsp
    assert part.obsp["connectivities"].shape == (50, 50)
    for tool in (sparrot.sc.neighbors, sparrot.sc.diffmap, sparrot.sc.tsne):
        with pytest.raises(InvalidInputError, match=r"to_memory\(\) first"):
            tool(backed[:50])
    backed.file.close()


def test_a_layout_has_a_seed_that_files_can_hold(tmp_path):
    adata = cloud()
    sparrot.sc.neighbors(adata)
    for seed in (0.5, True, "3"):
        with pytest.raises(InvalidInputError, match="random_state must be an integer"):
            sparrot.sc.tsne(adata, random_state=seed)
    short = {"n_iter": 5, "early_exaggeration_iter": 5}
    sparrot.sc.tsne(adata, random_state=np.int64(3), **short)
    adata.write_h5ad(tmp_path / "a.h5ad")
    assert anndata.read_h5ad(tmp_path / "a.h5ad").uns["tsne"]["params"]["random_state"] == 3
    for make in (np.random.RandomState, np.random.default_rng):
        drawn = []
        for seed in (0, 0, 1):
            sparrot.sc.tsne(adata, random_state=make(seed), **short)
            drawn.append(adata.uns["tsne"]["params"]["random_state"])
        assert drawn[0] == drawn[1] != drawn[2]
    sparrot.sc.tsne(adata, random_state=None, **short)
    drawn = adata.uns["tsne"]["params"]["random_state"]
    again = sparrot.sc.tsne(adata, random_state=drawn, copy=True, **short)
    assert np.array_equal(adata.obsm["X_tsne"], again.obsm["X_tsne"])


class Counted(KNeighborsTransformer):
    searches = 0

    def fit_transform(self, X, y=None):
        Counted.searches += 1
        return super().fit_transform(X)


def test_an_approximate_search_is_not_followed_by_an_exact_one(monkeypatch):
    adata = cloud(300)
    exact = sparrot.sc.neighbors(adata, eps=0.5, copy=True)
    monkeypatch.setattr(_anndata, "nearest_others", lambda *_: pytest.fail("exact search"))
    Counted.searches = 0
    search = {"search": "approximate", "neighbors": Counted(n_neighbors=40)}
    sparrot.sc.neighbors(adata, eps=0.5, **search)
    assert Counted.searches == 1
    a = sparrot.qot(adata.X, eps=0.5, min_neighbors=5, **search)
    assert (adata.obsp["connectivities"] != a.matrix).nnz == 0
    # Of 40 neighbors that are exact the nearest 14 are the nearest.
    D, E = (each.obsp["distances"] for each in (adata, exact))
    assert np.array_equal(D.indices, E.indices)
    assert D.data == pytest.approx(E.data, rel=1e-12)


def test_neighbors_that_are_too_few_for_the_distances_are_sought_anew():
    adata = cloud(300)
    search = {"search": "approximate", "neighbors": KNeighborsTransformer(n_neighbors=10)}
    sparrot.sc.neighbors(adata, 30, eps=0.5, **search)
    assert set(np.diff(adata.obsp["distances"].indptr)) == {29}
    with pytest.raises(InvalidInputError, match="must be a transformer"):
        sparrot.sc.neighbors(adata, search="approximate", neighbors=7)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "correlation"])
def test_the_metric_is_that_of_the_graph_and_that_of_the_distances(metric):
    ours, theirs = cloud(), cloud()
    sparrot.sc.neighbors(ours, 8, perplexity=10, metric=metric)
    sc.pp.neighbors(theirs, 8, metric=metric, method="gauss")
    cost = "sqeuclidean" if metric == "euclidean" else metric
    W = sparrot.qot(ours.X, perplexity=10, min_neighbors=5, metric=cost).matrix
    assert (ours.obsp["connectivities"] != W).nnz == 0
    D, E = (a.obsp["distances"] for a in (ours, theirs))
    assert np.array_equal(D.indptr, E.indptr)
    assert D.toarray() == pytest.approx(E.toarray(), abs=1e-5)  # scanpy's are of float32
    # Those that count are nowhere near the tolerance.
    assert D.data.min() > 1e-3
    assert ours.uns["neighbors"]["params"]["metric"] == metric


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("qot", partial(sparrot.qot, min_neighbors=5)),
        ("eot", partial(sparrot.eot, drop=1e-3)),
        ("tsallis", partial(sparrot.tsallis, q=0.3)),
    ],
)
def test_every_kind_is_what_its_function_makes(kind, made):
    adata = cloud()
    options = {"q": 0.3} if kind == "tsallis" else {}
    sparrot.sc.neighbors(adata, kind=kind, eps=0.2, metric="cosine", **options)
    a = made(adata.X, eps=0.2, metric="cosine")
    assert abs(adata.obsp["connectivities"] - a.matrix).max() == 0
    assert np.array_equal(adata.obs["neighbors_potential"], a.potential)
    assert adata.uns["neighbors"]["params"]["method"] == sparrot.sc.affinity(adata).kind == kind


@pytest.mark.parametrize("kind", ["qot", "eot", "tsallis"])
@pytest.mark.parametrize("scale", [{"eps": 0.2}, {"perplexity": 10.0}, {}])
def test_the_scale_is_the_only_argument_of_the_affinity_that_is_stored(kind, scale):
    adata = cloud()
    sparrot.sc.neighbors(adata, kind=kind, tol=1e-6, **scale)
    known = {"n_neighbors": 15, "method": kind, "metric": "euclidean", "random_state": 0}
    if kind == "qot":
        known["min_neighbors"] = 5.0 if scale else 15.0
    else:
        scale = scale or {"perplexity": 30.0}
    expected = known | {"use_rep": "X"} | scale
    assert adata.uns["neighbors"]["params"] == expected


def test_an_entropic_graph_may_keep_all_its_entries():
    adata = cloud()
    sparrot.sc.neighbors(adata, kind="eot", drop=None)
    assert adata.obsp["connectivities"].nnz == 120 * 119


def test_principal_components_of_a_layer_are_those_of_the_layer():
    adata = cloud(60, 70)
    adata.layers["raw"] = np.abs(adata.X)
    sparrot.sc.neighbors(adata, layer="raw", perplexity=10, n_pcs=20)
    model = anndata.AnnData(np.abs(adata.X))
    sc.pp.pca(model, n_comps=20)
    assert np.array_equal(adata.obsm["X_pca_raw"], model.obsm["X_pca"])
    assert "PCs" not in adata.varm
    W = sparrot.qot(model.obsm["X_pca"], perplexity=10, min_neighbors=5).matrix
    assert (adata.obsp["connectivities"] != W).nnz == 0


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, pd.DataFrame])
@pytest.mark.parametrize("n_pcs", [None, 4])
def test_a_representation_may_be_sparse_or_a_table(form, n_pcs):
    dense, other = cloud(), cloud()
    dense.obsm["R"] = dense.X
    other.obsm["R"] = form(dense.X) if form is not pd.DataFrame else frame(dense)
    for adata in (dense, other):
        sparrot.sc.neighbors(adata, use_rep="R", n_pcs=n_pcs)
    assert (dense.obsp["connectivities"] != other.obsp["connectivities"]).nnz == 0


def frame(adata):
    return pd.DataFrame(adata.X, index=adata.obs_names, columns=list("abcdef"))


@pytest.mark.parametrize("form", [np.array, sp.csr_matrix])
def test_what_is_not_finite_is_named_by_its_place(form):
    wide = cloud(80, 60)
    X = np.array(wide.X)
    X[3, 2] = np.nan
    wide.layers["counts"] = form(X)
    bad = anndata.AnnData(form(X), obsm={"X_pca": X[:, :10]})
    with pytest.raises(InvalidInputError, match=r"adata\.obsm\['X_pca'\] contains NaN at row 3"):
        sparrot.sc.neighbors(bad)
    with pytest.raises(InvalidInputError, match=r"adata\.X contains NaN at row 3, column 2"):
        sparrot.sc.neighbors(bad, use_rep="X")
    with pytest.raises(InvalidInputError, match=r"adata\.layers\['counts'\] has 1 .* column '2'"):
        sparrot.sc.neighbors(wide, layer="counts")
    del bad.obsm["X_pca"]
    with pytest.raises(InvalidInputError, match=r"adata\.X has 1 non-finite entry, .* column '2'"):
        sparrot.sc.neighbors(bad)
    bad.var["highly_variable"] = np.arange(60) != 2
    sparrot.sc.neighbors(bad, n_pcs=10)  # PCA passes that column over
    assert np.isfinite(bad.obsm["X_pca"]).all()


def test_a_graph_of_scanpy_takes_the_place_of_ours_and_the_other_way_round(pbmc):
    adata, theirs = bare(pbmc), bare(pbmc)
    sparrot.sc.neighbors(adata, perplexity=20, use_rep="X_pca")
    for cells in (adata, theirs):
        sc.pp.neighbors(cells, use_rep="X_pca", method="gauss")
        sparrot.sc.diffmap(cells)
    assert (adata.obsp["connectivities"] != theirs.obsp["connectivities"]).nnz == 0
    assert np.array_equal(adata.obsm["X_diffmap"], theirs.obsm["X_diffmap"])
    with pytest.raises(InvalidInputError, match="holds no affinity"):
        sparrot.sc.affinity(adata)
    sparrot.sc.neighbors(adata, perplexity=20, use_rep="X_pca")
    assert sparrot.sc.affinity(adata).check(adata.obsm["X_pca"]).violation <= 1e-9
