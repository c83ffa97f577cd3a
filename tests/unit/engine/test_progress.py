import io
import subprocess
import sys
import threading
import time

import pytest
from tqdm.std import tqdm

from sparrot.engine import Progress, ProgressBar, as_progress, silent
from sparrot.engine._progress import begins_pass, describe
from sparrot.errors import InvalidInputError

AT_ONCE = 1e-9  # seconds before the first drawing


@pytest.fixture(autouse=True)
def _bars_of_ten_signs(monkeypatch):
    """What is no terminal has no width, unless a shell or readline left one in the environment."""
    monkeypatch.delenv("COLUMNS", raising=False)


def appears(stream, text):
    """Whether a text is drawn within a few seconds."""
    end = time.monotonic() + 10
    while text not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return text in stream.getvalue()


def on_screen(stream):
    """The last line as a terminal shows it: what was drawn over is gone."""
    line = ""
    for part in stream.getvalue().split("\n")[-1].split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def slowly(bar, *reports):
    """Give the bar each report when it is ready to draw again."""
    for report in reports:
        time.sleep(0.11)
        bar(report)


@pytest.mark.parametrize("nothing", [None, False])
def test_without_a_wish_there_is_silence(nothing, capsys):
    with as_progress(nothing) as report:
        assert report is silent
        report(Progress("newton", 100, 1))
    assert capsys.readouterr() == ("", "")


def test_a_function_of_the_caller_is_called_as_it_is():
    seen = []
    with as_progress(seen.append) as report, as_progress(report) as inner:
        inner(Progress("newton", 100, 1))
    assert seen == [Progress("newton", 100, 1)]


def test_true_is_a_bar_on_stderr_after_two_seconds(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with as_progress(True) as report:
        assert isinstance(report, ProgressBar)
        slowly(report, Progress("screening", 100, 1, 4))
        assert capsys.readouterr() == ("", "")
        time.sleep(2)
        report(Progress("screening", 100, 2, 4))
        said = capsys.readouterr()
        assert said.out == ""
        assert "screening pass 1, 2/4 tiles" in said.err


def test_a_file_gets_a_line_now_and_then_and_no_bar(capsys, monkeypatch):
    monkeypatch.setattr("sparrot.engine._progress._LINE_INTERVAL", 0.2)
    with ProgressBar(delay=0.2) as bar:
        for done in range(60):
            bar(Progress("newton", 100, done + 1))
            time.sleep(0.01)
    said = capsys.readouterr().err
    assert "\r" not in said
    lines = said.splitlines()
    assert 1 <= len(lines) <= 4
    assert all(line.startswith("sparrot: newton on 100 points, step ") for line in lines)


@pytest.mark.parametrize("wrong", ["yes", 1, 0.5, []])
def test_anything_else_is_refused_with_its_name_and_value(wrong):
    with pytest.raises(InvalidInputError, match="progress must be True, False, None or a") as error:
        as_progress(wrong)
    assert (error.value.parameter, error.value.value) == ("progress", wrong)
    assert error.value.remedy == "take progress=True for a bar"


def test_the_bar_shows_pass_tiles_pairs_and_error_and_goes_away():
    stream = io.StringIO()
    with ProgressBar(delay=AT_ONCE, file=stream) as bar:
        bar(Progress("screening", 50, 1, 2))
        bar(Progress("screening", 100, 1, 4, 0.5, 7))
        bar(Progress("newton", 100, 2, 0, 0.25, 7))
        slowly(bar, Progress("screening", 100, 2, 4, 0.25, 9))
        shown = on_screen(stream)
        assert shown.startswith(
            "screening pass 2, 2/4 tiles, 9 pairs, marginal error 2e-01 |#####     |"
        )
        slowly(bar, Progress("newton", 100, 3, 0, 1e-9, 9))
        assert on_screen(stream).startswith(
            "newton on 100 points, step 3, 9 pairs, marginal error 1e-09"
        )
        assert "|" not in on_screen(stream)  # the end of Newton's steps is not known
    assert on_screen(stream) == ""


def test_a_bar_that_goes_back_is_drawn_too():
    stream = io.StringIO()
    with ProgressBar(delay=AT_ONCE, file=stream) as bar:
        slowly(bar, Progress("screening", 100, 4, 4), Progress("screening", 100, 1, 4))
        assert "pass 2, 1/4 tiles |##5       |" in on_screen(stream)


def test_short_work_and_hidden_bars_draw_nothing():
    for options in ({"delay": 60.0}, {"delay": AT_ONCE, "disable": True}):
        stream = io.StringIO()
        with ProgressBar(file=stream, **options) as bar:
            bar.stage("affinity")
            slowly(bar, *[Progress("newton", 100, 2)] * 2)
        assert stream.getvalue() == ""


def test_a_failed_solve_leaves_no_bar_and_no_thread():
    stream, threads = io.StringIO(), threading.active_count()

    def solve():
        with ProgressBar(delay=AT_ONCE, file=stream) as bar:
            bar.stage("affinity")
            bar(Progress("screening", 100, 1, 4))
            assert appears(stream, "1/4 tiles")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve()
    assert on_screen(stream) == ""
    assert threading.active_count() <= threads + 1  # tqdm has a monitor of its own


def test_a_closed_bar_ignores_what_comes_later(capsys):
    stream = io.StringIO()
    bar = ProgressBar(delay=AT_ONCE, file=stream)
    slowly(bar, Progress("newton", 100, 2))
    bar.close()
    drawn = stream.getvalue()
    slowly(bar, Progress("newton", 100, 3))
    bar.stage("writing")
    bar.write("a line")
    bar.close()
    assert stream.getvalue() == drawn
    assert capsys.readouterr().err == "a line\n"


def test_the_seconds_of_a_stage_go_on_while_nothing_reports():
    stream = io.StringIO()
    with ProgressBar(delay=AT_ONCE, file=stream) as bar:
        bar.stage("reading a.npy")
        assert appears(stream, "reading a.npy, 00:00")
        assert appears(stream, "reading a.npy, 00:01")


def test_a_new_stage_forgets_the_reports_of_the_last():
    stream = io.StringIO()
    with ProgressBar(delay=AT_ONCE, file=stream) as bar:
        bar.stage("affinity")
        bar(Progress("screening", 100, 2, 4))
        bar.stage("eigenvectors")
        assert appears(stream, "eigenvectors, 00:0")
        bar(Progress("screening", 100, 3, 4))
        assert appears(stream, "pass 1, 3/4")


def test_a_bar_of_stages_is_not_drawn_by_the_thread_that_may_be_interrupted(monkeypatch):
    stream, drawing = io.StringIO(), set()
    display = tqdm.display

    def observed(self, *args, **options):
        drawing.add(threading.current_thread())
        return display(self, *args, **options)

    with ProgressBar(delay=AT_ONCE, file=stream) as bar:
        monkeypatch.setattr(tqdm, "display", observed)
        bar.stage("affinity")
        slowly(bar, *[Progress("screening", 100, k, 4) for k in range(1, 5)])
        assert appears(stream, "4/4 tiles")
        assert drawing
        assert threading.main_thread() not in drawing


def test_lines_are_written_above_the_bar(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar(delay=AT_ONCE) as bar:
        bar.stage("affinity")
        assert appears(stream, "affinity")
        bar.write("a warning")
        assert [line.rsplit("\r")[-1] for line in stream.getvalue().split("\n")][-2] == "a warning"
        assert on_screen(stream).startswith("affinity")
    assert on_screen(stream) == ""


def test_a_result_on_stdout_waits_for_the_bar_to_go(monkeypatch):
    terminal = Terminal()  # both streams end on the same screen
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    with ProgressBar(delay=AT_ONCE) as bar:
        bar.stage("affinity")
        assert appears(terminal, "affinity")
        bar.write("a result", sys.stdout)
        assert "\ra result\n" in terminal.getvalue()


def test_lines_before_the_bar_do_not_draw_it(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar(delay=60) as bar:
        bar.stage("affinity")
        bar.write("a warning")
    assert stream.getvalue() == "a warning\n"


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
    assert describe(Progress("extending", 1200, 0), 0) == "extending on 1,200 points"
    assert describe(Progress("growing", 1200, 1, 3), 0) == "growing on 1,200 points, step 1/3"


def test_tqdm_is_loaded_with_the_first_drawing_only():
    code = (
        "import sys; from sparrot.engine import Progress, ProgressBar, as_progress\n"
        "with as_progress(None) as report: report(Progress('newton', 9, 1))\n"
        "with ProgressBar(disable=True) as bar: bar(Progress('newton', 9, 1))\n"
        "print('tqdm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_bar_needs_no_lock_of_processes():
    code = (
        "import io; from sparrot.engine import Progress, ProgressBar\n"
        "with ProgressBar(file=io.StringIO()) as bar: bar(Progress('newton', 9, 1))\n"
        "from tqdm.std import TqdmDefaultWriteLock\n"
        "print(hasattr(TqdmDefaultWriteLock, 'mp_lock'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
