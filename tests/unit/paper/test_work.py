import json
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from textwrap import dedent

import pytest

from sparrot.paper._work import Work, code_digest, fingerprint


@dataclass(frozen=True)
class Parameters:
    n: int = 1


EXPERIMENT = """
def run(): return 1 + 1
def _drawn(): return [1]  # a sample is drawn, not a figure
def draw(): return 'blue'
def _draw_curve(): return 'curve'
"""


def counted(calls, value):
    calls.append(value)
    return value


def test_a_finished_unit_is_not_done_again(tmp_path):
    calls = []
    units = {"a": partial(counted, calls, 1), "b": partial(counted, calls, 2)}
    first = Work(tmp_path).each(units)
    second = Work(tmp_path).each(units)
    assert first == second == {"a": 1, "b": 2}
    assert calls == [1, 2]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    calls = []

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Work(tmp_path).each({"a": partial(counted, calls, 1), "b": interrupt})
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    found = Work(tmp_path).each({"a": partial(counted, calls, 1), "b": partial(counted, calls, 2)})
    assert found == {"a": 1, "b": 2}
    assert calls == [1, 2]


def test_other_parameters_or_another_version_begin_anew():
    names = {
        fingerprint("x", "1", Parameters(1)),
        fingerprint("x", "1", Parameters(2)),
        fingerprint("x", "2", Parameters(1)),
        fingerprint("y", "1", Parameters(1)),
    }
    assert len(names) == 4
    assert fingerprint("x", "1", Parameters(1)) in names


def test_code_that_computes_begins_anew_and_code_that_shows_does_not(tmp_path):
    def digest(path, text):
        (tmp_path / path).write_text(text)
        code_digest.cache_clear()
        return code_digest(tmp_path)

    for room in ("ot", "plot", "paper"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "code.py").write_text("a = 1")
    (tmp_path / "paper" / "_figures.py").write_text("a = 1")
    first = digest("paper/code.py", EXPERIMENT)
    assert digest("plot/code.py", "a = 2") == first
    assert digest("paper/_figures.py", "a = 2") == first
    assert digest("paper/code.py", EXPERIMENT.replace("'blue'", "'red'")) == first
    assert digest("paper/code.py", EXPERIMENT.replace("'curve'", "'line'")) == first
    assert digest("paper/code.py", EXPERIMENT.replace("1 + 1", "1 + 2")) != first
    assert digest("paper/code.py", EXPERIMENT.replace("[1]", "[2]")) != first
    assert digest("paper/code.py", EXPERIMENT) == first
    assert digest("ot/code.py", "a = 2") != first


def test_other_code_is_another_experiment(monkeypatch):
    before = fingerprint("x", "1", Parameters(1))
    monkeypatch.setattr("sparrot.paper._work.code_digest", lambda: "other code")
    assert fingerprint("x", "1", Parameters(1)) != before


def test_a_result_is_the_same_whether_it_was_stored_or_not(tmp_path):
    unit = {"a": lambda: {"pair": (1, 2.5)}}
    assert Work().each(unit) == Work(tmp_path).each(unit) == Work(tmp_path).each(unit)


def test_a_result_that_is_no_number_is_refused_and_not_stored(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        Work(tmp_path).each({"a": lambda: float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_processes_side_by_side_change_nothing(tmp_path):
    units = {str(k): partial(pow, 2, k) for k in range(6)}
    assert Work(tmp_path, n_jobs=2).each(units) == Work().each(units)
    assert len(list(tmp_path.iterdir())) == 6


def test_a_process_that_grows_is_replaced_though_warnings_are_errors():
    pytest.importorskip("psutil")  # by which joblib looks at the memory
    grows = """
    import sys, time
    from functools import partial
    from sparrot.paper._work import Work

    def held(k):
        sys.held = [*getattr(sys, "held", []), bytearray(400_000_000)]
        time.sleep(1.1)  # joblib looks once a second
        return k

    print(Work(n_jobs=2).each({str(k): partial(held, k) for k in range(6)}))
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(grows)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout == f"{ {str(k): k for k in range(6)} }\n"
    assert done.stderr == ""


def test_every_unit_is_reported_once_with_the_total(tmp_path):
    reports = []
    work = Work(tmp_path, lambda *report: reports.append(report))
    work.each({"a": partial(int, 1)})
    work.each({"a": partial(int, 1), "b": partial(int, 2)})
    assert reports == [("a", 1, 1), ("b", 2, 2)]


@pytest.mark.parametrize("damage", [b"", b'{"seconds": 1', b"\xff\xfe", b"[1]", b"{}"])
def test_a_damaged_unit_is_done_again(tmp_path, damage):
    calls = []
    (tmp_path / "a.json").write_bytes(damage)
    for _ in range(2):
        assert Work(tmp_path).each({"a": partial(counted, calls, 1)}) == {"a": 1}
    assert calls == [1]


def test_a_stored_unit_says_how_long_it_took(tmp_path):
    Work(tmp_path).each({"a": partial(int, 1)})
    entry = json.loads((tmp_path / "a.json").read_text())
    assert entry["result"] == 1
    assert 0 <= entry["seconds"] < 5
    assert 0 <= entry["cpu"] < 5
