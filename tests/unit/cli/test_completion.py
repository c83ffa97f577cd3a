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
        ("sparrot completion z", "zsh"),
        ("sparrot affinity --plot pict", ""),
    ],
)
def test_bash_is_offered_what_fits(words, offered, script):
    ask = ASKED.format(words=words, last=len(words.split()) - 1)
    done = subprocess.run(["bash", "-c", script("bash") + ask], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (offered, "")


def test_every_option_is_in_every_script(script):
    for shell in SHELLS:
        text = script(shell)
        for option in ("perplexity", "checkpoint", "clusters", "json", "quick"):
            assert option in text
