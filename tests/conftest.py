import os
import signal

import pytest

from problems import data_folder

collect_ignore = ["peers"]  # scripts, each for an environment of its own
if os.name == "nt":  # has other limits of a process, and other ways to end one
    collect_ignore += [f"hostile/test_{name}.py" for name in ("disk", "processes", "signals")]


def pytest_report_header() -> str:
    folder = data_folder()
    if folder is None:
        return "sparrot data: none (set SPARROT_DATA); scikit-learn's digits stand in for MNIST"
    return f"sparrot data: {folder}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if os.name == "nt" and item.get_closest_marker("posix"):
        pytest.skip("of signals, terminals, links or modes as Windows has none")


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """Ctrl-C works in tests, also where a shell runs them in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
