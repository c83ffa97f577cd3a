import json

import anndata
import numpy as np
import pytest
import scanpy as sc
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import KNeighborsTransformer

import sparrot
from problems import points
from sparrot._files import digest
from sparrot.affinity._kinds import KINDS
from sparrot.cli import main
from sparrot.errors import InvalidInputError

FIELDS = (
    "kind",
    "mean_cost",
    "metric",
    "eps",
    "q",
    "shift",
    "certificate",
    "history",
    "solver",
    "n_solves",
)
MAKERS = {
    "qot": lambda X: sparrot.qot(X, 0.5),
    "approximate qot": lambda X: sparrot.qot(
        X, 0.5, search="approximate", neighbors=KNeighborsTransformer(n_neighbors=30)
    ),
    "eot": sparrot.eot,
    "sparse eot": lambda X: sparrot.eot(X, 0.1, drop=1e-3),
    "tsallis": lambda X: sparrot.tsallis(X, 0.5, q=0.3),
    "knn": sparrot.knn,
    "project": lambda X: sparrot.project(X @ X.T),
}


def assert_same(a, b):
    assert type(a.matrix) is type(b.matrix)
    assert a.matrix.dtype == b.matrix.dtype
    assert abs(a.matrix - b.matrix).max() == 0
    assert np.array_equal(a.potential, b.potential)
    for name in FIELDS:
        assert getattr(a, name) == getattr(b, name), name
    assert b.hollow is a.hollow


@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_saved_is_loaded(tmp_path, kind, suffix):
    X = points("gaussian", 60)
    a = MAKERS[kind](X)
    path = tmp_path / f"a{suffix}"
    sparrot.save(a, path)
    b = sparrot.load(path)
    if suffix == ".h5ad":  # AnnData holds sparse matrices
        assert abs(a.matrix - b.matrix).max() == 0
        assert np.array_equal(a.potential, b.potential)
    else:
        assert_same(a, b)
    assert list(tmp_path.iterdir()) == [path]
    if a.certificate is not None:
        assert b.certificate == a.certificate
        assert b.drop == (1e-3 if kind == "sparse eot" else None)
        assert (b.certificate.missed_rows > 0) == (kind == "approximate qot")
    if kind == "qot":
        assert b.check(X).violation <= 1e-10
        with pytest.raises(ValueError, match="read-only"):
            b.potential[0] = 1


def test_the_file_holds_plain_arrays_only(tmp_path):
    path = tmp_path / "a.npz"
    sparrot.save(sparrot.qot(points("gaussian", 50)), path)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "biufU" for name in file.files)
        assert int(file["schema"]) == 1


def spoilt(path, tmp_path, sign=False, **changes):
    """Change the arrays of a file, and give it a digest that fits, or leave the old one."""
    with np.load(path) as file:
        arrays = dict(file) | changes
    arrays = {name: np.asarray(a) for name, a in arrays.items() if a is not None}
    if sign:
        del arrays["digest"]
        arrays["digest"] = digest(arrays)
    other = tmp_path / "other.npz"
    np.savez(other, **arrays)
    return other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, "schema 2, and this version of sparrot reads schema 1"),
        ({"schema": np.ones(2)}, r"schema \[1. 1.\], and"),
        ({"schema": "word"}, "schema word, and"),
        ({"schema": None}, "no affinity that sparrot saved"),
        ({"kind": None, "q": None}, "lacks kind, q"),
        ({"matrix_data": None}, "lacks matrix_data"),
        ({"matrix_indices": np.full(3, 10**6)}, "damaged"),
        ({"matrix_indptr": np.zeros(3, int)}, "damaged"),
        ({"matrix_indptr": -np.arange(51)}, "cannot be read"),
        ({"matrix_dense": np.full((50, 50), 0.02 + 0j)}, "no finite numbers"),
        ({"potential": np.zeros(3)}, r"potential of shape \(3,\)"),
        ({"potential": np.full(50, np.nan)}, "has a potential that is not finite"),
        ({"weights": np.zeros(50)}, "has weights that are not positive"),
        ({"weights": np.ones(3)}, r"weights of shape \(3,\)"),
        ({"eps": 0.0}, "has eps = 0.0, which must be positive"),
        ({"eps": -1.0}, "has eps = -1.0, which must be positive"),
        ({"eps": np.nan}, "has eps = nan, which must be positive"),
        ({"eps": None}, "a potential and no eps"),
        ({"eps": np.ones(2)}, "has a field that cannot be read"),
        ({"n": "many"}, "has a field that cannot be read|damaged"),
        ({"q": 7.0}, "has q = 7.0"),
        ({"mean_cost": np.inf}, "a mean cost of inf"),
        ({"mean_cost": 0.0}, "a mean cost of 0.0"),
        ({"shift": np.nan}, "a shift of nan"),
        ({"violation": -1.0}, "negative error"),
        ({"drop": 1.5}, "drop = 1.5, which must be between 0 and 1"),
        ({"row_eps": np.zeros(50)}, "row_eps without min_neighbors"),
        ({"row_eps": np.full(50, -1.0), "min_neighbors": np.ones(50)}, "row_eps that are negative"),
        ({"row_eps": np.zeros(50), "min_neighbors": np.zeros(50)}, "min_neighbors that are not"),
    ],
)
def test_wrong_files_are_named(tmp_path, changes, message):
    path = tmp_path / "a.npz"
    sparrot.save(sparrot.qot(points("gaussian", 50)), path)
    with pytest.raises(InvalidInputError, match=message):
        sparrot.load(spoilt(path, tmp_path, sign=True, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"row_eps": np.zeros(50), "min_neighbors": np.ones(50)},
        {"violation": 1e-3},
        {"solver": "newton?"},
        {"matrix_data": np.ones(0)},
        {"eps": -1.0},
        {"digest": "0" * 32},
        {"digest": None},
    ],
)
def test_changed_files_are_refused_in_one_sentence(tmp_path, changes, recwarn):
    path = tmp_path / "a.npz"
    sparrot.save(sparrot.qot(points("gaussian", 50)), path)
    with pytest.raises(InvalidInputError, match=r"damaged or changed after it was saved"):
        sparrot.load(spoilt(path, tmp_path, **changes))
    assert not recwarn


def test_objects_in_a_file_are_not_read(tmp_path):
    path = tmp_path / "a.npz"
    sparrot.save(sparrot.qot(points("gaussian", 50)), path)
    with pytest.raises(InvalidInputError, match="allow_pickle=False"):
        sparrot.load(spoilt(path, tmp_path, kind=np.array([{}])))


def test_another_matrix_with_the_same_row_sums_is_noticed(tmp_path):
    path = tmp_path / "a.npz"
    sparrot.save(sparrot.qot(points("gaussian", 50)), path)
    with np.load(path) as file:
        indices, u = file["matrix_indices"], file["potential"]
    for changes in ({"matrix_indices": 49 - indices}, {"potential": u + 1e-9}):
        with pytest.raises(InvalidInputError, match="was damaged or changed after it was saved"):
            sparrot.load(spoilt(path, tmp_path, **changes))


def in_anndata(tmp_path, **scale):
    """An AnnData with an affinity, as it comes from a file."""
    path = tmp_path / "a.h5ad"
    sparrot.save(sparrot.qot(points("gaussian", 60), **scale), path)
    return anndata.read_h5ad(path)


def loaded(adata, tmp_path):
    adata.write_h5ad(tmp_path / "b.h5ad")
    return sparrot.load(tmp_path / "b.h5ad")


def ours(recwarn):
    """Our warnings; AnnData and pandas have some of their own."""
    return [w for w in recwarn if issubclass(w.category, sparrot.AffinityWarning)]


@pytest.mark.parametrize(
    "change", [{"eps": 2.0}, {"exact": False}, {"marginal_error": 1e-12}, {"digest": "0" * 32}]
)
def test_a_changed_record_in_an_anndata_is_refused(tmp_path, change, recwarn):
    adata = in_anndata(tmp_path)
    adata.uns["sparrot"]["sparrot"] |= change
    with pytest.raises(InvalidInputError, match=r"was damaged or changed after it was saved"):
        loaded(adata, tmp_path)
    assert not ours(recwarn)


def test_a_record_without_a_digest_in_an_anndata_is_refused(tmp_path):
    adata = in_anndata(tmp_path)
    del adata.uns["sparrot"]["sparrot"]["digest"]
    with pytest.raises(InvalidInputError, match="was damaged or changed after it was saved"):
        loaded(adata, tmp_path)


def test_a_changed_graph_in_an_anndata_claims_nothing_though_its_row_sums_are_right(tmp_path):
    for change in ("potential", "row_eps", "graph"):
        adata = in_anndata(tmp_path, eps=0.1, min_neighbors=5)
        if change == "graph":  # other neighbors with the same weights
            adata.obsp["sparrot_connectivities"] = adata.obsp["sparrot_connectivities"][::-1, ::-1]
        else:
            adata.obs[f"sparrot_{change}"] = adata.obs[f"sparrot_{change}"] * (1 + 1e-14)
        with pytest.warns(sparrot.AffinityWarning, match="changed after it was made: though its"):
            a = loaded(adata, tmp_path)
        assert not a.certificate.exact
        assert a.certificate.violation == np.inf


def test_cells_in_another_order_claim_what_they_did(tmp_path, recwarn):
    adata = in_anndata(tmp_path, eps=0.1, min_neighbors=5)
    order = np.random.default_rng(0).permutation(60)
    a = loaded(adata[order].copy(), tmp_path)
    assert a.certificate.exact
    assert not ours(recwarn)
    X = points("gaussian", 60)[order]
    assert a.check(X).marginal_error <= 1e-8


def test_some_of_the_cells_are_told_to_be_some(tmp_path):
    with pytest.raises(InvalidInputError, match="affinity of 60 points, of which 50 are here"):
        loaded(in_anndata(tmp_path)[:50].copy(), tmp_path)


def test_whole_components_of_the_cells_claim_nothing_and_are_not_refused(tmp_path, recwarn):
    path, X = tmp_path / "a.h5ad", points("gaussian", 60)
    X[30:] += 100
    a = sparrot.qot(X, 0.01)
    piece = connected_components(a.matrix)[1] == 0
    assert 1 < piece.sum() < 60
    recwarn.clear()  # there are components
    sparrot.save(a, path)
    b = loaded(anndata.read_h5ad(path)[piece].copy(), tmp_path)
    assert b.certificate is None
    assert not ours(recwarn)


@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
def test_a_stored_certificate_is_a_claim_until_it_is_checked(tmp_path, suffix, capsys):
    X, path = points("gaussian", 60), tmp_path / f"a{suffix}"
    a = sparrot.qot(X)
    assert not a.certificate.claimed
    sparrot.save(a, path)
    b = sparrot.load(path)
    assert b.certificate.claimed
    assert "as its file claims" in repr(b)
    assert "claims" not in repr(a)
    assert not b.check(X).claimed
    for command in ("info", "embed"):
        assert main([command, str(path)]) == 0
        assert "a claim of the file, not computed here" in capsys.readouterr().out
        assert main([command, str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["certificate"]["claimed"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_sense_when_it_is_loaded(tmp_path, kind):
    sparrot.save(KINDS[kind].function(points("gaussian", 60)), tmp_path / "a.npz")
    assert sparrot.load(tmp_path / "a.npz").kind == kind


@pytest.mark.parametrize("suffix", [".npz", ".h5ad"])
def test_truncated_and_missing_files_are_errors(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    sparrot.save(sparrot.qot(points("gaussian", 200)), path)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidInputError, match="not a whole"):
            sparrot.load(path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        sparrot.load(tmp_path / f"b{suffix}")


def test_a_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "a.npz"
    sparrot.save(sparrot.qot(points("gaussian", 200)), path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InvalidInputError, match="not a whole"):
        sparrot.load(path)


def test_an_existing_h5ad_file_keeps_what_it_has(tmp_path):
    X = points("gaussian", 60)
    path = tmp_path / "cells.h5ad"
    cells = anndata.AnnData(X, uns={"color": "red"}, obsm={"X_pca": X[:, :2]})
    cells.obs["type"] = "b"
    cells.write_h5ad(path)
    a = sparrot.qot(X)
    sparrot.save(a, path)
    sparrot.save(sparrot.qot(X, 0.3), path, key="small")
    again = anndata.read_h5ad(path)
    assert np.array_equal(again.X, X)
    assert again.uns["color"] == "red"
    assert again.obs["type"].tolist() == ["b"] * 60
    parts = ("connectivities", "distances")
    assert set(again.obsp) == {f"{key}_{part}" for key in ("sparrot", "small") for part in parts}
    assert_same(a, sparrot.load(path, key="sparrot"))
    with pytest.raises(InvalidInputError, match=r"2 affinities of sparrot \(.*\); name one"):
        sparrot.load(path)
    with pytest.raises(InvalidInputError, match="60 cells, and there are 50 points"):
        sparrot.save(sparrot.qot(X[:50]), path)
    assert np.array_equal(anndata.read_h5ad(path).X, X)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    a = sparrot.qot(points("gaussian", 50))
    sparrot.save(a, path)

    def fail(file, **arrays):
        file.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        sparrot.save(a, path)
    assert_same(a, sparrot.load(path))
    assert list(tmp_path.iterdir()) == [path]


def test_wrong_arguments_are_named(tmp_path):
    a = sparrot.qot(points("gaussian", 50))
    with pytest.raises(InvalidInputError, match=r"\.npz or \.h5ad"):
        sparrot.save(a, tmp_path / "a.pkl")
    with pytest.raises(InvalidInputError, match="got csr_array"):
        sparrot.save(a.matrix, tmp_path / "a.npz")
    sparrot.save(a, tmp_path / "a.npz")
    with pytest.raises(InvalidInputError, match=r"key is for \.h5ad"):
        sparrot.load(tmp_path / "a.npz", key="x")


@pytest.mark.parametrize("name", ["a.npz", "a.h5ad"])
def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path, name):
    a = sparrot.qot(np.random.default_rng(0).standard_normal((20, 3)))
    with pytest.raises(
        FileNotFoundError, match=r"path is in the folder .*typo, which does not exist"
    ):
        sparrot.save(a, tmp_path / "typo" / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:The function louvain is deprecated:FutureWarning")
@pytest.mark.parametrize("use_rep", [None, "X", "X_pca"])
def test_the_tools_of_scanpy_read_a_saved_graph(tmp_path, use_rep):
    X = points("gaussian", 100)
    cells = anndata.AnnData(np.hstack([X, np.ones((100, 60))]), obsm={"X_pca": X})
    cells.write_h5ad(tmp_path / "a.h5ad")
    made_from = cells.X if use_rep == "X" else X
    sparrot.save(sparrot.qot(made_from, perplexity=20), tmp_path / "a.h5ad", use_rep=use_rep)
    adata = anndata.read_h5ad(tmp_path / "a.h5ad")
    sc.tl.leiden(adata, neighbors_key="sparrot", flavor="igraph", n_iterations=2, directed=False)
    sc.tl.louvain(adata, neighbors_key="sparrot", flavor="igraph")
    sc.tl.paga(adata, groups="leiden", neighbors_key="sparrot")
    sc.tl.diffmap(adata, neighbors_key="sparrot")
    assert list(adata.obsm) == ["X_pca", "X_diffmap"]
    params, D = adata.uns["sparrot"]["params"], adata.obsp["sparrot_distances"]
    assert params["use_rep"] == (use_rep or "X")
    assert params["metric"] == "euclidean"
    assert set(np.diff(D.indptr)) == {params["n_neighbors"] - 1}
    if use_rep is not None:
        i = np.repeat(np.arange(100), 14)
        assert D.data == pytest.approx(np.linalg.norm((X[i] - X[D.indices]), axis=1), rel=1e-6)


def test_without_points_the_strongest_neighbors_stand_for_the_nearest(tmp_path):
    a = sparrot.qot(points("gaussian", 60), perplexity=20)
    sparrot.save(a, tmp_path / "a.h5ad")
    D, W = anndata.read_h5ad(tmp_path / "a.h5ad").obsp["sparrot_distances"], a.matrix.toarray()
    k = D.indptr[1]
    assert k == min(14, (W > 0).sum(axis=1).min()) > 1
    for i in range(60):
        kept = D.indices[D.indptr[i] : D.indptr[i + 1]]
        assert sorted(W[i, kept]) == sorted(W[i])[-k:]
        assert 1 - D[i, kept].toarray()[0] == pytest.approx(W[i, kept] / W.max(), abs=1e-15)


def test_a_representation_that_is_not_the_data_is_refused(tmp_path):
    X, path = points("gaussian", 60), tmp_path / "a.h5ad"
    a = sparrot.qot(X)
    with pytest.raises(InvalidInputError, match=r"existing .h5ad file, and .* is not one"):
        sparrot.save(a, path, use_rep="X")
    anndata.AnnData(X[::-1].copy()).write_h5ad(path)
    with pytest.raises(InvalidInputError, match="X is not the data of this affinity"):
        sparrot.save(a, path, use_rep="X")
    with pytest.raises(
        InvalidInputError, match=r"use_rep must be 'X' or .* got 'X_pca', and .* has X; name one"
    ):
        sparrot.save(a, path, use_rep="X_pca")
