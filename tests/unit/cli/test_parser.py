import json
import subprocess
import sys

import numpy as np
import pytest

import sparrot
from sparrot.affinity._kinds import KINDS, Kind
from sparrot.cli import COMMANDS, main, parse
from sparrot.cli._options import METRICS
from sparrot.engine import Threads
from sparrot.io._formats import FORMATS, Format
from sparrot.ot import MIN_NEIGHBORS, PERPLEXITY
from sparrot.ot._solve import SEARCHES


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    said = capsys.readouterr().out
    assert f"  sparrot {command} " in said.split("example")[1]


def test_the_help_of_all_names_every_command_and_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    listed = [line.split()[0] for line in said.splitlines() if line.startswith("    ")]
    assert [name for name in listed if name in COMMANDS] == list(COMMANDS)
    assert "0 fine, 2 bad input, 3 not converged, 130 interrupted" in said


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("affinity", "default: X"),
        ("report", "more than 50 columns obsm/X_pca, if it is there"),
        ("embed", "default: auto: 1, or the median cost where outliers"),
        ("tsne", "default: --perplexity 30"),
        ("tsne", "default: one for t-SNE, otherwise all cores"),
    ],
)
def test_help_says_the_default_of_each_command(command, default, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert default in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"completion"}))
def test_every_command_that_works_can_be_quiet_or_speak_to_programs(command):
    needs = {"demo": [], "reproduce": ["sphere"]}.get(command, ["x.npy"])
    assert parse([command, *needs, "--json", "-q"]).quiet
    options = parse([command, *needs, "--json", "-vv"])
    assert (options.json, options.quiet, options.verbose) == (True, False, 2)


def test_quiet_and_more_of_the_log_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as done:
        main(["affinity", "x.npy", "-q", "-vv"])
    assert done.value.code == 2
    assert "not allowed with argument -q" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        (["affinity", "x.npy", "--bad"], "affinity"),
        (["embed", "x.npy", "--components", "many"], "embed"),
        (["affinty", "x.npy"], None),
    ],
)
def test_programs_get_wrong_usage_as_json_too(typed, command, capsys):
    with pytest.raises(SystemExit) as done:
        main([*typed, "--json"])
    assert done.value.code == 2
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["command"], told["exit_code"]) == (command, 2)
    assert told["error"] in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "required: COMMAND"),
        (["affinity"], "required: FILE"),
        (["embed", "x.npy", "--method", "maps"], "invalid choice: 'maps'"),
        (["affinity", "x.npy", "--eps", "1", "--perplexity", "30"], "not allowed with"),
        (["affinity", "x.npy", "--pca", "few"], "invalid int value"),
        (["report", "x.npy", "--bogus"], "unrecognized arguments: --bogus; see sparrot report --"),
        (["embed", "x.csv", "--label", "a", "--label", "b"], "--label: was given twice; --without"),
        (["info", "x.npy", "--eps", "1"], "unrecognized arguments: --eps 1; see sparrot info --"),
    ],
)
def test_what_cannot_be_parsed_is_one_line_and_two(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert done.value.code == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert "--help" in said


def ring(X, n_neighbors=1):
    W = np.roll(np.eye(len(X)), n_neighbors, axis=0)
    return sparrot.Affinity("ring", W + W.T, 1.0, "sqeuclidean")


def test_a_kind_that_is_added_to_the_table_can_be_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(KINDS, "ring", Kind(__name__, "ring", "Ring", ("n_neighbors",)))
    np.save(tmp_path / "x.npy", np.arange(12.0)[:, None])
    asked = ["cluster", str(tmp_path / "x.npy"), "--kind", "ring", "--neighbors", "4", "--json"]
    assert main([*asked, "--clusters", "4"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["components"]) == ("ring", 4)
    assert main([*asked, "--eps", "1"]) == 2
    assert "it takes --neighbors" in capsys.readouterr().err


def helped(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    return " ".join(capsys.readouterr().out.split())


def test_help_has_the_defaults_and_choices_of_the_library(capsys):
    said = helped("affinity", capsys)
    assert f"for eot --perplexity {PERPLEXITY:g};" in said
    assert f"(default: {MIN_NEIGHBORS:g}, but at most half the perplexity" in said
    assert f"--search {{{','.join(SEARCHES)}}}" in said
    assert f"(default: --perplexity {PERPLEXITY:g};" in helped("tsne", capsys)


def test_help_names_every_format_and_what_it_can_hold(capsys, monkeypatch):
    toy = Format("_text", holds=("table", "record", "entries"), keeps=True)
    monkeypatch.setitem(FORMATS, ".toy", toy)
    said = helped("affinity", capsys)
    assert "points: .npy, .npz, .csv, .tsv, .parquet, .h5ad, .mtx or .toy (" in said
    assert ".npz or .h5ad (which keeps what it has); its matrix: .mtx; entries" in said
    assert "weight: .csv, .tsv, .parquet or .toy (which keeps what it has), chosen" in said
    assert ".npz, .csv, .tsv, .parquet or .toy (which keeps" in helped("path", capsys)


def test_help_and_completion_wait_for_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "joblib", "matplotlib", "anndata", "tqdm"]
    heavy += ["sparrot.paper._work", "sparrot.affinity._transport"]
    code = (
        "import sys\nfrom sparrot.cli import COMMANDS, main\n"
        "for asked in ([], *([name] for name in COMMANDS)):\n"
        "    try: main([*asked, '--help'])\n"
        "    except SystemExit: pass\n"
        "main(['completion', 'bash'])\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_that_a_shell_completes_is_known(metric):
    X = np.random.default_rng(0).standard_normal((12, 3))
    given = ((X[:, None] - X) ** 2).sum(2) if metric == "precomputed" else X
    assert sparrot.knn(given, 3, metric=metric).metric == metric


@pytest.mark.parametrize("kind", KINDS)
def test_threads_reach_every_kind_that_has_them(kind, monkeypatch, tmp_path):
    seen, original = set(), Threads.__init__

    def counted(self, n_jobs=None):
        seen.add(n_jobs)
        original(self, n_jobs)

    monkeypatch.setattr(Threads, "__init__", counted)
    points = np.random.default_rng(0).standard_normal((1600, 2))  # enough for a search of pairs
    np.save(tmp_path / "x.npy", points[:: 1 if kind == "epanechnikov" else 20])
    scale = [] if KINDS[kind].scales == ("n_neighbors",) else ["--eps", "0.5"]
    asked = ["affinity", tmp_path / "x.npy", "--kind", kind, *scale, "--jobs", 2, "-q"]
    assert main([str(word) for word in asked]) == 0
    assert seen == (set() if kind == "gaussian" else {2})


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (["embd", "a.csv"], "embed"),
        (["affinity", "a.csv", "--perplxity", "3"], "--perplexity"),
        (["embed", "a.csv", "--method", "difusion"], "diffusion"),
        (["affinity", "a.csv", "--n-neigbors", "10"], "--n-neighbors"),
        (["affinity", "a.csv", "--min-neigbors", "10"], "--min-neighbors"),
        (["affinity", "a.csv", "--n-jobs", "2"], "--jobs"),
    ],
)
def test_what_was_misspelled_is_suggested(line, meant, capsys):
    with pytest.raises(SystemExit):
        main(line)
    assert f"; did you mean {meant}?; see sparrot" in capsys.readouterr().err


def test_what_resembles_nothing_is_not_guessed(capsys):
    with pytest.raises(SystemExit):
        main(["affinity", "a.csv", "--xyzzy"])
    assert "did you mean" not in capsys.readouterr().err


def test_a_missing_file_is_told_before_anything_is_loaded_that_could_read_it():
    code = (
        "import sys; from sparrot.cli import main; code = main(['affinity', 'nowhere.csv']); "
        "print(code, [m for m in ('numpy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1) == ["2", "[]\n"]
    assert done.stderr == "sparrot: FILE nowhere.csv does not exist; check the spelling\n"


def test_two_scales_are_refused_in_the_words_of_the_command_line(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).standard_normal((20, 2)))
    line = ["affinity", str(tmp_path / "a.npy"), "--neighbors", "5", "--perplexity", "6"]
    assert main(line) == 2
    assert "give --perplexity or --neighbors, not both" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["affinity", "report"])
def test_neighbors_have_the_name_of_python_too_and_are_the_only_floor(command, tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).standard_normal((20, 2)))
    line = [command, str(tmp_path / "a.npy"), "--n-neighbors", "5", "--min-neighbors", "5"]
    assert parse(line).n_neighbors == 5
    assert main(line) == 2
    said = (
        "sparrot: --neighbors is itself a floor on the neighbors of every point, and a second one"
    )
    assert said in capsys.readouterr().err
