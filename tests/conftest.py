import signal

import pytest

from problems import data_folder

collect_ignore = ["peers"]  # scripts, each for an environment of its own


def pytest_report_header() -> str:
    folder = data_folder()
    if folder is None:
        return "sparrot data: none (set SPARROT_DATA); scikit-learn's digits stand in for MNIST"
    return f"sparrot data: {folder}"


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """Ctrl-C works in tests, also where a shell runs them in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
