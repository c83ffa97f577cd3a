import io
import time

from sparrot import Progress
from sparrot.cli.bar import Bar, begins_pass, describe


def drawn(stream, text):
    """Whether a text has been drawn, given a few seconds."""
    end = time.monotonic() + 10
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return text in stream.getvalue()


def test_the_bar_shows_pass_tiles_pairs_and_residual_and_goes_away():
    stream = io.StringIO()
    with Bar(stream, shown=True, patience=0) as bar:
        bar.stage("affinity")
        bar(Progress("screening", 50, 1, 2))
        bar(Progress("screening", 100, 1, 4, 0.5, 7))
        bar(Progress("newton", 100, 2, 0, 0.25, 7))
        bar(Progress("screening", 100, 2, 4, 0.25, 9))
        assert drawn(stream, "screening pass 2 [#####.....] 2/4 tiles, 9 pairs, residual 2e-01")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_new_stage_forgets_the_reports_of_the_last():
    stream = io.StringIO()
    with Bar(stream, shown=True, patience=0) as bar:
        bar.stage("affinity")
        bar(Progress("newton", 100, 2))
        bar.stage("eigenvectors")
        assert drawn(stream, "\x1b[Keigenvectors, 0 s")


def test_lines_above_the_bar_take_its_place():
    stream = io.StringIO()
    with Bar(stream, shown=True, patience=0) as bar:
        bar.stage("affinity")
        assert drawn(stream, "affinity")
        bar.above("a warning")
    assert "\r\x1b[Ka warning\n" in stream.getvalue()


def test_what_goes_to_another_stream_waits_for_the_bar_to_go():
    stream, other = io.StringIO(), io.StringIO()
    with Bar(stream, shown=True, patience=0) as bar:
        bar.stage("affinity")
        assert drawn(stream, "affinity")
        bar.above("a result", other)
        assert "\r\x1b[K" in stream.getvalue()
    assert other.getvalue() == "a result\n"
    assert "a result" not in stream.getvalue()


def test_short_work_and_hidden_bars_draw_nothing():
    for shown, patience in ((True, 60.0), (False, 0.0)):
        stream = io.StringIO()
        with Bar(stream, shown=shown, patience=patience) as bar:
            bar.stage("affinity")
            bar(Progress("newton", 100, 2))
            time.sleep(0.05)
        assert stream.getvalue() == ""


def test_a_pass_begins_with_its_first_tile():
    reports = [
        Progress("extending", 50, 0),
        Progress("screening", 100, 1, 2),
        Progress("screening", 100, 2, 2),
        Progress("screening", 100, 1, 1),
        Progress("newton", 100, 3),
        Progress("screening", 100, 1, 9),
    ]
    begun = [begins_pass(a, b) for a, b in zip([None, *reports], reports, strict=False)]
    assert begun == [False, True, False, True, False, True]


def test_what_is_not_known_is_left_out():
    assert describe("", Progress("extending", 1200, 0), 0, 0.0) == "extending on 1,200 points, 0 s"
