"""Corrupt files are read or refused, in every format; `make fuzz` tries thousands of mutants."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from hostile import formats
from sparrot.io._formats import FORMATS, formats_holding

MUTANTS = 40


def test_every_format_is_here():
    assert set(formats.POINTS) == set(FORMATS)
    assert set(formats.AFFINITIES) == set(formats_holding("affinity"))


@pytest.mark.parametrize("name", formats.FILES)
def test_a_whole_file_is_read(name, tmp_path):
    path = tmp_path / formats.file_name(name)
    path.write_bytes(formats.whole(name))
    formats.FILES[name][1](path)


@pytest.mark.parametrize("name", sorted(set(formats.FILES) - set(formats.IN_C)))
def test_a_corrupt_file_is_read_or_refused(name):
    ends = Counter(formats.run(name, seed) for seed in range(MUTANTS))
    assert ends["refused"] > MUTANTS // 10


READ = """
import sys
from hostile import formats
for seed in range(int(sys.argv[2])):
    print(seed, formats.run(sys.argv[1], seed), flush=True)
"""


@pytest.mark.parametrize("name", formats.IN_C)
def test_a_corrupt_file_that_a_library_reads_is_read_or_refused(name):
    """In a process of its own, for these libraries are in C."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    arguments = [sys.executable, "-c", READ, name, str(MUTANTS)]
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1:]}\n{done.stderr[-2000:]}"
    assert sum(line.endswith("refused") for line in lines) > MUTANTS // 10
