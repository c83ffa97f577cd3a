"""`python -m sparrot` is the command `sparrot`."""

import os
import signal
import sys


def command() -> int:
    """Run the command line of this process; returns its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):  # while modules are loaded nothing has begun
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: os._exit(128 + number))
    from sparrot.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(command())
