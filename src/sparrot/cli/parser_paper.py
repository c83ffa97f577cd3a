"""What can be asked about the paper, and for the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparrot.cli.options import add_command, add_talk
from sparrot.paper import EXPERIMENTS

SHELLS = ("bash", "zsh", "fish")


def reproduce(commands: Any) -> None:
    """The paper's experiments."""
    parser = add_command(
        commands,
        "reproduce",
        "an experiment of the paper: figure, numbers, and its claims with a verdict each",
        "Runs an experiment of the paper, or all, and holds the paper's claims against\n"
        "the numbers. An interrupted run of the same code goes on where it stopped.",
        "convergence --quick",
        "all --quick --output out",
    )
    parser.add_argument(
        "name", metavar="NAME", choices=["all", *EXPERIMENTS], help=f"all, {', '.join(EXPERIMENTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a small version, for a first look")
    _add_folder(parser, "figures and numbers go")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    add_talk(parser)


def demo(commands: Any) -> None:
    """The spiral."""
    parser = add_command(
        commands,
        "demo",
        "recover a noisy spiral, against k-NN and Gaussian graphs",
        "The paper's spiral in 250 dimensions: a table, and a figure.",
        "--output out",
    )
    _add_folder(parser, "the figure goes")
    add_talk(parser)


def completion(commands: Any) -> None:
    """Words for a shell."""
    parser = add_command(
        commands,
        "completion",
        "a script that completes commands and options in your shell",
        "Prints the script; put the matching line below into your shell's start-up file.",
        'bash                     # bash: eval "$(sparrot completion bash)"',
        'zsh                      # zsh: eval "$(sparrot completion zsh)"',
        "fish                     # fish: sparrot completion fish | source",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def _add_folder(parser: Any, what: str) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help=f"where {what} (default: out)",
    )
