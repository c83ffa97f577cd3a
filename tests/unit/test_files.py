import pytest

from sparrot._files import whole_file


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
        raise PermissionError(13, "Permission denied", str(folder / ".a.txt.x1y2z3"))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sparrot._files.mkdtemp", refuse)
        with pytest.raises(PermissionError) as refused, whole_file(target):
            pass
    assert refused.value.filename == str(target)
