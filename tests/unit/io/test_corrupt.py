"""Corrupt files are bad input: one sentence, whatever is broken in them, and exit code 2."""

import pytest

from sparrot.cli import main

BROKEN = {
    "a.csv": b"a,b\n1," + b"2" * 200_000 + b"x\n",
    "nul.csv": b"a,b\n1,\x002\n",
    "cr.csv": b"a,b\r1,2\r3,x\r",
    "quote.csv": b'a,b\n1,"2\n3,4\n',
    "latin.csv": "größe,b\n1,2\n".encode("latin-1"),
    "a.npz": b"PK\x03\x04 and no more",
    "a.h5ad": b"\x89HDF\r\n\x1a\n and no more",
    "a.parquet": b"PAR1 and no more PAR1",
    "a.npy": b"\x93NUMPY\x01\x00\x08\x00{'descr'",
}


WORDS = "nul.csv", "cr.csv", "quote.csv"  # tables still, with a cell that is no number


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", ["info", "affinity"])
def test_the_command_line_says_so_in_one_line(name, command, tmp_path, capsys):
    if command == "info" and name in WORDS:
        pytest.skip("info describes any table")
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    assert main([command, str(path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(path) in said
    assert len(said) < 500


@pytest.mark.parametrize("name", WORDS)
def test_info_says_why_a_table_has_no_points(name, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    assert main(["info", str(path)]) == 0
    said = capsys.readouterr()
    assert "none: " in said.out
    assert "is no number" in said.out
    assert said.err == ""
