import os
import shutil
import subprocess

import pytest

from sparrot.cli import main
from sparrot.cli.parser_paper import SHELLS

ASKED = """
COMP_WORDS=({words}); COMP_CWORD={last}; _sparrot; echo "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(capsys):
    def make(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return make


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_accepted_by_the_shell(shell, script, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    (tmp_path / "script").write_text(script(shell))
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sparrot re", "report reproduce"),
        ("sparrot affinity --kind e", "eot epanechnikov"),
        ("sparrot embed --kind m", ""),
        ("sparrot cluster points.npy --cl", "--clusters"),
        ("sparrot reproduce sp", "sphere spiral spiral-dimensions"),
        ("sparrot reproduce --quick sp", "sphere spiral spiral-dimensions"),
        ("sparrot reproduce --output sp", ""),
        ("sparrot reproduce sphere sp", ""),
        ("sparrot --v", "--version"),
        ("sparrot completion z", "zsh"),
        ("sparrot affinity --plot pict", ""),
    ],
)
def test_bash_is_offered_what_fits(words, offered, script):
    ask = ASKED.format(words=words, last=len(words.split()) - 1)
    done = subprocess.run(["bash", "-c", script("bash") + ask], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (offered, "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on this machine")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sparrot re", ["report", "reproduce"]),
        ("sparrot --v", ["--version"]),
        ("sparrot affinity --kind e", ["eot", "epanechnikov"]),
        ("sparrot cluster points.npy --cl", ["--clusters"]),
        ("sparrot reproduce --quick sphe", ["sphere"]),
        ("sparrot completion z", ["zsh"]),
    ],
)
def test_fish_is_offered_what_fits(words, offered, script, tmp_path):
    (tmp_path / "sparrot.fish").write_text(script("fish"))
    command = f"source {tmp_path / 'sparrot.fish'}; complete -C '{words}'"
    home = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(
        ["fish", "-N", "-c", command], capture_output=True, text=True, env=home, cwd=tmp_path
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == offered
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
def test_a_bare_zsh_takes_the_script(script, tmp_path):
    (tmp_path / "script").write_text(script("zsh"))
    command = 'eval "$(<script)"; print -r -- $_comps[sparrot]'
    home = os.environ | {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    done = subprocess.run(
        ["zsh", "-f", "-c", command], capture_output=True, text=True, env=home, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("_sparrot\n", "")


def test_every_option_is_in_every_script(script):
    for shell in SHELLS:
        text = script(shell)
        for option in ("perplexity", "checkpoint", "clusters", "json", "quick"):
            assert option in text
