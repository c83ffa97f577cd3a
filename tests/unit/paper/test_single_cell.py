"""The paper's own set is not part of the tests: a small file of its layout stands in."""

import h5py
import numpy as np
import pytest

from sparrot.errors import MissingDataError
from sparrot.paper import single_cell
from sparrot.paper._work import Work

BRANCHES = {"Granule": "ImmGranule1", "CA": "CA1-Sub"}
N_BRANCH, N_GENES = 60, 400


def branching(rng):
    """Two branches from one origin: each turns on its own genes as time goes on."""
    time = np.tile(np.arange(N_BRANCH) / N_BRANCH, 2)
    branch = np.repeat([0, 1], N_BRANCH)
    rates = np.ones((2 * N_BRANCH, N_GENES))
    for b in (0, 1):
        genes = slice(100 * b, 100 * (b + 1))
        rates[branch == b, genes] += 8 * time[branch == b, None]
    return rng.poisson(rates).astype(np.float32), time, branch


@pytest.fixture
def folder(tmp_path, monkeypatch):
    counts, time, branch = branching(np.random.default_rng(0))
    names = [f"cell{k}" for k in range(len(time))]
    place = tmp_path / "dentate"
    place.mkdir()
    text = h5py.string_dtype()
    types = np.where(time < 0.5, "Nbl1", np.array(list(BRANCHES.values()))[branch])
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
    parameters = single_cell.Parameters(n_genes=200, n_components=2)
    numbers = single_cell.run(parameters, Work())
    r = {
        row["lineage"]: row["correlation"]
        for row in numbers["correlations"]
        if row["method"] == "QOT"
    }
    assert set(r) == {"Granule", "CA"}
    assert min(r.values()) > 0.5
    assert numbers["sets"]["dentate"]["origin"] in (0, N_BRANCH)
    assert [row["set"] for row in numbers["missing"]] == ["arabidopsis", "pbmc"]
    assert set(single_cell.draw(numbers)) == {"dentate"}
    untested = [claim for claim in single_cell.claims(numbers) if claim.holds is None]
    assert len(untested) == 2
    assert all("SPARROT_DATA" in claim.reason for claim in untested)


@pytest.mark.usefixtures("folder")
def test_a_set_without_its_truth_is_missing(tmp_path):
    (tmp_path / "dentate" / "end_probs.csv").unlink()
    with pytest.raises(
        MissingDataError, match=r"not dentate/end_probs\.csv, the probabilities"
    ) as e:
        single_cell.run(single_cell.Parameters(sets=("dentate",)), Work())
    assert "put them into the folder that SPARROT_DATA names" in str(e.value)
