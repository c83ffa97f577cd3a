"""The paper's own set is not part of the tests: a small file of its layout stands in."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from scipy.sparse import csr_array

from sparrot.datasets import Cells
from sparrot.datasets._cells import load_marrow_cd34
from sparrot.errors import MissingDataError
from sparrot.paper import single_cell
from sparrot.paper._expression import expression
from sparrot.paper._work import Work

BRANCHES = {
    "Granule": ("Nbl2", "ImmGranule1", "ImmGranule2", "Granule"),
    "CA": ("Nbl2", "CA1-Sub", "CA", "CA2-3-4"),  # the first two are on neither branch
}
N_BRANCH, N_GENES = 80, 2000


def branching(rng):
    """Two branches from one origin: each turns on its own genes as time goes on."""
    time = np.tile(np.arange(N_BRANCH) / N_BRANCH, 2)
    branch = np.repeat([0, 1], N_BRANCH)
    rates = np.ones((2 * N_BRANCH, N_GENES))
    for b in (0, 1):
        genes = slice(100 * b, 100 * (b + 1))
        rates[branch == b, genes] += 8 * time[branch == b, None]
    return rng.poisson(3 * rates).astype(np.float32), time, branch


@pytest.fixture
def folder(tmp_path, monkeypatch):
    counts, time, branch = branching(np.random.default_rng(0))
    names = [f"cell{k}" for k in range(len(time))]
    place = tmp_path / "dentate"
    place.mkdir()
    text = h5py.string_dtype()
    types = np.array(list(BRANCHES.values()))[branch, (4 * time).astype(int)]
    with h5py.File(place / "DentateGyrus.loom", "w") as file:
        file["matrix"] = counts.T
        file["row_attrs/Gene"] = np.array([f"g{k}" for k in range(N_GENES)], dtype=text)
        file["col_attrs/CellID"] = np.array(names, dtype=text)
        file["col_attrs/ClusterName"] = types.astype(object)
        file["col_attrs/TSNE1"], file["col_attrs/TSNE2"] = time, branch
    for key, values in {"start": 1 - time, "end": time}.items():
        lines = [f"{name},{value}" for name, value in zip(names, values, strict=True)]
        (place / f"{key}_probs.csv").write_text("\n".join([f",{key}_prob", *lines]))
    monkeypatch.setenv("SPARROT_DATA", str(tmp_path))


@pytest.mark.usefixtures("folder")
def test_distance_grows_along_both_branches_of_the_dentate_gyrus():
    parameters = single_cell.Parameters(n_components=2)
    numbers = single_cell.run(parameters, Work())
    r = {
        row["lineage"]: row["correlation"]
        for row in numbers["correlations"]
        if row["method"] == "QOT"
    }
    assert set(r) == {"Granule", "CA"}
    assert min(r.values()) > 0.5
    assert numbers["sets"]["dentate"]["origin"] in (0, N_BRANCH)
    distant = single_cell.claims(numbers)[0]
    assert distant.sentence == single_cell._DISTANT
    assert distant.ours.startswith("dentate, all 160 cells, ")
    assert distant.holds
    assert [row["set"] for row in numbers["missing"]] == ["marrow", "arabidopsis"]
    assert set(single_cell.draw(numbers)) == {"dentate"}
    untested = [claim for claim in single_cell.claims(numbers) if claim.holds is None]
    assert len(untested) == 6  # three sentences on each of two sets
    assert len({claim.sentence for claim in untested}) == 3
    assert all("SPARROT_DATA" in claim.reason for claim in untested)


@pytest.mark.usefixtures("folder")
def test_branches_of_the_dentate_gyrus_are_those_of_the_authors():
    cells = single_cell._SETS["dentate"].load()
    found = single_cell._lineages("dentate", cells)
    types = {name: sorted(set(cells.types[rows])) for name, (rows, _) in found.items()}
    assert types == {
        "CA": ["CA", "CA2-3-4"],
        "Granule": ["Granule", "ImmGranule1", "ImmGranule2"],
    }  # and ImmAstro, of which this file has none


@pytest.mark.usefixtures("folder")
def test_ends_of_the_dentate_gyrus_have_the_largest_end_probability_of_their_branch():
    cells = single_cell._SETS["dentate"].load()
    assert single_cell._dentate_ends(cells) == {"Granule": N_BRANCH - 1, "CA": 2 * N_BRANCH - 1}
    nearer_at_the_end = -np.arange(2.0 * N_BRANCH)
    ranks = single_cell._end_ranks("dentate", cells, nearer_at_the_end)
    assert max(ranks.values()) < 0.05  # the nearest of its branch, of forty or more


@pytest.mark.usefixtures("folder")
def test_a_set_without_its_truth_is_missing(tmp_path):
    (tmp_path / "dentate" / "end_probs.csv").unlink()
    with pytest.raises(
        MissingDataError, match=r"not dentate/end_probs\.csv, the probabilities"
    ) as e:
        single_cell.run(single_cell.Parameters(sets=("dentate",), n=(5000,)), Work())
    assert "put them into the folder that SPARROT_DATA names" in str(e.value)


def test_genes_are_chosen_before_cells_are_sampled_and_named_cells_stay(monkeypatch):
    rng = np.random.default_rng(0)
    n = 120
    named = np.full(n, "", dtype="<U5")
    named[[7, 100]] = "start", "Ery"
    counts = rng.poisson(rng.gamma(0.5, 2.0, 1500), (n, 1500)).astype(np.float32)
    time = np.linspace(0, 1, n)
    cells = Cells(
        csr_array(counts),
        np.arange(1500),
        np.repeat(["HSC", "erythroid"], n // 2),
        columns={"named": named, "pseudotime": time},
    )
    marrow = replace(single_cell._SETS["marrow"], load=lambda: cells)
    monkeypatch.setitem(single_cell._SETS, "marrow", marrow)
    whole, _ = expression(cells)
    for seed in range(3):
        parameters = single_cell.Parameters(sets=("marrow",), n=(50,))
        X, some = single_cell._points(parameters, "marrow", seed)
        rows = np.searchsorted(time, some.columns["pseudotime"])
        assert 50 <= len(X) <= 52
        assert np.array_equal(X, whole[rows])
        assert {"start", "Ery"} <= set(some.columns["named"])
    ranks = single_cell._end_ranks("marrow", cells, np.arange(n, dtype=float))
    assert ranks == {"Ery": pytest.approx(101 / n)}


def test_the_marrow_names_its_start_and_its_ends(tmp_path, monkeypatch):
    np.savez(
        tmp_path / "marrow_cd34.npz",
        data=np.array([1, 2, 3], dtype=np.uint16),
        indices=np.array([0, 1, 1]),
        indptr=np.array([0, 1, 2, 3, 3]),
        shape=np.array([4, 2]),
        genes=np.array(["a", "b"]),
        barcodes=np.array(["w", "x", "y", "z"]),
        start_cell=np.array("y"),
        terminal_cells=np.array(["w", "z"]),
        terminal_names=np.array(["DC", "Ery"]),
        monocle2_pseudotime=np.arange(4.0),
        phenograph=np.array([7, 9, 0, 8]),
        layout_tsne=np.zeros((4, 2)),
    )
    monkeypatch.setenv("SPARROT_DATA", str(tmp_path))
    cells = load_marrow_cd34()
    assert cells.columns["named"].tolist() == ["DC", "", "start", "Ery"]
    assert cells.types.tolist() == ["dendritic", "other", "HSC", "late erythroid"]
    assert cells.X.toarray().tolist() == [[1, 0], [0, 2], [0, 3], [0, 0]]
    assert cells.counts
