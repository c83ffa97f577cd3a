"""A checkpoint is believed only if it is what a run wrote, for the same points."""

import os

import numpy as np
import pytest

import sparrot
from problems import points
from sparrot._files import digest
from sparrot.errors import AffinityWarning, InvalidInputError

X = points("gaussian", 300)


@pytest.fixture
def held(tmp_path):
    path = tmp_path / "held"
    sparrot.qot(X, 0.1, checkpoint=path)
    return path


def rewrite(path, change, sign):
    """Change the arrays of a checkpoint, and give it a digest that fits, or leave the old one."""
    with np.load(path) as file:
        arrays = dict(file)
    old = arrays.pop("digest")
    arrays |= change(arrays)
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with path.open("wb") as stream:
        np.savez(stream, digest=digest(arrays) if sign else old, **arrays)


CHANGES = {
    "costs of zero": lambda a: {"cost": 0 * a["cost"]},
    "half of the pairs": lambda a: {name: a[name][::2] for name in ("i", "j", "cost")},
    "other potentials": lambda a: {"u": a["u"] + 1},
    "higher ceilings": lambda a: {"r": a["r"] + 1},
}
IMPOSSIBLE = {
    "a NaN in the potential": lambda a: {"u": np.full_like(a["u"], np.nan)},
    "an infinite potential": lambda a: {"u": np.full_like(a["u"], np.inf)},
    "a NaN in the ceilings": lambda a: {"r": np.full_like(a["r"], np.nan)},
    "a NaN in the costs": lambda a: {"cost": np.full_like(a["cost"], np.nan)},
    "too few potentials": lambda a: {"u": a["u"][1:]},
    "a matrix of ceilings": lambda a: {"r": a["r"][:, None]},
    "fewer rows than columns": lambda a: {"i": a["i"][1:]},
    "fewer costs than pairs": lambda a: {"cost": a["cost"][1:]},
    "a row that is not there": lambda a: {"j": a["j"] + np.int32(300)},
    "a negative row": lambda a: {"i": a["i"] - np.int32(300)},
    "pairs the wrong way": lambda a: {"i": a["j"], "j": a["i"]},
    "rows that are no integers": lambda a: {"i": a["i"].astype(float)},
    "words for costs": lambda a: {"cost": a["cost"].astype(str)},
    "no costs": lambda a: {"cost": None},
    "negative multipliers": lambda a: {"e": a["u"] - 9, "eps": np.float64(1)},
    "a NaN in the multipliers": lambda a: {"e": np.full_like(a["u"], np.nan), "eps": np.float64(1)},
    "too few multipliers": lambda a: {"e": np.ones(299), "eps": np.float64(1)},
    "multipliers without an eps": lambda a: {"e": np.ones(300)},
    "multipliers of a word": lambda a: {"e": np.ones(300), "eps": np.array("word")},
    "multipliers of no eps": lambda a: {"e": np.ones(300), "eps": np.float64(0)},
}


@pytest.mark.parametrize("change", [*CHANGES.values(), *IMPOSSIBLE.values()])
def test_what_was_changed_is_refused(held, change):
    rewrite(held, change, sign=False)
    with pytest.raises(InvalidInputError, match="held was damaged or changed after it was written"):
        sparrot.qot(X, 0.1, checkpoint=held)


@pytest.mark.parametrize("change", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_no_run_can_have_found_is_refused_whoever_signed_it(held, change):
    rewrite(held, change, sign=True)
    with pytest.raises(InvalidInputError, match="held holds what no run can have found"):
        sparrot.qot(X, 0.1, checkpoint=held)


def test_no_mutation_of_the_file_is_another_error_or_another_result(held):
    whole, known = held.read_bytes(), sparrot.qot(X, 0.1).matrix
    for seed in range(60):
        rng = np.random.default_rng(seed)
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        held.write_bytes(data[: rng.integers(len(data))] if seed % 4 == 0 else data)
        try:
            W = sparrot.qot(X, 0.1, checkpoint=held).matrix
        except InvalidInputError:
            continue
        assert abs(W - known).max() < 1e-6  # the date of an entry, say


@pytest.mark.posix
def test_a_folder_that_is_closed_is_a_warning(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("may write anywhere")
    tmp_path.chmod(0o500)
    with pytest.warns(AffinityWarning, match="cannot be written"):
        sparrot.qot(X, 0.1, checkpoint=tmp_path / "held")
    tmp_path.chmod(0o700)


def test_a_checkpoint_that_cannot_be_written_warns_once_and_the_run_goes_on(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    known = sparrot.qot(X, 1.0, solver="active-set")
    monkeypatch.setattr("sparrot.ot._checkpoint.np.savez", full)
    with pytest.warns(AffinityWarning) as warned:
        a = sparrot.qot(X, 1.0, checkpoint=tmp_path / "held")
    said = [str(warning.message) for warning in warned]
    expected = (
        f"checkpoint {tmp_path / 'held'} cannot be written (No space left on device): what is "
        "found is not saved, and the run goes on; make room for it, or name another file"
    )
    assert said == [expected]
    assert np.array_equal(a.potential, known.potential)
    assert list(tmp_path.iterdir()) == []
