"""`sparrot completion`: a script with which a shell completes commands, options and values.

The script calls `sparrot` itself, which answers by argcomplete (see `parse` in this room).
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from sparrot.cli._options import add_command
from sparrot.cli._session import Session

SHELLS = ("bash", "zsh", "fish")
_LOAD_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }"


def add_parser(commands: Any) -> None:
    """What can be asked."""
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


def run(options: Namespace, session: Session) -> None:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    script = shellcode(["sparrot"], shell=options.shell)
    if options.shell == "zsh":  # which may not have loaded its own completion yet
        script = f"#compdef sparrot\n{_LOAD_COMPINIT}\n{script}"
    print(script)
