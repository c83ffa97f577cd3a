import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sparrot._files import whole_file


@pytest.mark.posix
def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path):
    behind, link = tmp_path / "store" / "blob", tmp_path / "a.txt"
    behind.parent.mkdir()
    behind.write_text("old")
    link.symlink_to(behind)
    with whole_file(link) as temporary:
        assert temporary.name == "a.txt"
        temporary.write_text("new")
    assert link.is_symlink()
    assert behind.read_text() == "new"
    assert [path.name for path in behind.parent.iterdir()] == ["blob"]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write():
        with whole_file(target) as temporary:
            temporary.write_text("ne")
            (temporary.parent / "left by a writer").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_writer_sees_the_ending_in_small_letters(tmp_path):
    with whole_file(tmp_path / "A.NPZ") as temporary:
        assert temporary.suffix == ".npz"
        temporary.touch()
    assert [path.name for path in tmp_path.iterdir()] == ["A.NPZ"]


def test_where_nothing_can_be_written_the_name_that_was_given_is_in_the_error(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    target = folder / "a.txt"

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(folder / ".sparrot-01234567"))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sparrot._files._locked", refuse)
        with pytest.raises(PermissionError) as refused, whole_file(target):
            pass
    assert refused.value.filename == str(target)
    assert list(folder.iterdir()) == []


@pytest.mark.posix
@pytest.mark.parametrize("mode", [0o400, 0o600, 0o644, 0o664])
def test_a_file_keeps_the_mode_of_the_one_that_it_replaces(tmp_path, mode):
    target = tmp_path / "a.txt"
    target.touch()
    target.chmod(mode)
    with whole_file(target) as temporary:
        temporary.write_text("new")
    assert target.stat().st_mode & 0o777 == mode
    assert target.read_text() == "new"


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with whole_file(tmp_path / "a.txt") as temporary:
        temporary.touch()
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def killed_while_writing(target):
    """What a process leaves that is killed while it writes."""
    code = (
        "import os, signal, sys\n"
        "from sparrot._files import whole_file\n"
        "with whole_file(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code, target], env=os.environ | path)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.posix
def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    killed_while_writing(tmp_path / "a.txt")
    (left,) = tmp_path.iterdir()
    (tmp_path / f"{left.name}0").mkdir()  # not ours
    with whole_file(tmp_path / "b.txt") as temporary:
        temporary.touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{left.name}0", "b.txt"]


def test_a_folder_that_is_in_use_is_no_leftover(tmp_path):
    with whole_file(tmp_path / "a.txt") as first:
        first.write_text("first")
        with whole_file(tmp_path / "b.txt") as second:
            second.write_text("second")
        assert first.read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_many_threads_and_one_folder(tmp_path):
    def write(k):
        with whole_file(tmp_path / f"{k % 4}.txt") as temporary:
            temporary.write_text("whole")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{k}.txt" for k in range(4)]


def test_a_disk_that_is_full_at_the_last_moment_is_an_error_and_the_old_file_stays(
    tmp_path, monkeypatch
):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sparrot._files.os.fsync", full)
    with pytest.raises(OSError, match="No space left") as refused, whole_file(target) as temporary:
        temporary.write_text("new")
    assert refused.value.filename == str(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_where_no_folder_can_be_made_is_an_error_and_not_tried_for_ever(
    tmp_path, monkeypatch
):
    mkdir = Path.mkdir

    def refuse(folder, *arguments, **options):  # as /proc does
        if folder.name.startswith(".sparrot-"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
        mkdir(folder, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(FileNotFoundError, match=r"a\.txt"), whole_file(tmp_path / "a.txt"):
        pass
