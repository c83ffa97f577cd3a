import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sparrot
from sparrot.cli import main
from sparrot.cli.completion import SHELLS

BASH = """
COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9
_python_argcomplete sparrot; echo "${{COMPREPLY[@]}}"
"""
OFFERED = [
    ("sparrot re", "report reproduce"),
    ("sparrot affinity --kind e", "eot epanechnikov"),
    ("sparrot embed --kind m", ""),
    ("sparrot affinity --metric c", "canberra chebyshev correlation cosine"),
    ("sparrot path points.npy --metric p", "precomputed"),
    ("sparrot embed --method diffusion --kind t", "tsallis"),
    ("sparrot cluster points.npy --cl", "--clusters"),
    ("sparrot reproduce sp", "sphere spiral spiral-dimensions"),
    ("sparrot reproduce --quick sp", "sphere spiral spiral-dimensions"),
    ("sparrot reproduce --output sp", ""),
    ("sparrot reproduce sphere sp", ""),
    ("sparrot --v", "--version"),
    ("sparrot completion z", "zsh"),
    ("sparrot affinity --plot pict", ""),
    ("sparrot affinity poi", "points.npy"),
    ("sparrot affinity points.npy --search a", "approximate auto"),
]


def script(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def ask(tmp_path, capsys):
    """Run a command in a shell that has loaded the script, in a folder with one file of points."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "sparrot"
    program.write_text(f"#!{sys.executable}\nfrom sparrot.cli import main\nmain()\n")
    program.chmod(0o755)
    (tmp_path / "points.npy").touch()
    environment = os.environ | {
        "PYTHONPATH": str(Path(sparrot.__file__).parents[1]),
        "HOME": str(tmp_path),
        "ZDOTDIR": str(tmp_path),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
    }

    def run(shell, *flags, command):
        (tmp_path / "script").write_text(script(shell, capsys))
        done = subprocess.run(
            [shell, *flags, "-c", command],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        assert done.stderr == ""
        return done.stdout

    return run


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_accepted_by_the_shell(shell, capsys, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    (tmp_path / "script").write_text(script(shell, capsys))
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
@pytest.mark.parametrize(("line", "offered"), OFFERED)
def test_bash_is_offered_what_fits(line, offered, ask):
    found = ask("bash", command=f". ./script; {BASH.format(line=line)}")
    assert sorted(found.split()) == offered.split()


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on this machine")
@pytest.mark.parametrize(("line", "offered"), OFFERED)
def test_fish_is_offered_what_fits(line, offered, ask):
    found = ask("fish", "-N", command=f"source script; complete -C '{line}'")
    assert sorted(row.split("\t")[0] for row in found.splitlines()) == offered.split()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
def test_a_bare_zsh_takes_the_script(ask):
    found = ask("zsh", "-f", command='eval "$(<script)"; print -r -- $_comps[sparrot]')
    assert found == "_python_argcomplete\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_asks_sparrot_itself(shell, capsys):
    assert "_ARGCOMPLETE" in script(shell, capsys)


def test_every_flag_of_a_command_is_offered(ask):
    found = ask("bash", command=f". ./script; {BASH.format(line='sparrot affinity --')}").split()
    assert {"--perplexity", "--checkpoint", "--neighbors", "--json", "--max-iter"} <= set(found)
