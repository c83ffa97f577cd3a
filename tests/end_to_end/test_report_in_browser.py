"""The report in a real browser: system Chromium, driven by Playwright."""

import io
import itertools
import shutil

import matplotlib.image
import numpy as np
import pytest

import sparrot
from sparrot.ot import Certificate
from sparrot.plot._style import MISSING, PALETTE
from sparrot.summary import Step, Summary

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
if CHROMIUM is None:
    pytest.skip("no Chromium on this machine: apt-get install chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="pip install 'sparrot[test]'")

SCRIPT = "</script><script>window.broken = true</script>"
IMAGE = '<img src="x" onerror="window.broken = true">'
N = 300


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Three groups, the first and last apart; names and labels that would like to run."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], N // 3)
    X = rng.standard_normal((N, 5)) + 3.0 * group[:, None]
    path = tmp_path_factory.mktemp("report") / "report.html"
    sparrot.report.write_report(
        path,
        sparrot.summarize(X),
        names=[f"{IMAGE} {i}" for i in range(N)],
        columns={
            "group": np.array([IMAGE, SCRIPT, "plain"])[group],
            SCRIPT: X[:, 0],
            "holes": ["a", None, "b"] * (N // 3),
        },
        layouts={"plane": X[:, :2]},
        title=SCRIPT,
    )
    return path


@pytest.fixture
def page(browser, request, report):
    """The report, opened; the parameter is what follows the address."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    errors = []
    page.on("pageerror", lambda error: errors.append(error))  # a builtin is refused
    page.goto(report.as_uri() + getattr(request, "param", ""))
    page.wait_for_selector("body[data-ready]")
    yield page
    assert errors == []
    page.close()


def place(page, i):
    """Where point i is on the page."""
    box = page.locator("#stage canvas").bounding_box()
    x, y = page.evaluate("i => sparrot.stage.placeOf(i)", i)
    return box["x"] + x, box["y"] + y


def settle(page):
    """Wait until the points have arrived; the page's policy forbids to wait in its own script."""
    while page.evaluate("sparrot.stage.blend") < 1:
        page.wait_for_timeout(20)


def picture(page):
    return matplotlib.image.imread(io.BytesIO(page.screenshot()))[..., :3]


def color_at(page, i):
    x, y = place(page, i)
    return picture(page)[int(y), int(x)]


def rgb(color):
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255


def test_the_page_reaches_for_nothing_and_nothing_in_the_data_runs(page, report):
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert requests == [report.as_uri()]
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == SCRIPT
    legend = page.locator("#legend button span").all_inner_texts()
    assert legend == [SCRIPT, IMAGE, "plain"]
    assert page.evaluate("document.getElementById('color').options[4].text") == SCRIPT


@pytest.mark.parametrize("page", ["", "#webgl"], indirect=True)
def test_every_point_is_drawn_in_the_color_of_its_label(page):
    asked = page.url.partition("#")[2]
    assert page.locator("#stage").get_attribute("data-renderer") == (asked or "canvas")
    page.select_option("#layout", label="plane")
    settle(page)
    drawn, box = picture(page), page.locator("#stage canvas").bounding_box()
    right = 0
    places = page.evaluate("all => all.map((i) => sparrot.stage.placeOf(i))", list(range(N)))
    for i, (x, y) in enumerate(places):
        color = rgb(PALETTE[(1, 0, 2)[i // (N // 3)]])  # the names are in order
        found = drawn[int(box["y"] + y), int(box["x"] + x)]
        right += np.abs(found - color).max() < 0.05
    assert right > 0.8 * N  # the others are under their neighbors


@pytest.mark.parametrize("page", ["", "#webgl"], indirect=True)
def test_the_slider_moves_embedding_spectrum_and_neighbors_together(page):
    steps = page.evaluate("JSON.parse(document.getElementById('data').textContent).steps.length")
    seen = []
    for k in range(steps):
        page.locator("#eps").fill(str(k))
        settle(page)
        seen.append(
            (
                tuple(np.round(page.evaluate("[...sparrot.stage.after.slice(0, 6)]"), 4)),
                page.locator("#spectrum").inner_html(),
                page.locator("#statistics").inner_text(),
                page.locator("#histogram").inner_html(),
                page.locator("#path").inner_html(),
                page.locator("#eps-value").inner_text(),
                page.locator("#code").inner_text(),
            )
        )
    for part in zip(*seen, strict=True):
        assert len(set(part)) == steps
    assert "(chosen)" in seen[steps // 2][-2]


def test_other_eigenvectors_are_a_layout_that_moves_too(page):
    first = page.evaluate("[...sparrot.stage.after.slice(0, 6)]")
    page.select_option("#layout", label="eigenvectors 4 and 5")
    settle(page)
    second = page.evaluate("[...sparrot.stage.after.slice(0, 6)]")
    page.locator("#eps").fill("6")
    settle(page)
    third = page.evaluate("[...sparrot.stage.after.slice(0, 6)]")
    assert not np.allclose(first, second, rtol=0.01)
    assert not np.allclose(second, third, rtol=0.01)
    page.select_option("#layout", label="plane")
    settle(page)
    still = page.evaluate("[...sparrot.stage.after]")
    page.locator("#eps").fill("0")
    settle(page)
    assert page.evaluate("[...sparrot.stage.after]") == still


def test_warnings_and_certificate_are_those_of_the_step(page):
    page.locator("#eps").fill("0")
    assert "components" in page.locator("#warnings").inner_text()
    assert "larger perplexity" in page.locator("#warnings").inner_text()
    page.locator("#eps").fill("6")
    assert page.locator("#warnings").inner_text() == "None at this eps."
    assert page.locator("#verdict").inner_text().startswith("Optimal")
    assert f"{N * (N - 1) // 2:,}" in page.locator("#certificate").inner_text()


@pytest.mark.parametrize("i", [7, 155, 290])
def test_the_point_under_the_cursor_is_named(page, i):
    page.select_option("#layout", label="plane")
    settle(page)
    page.mouse.move(*place(page, i))
    tip = page.locator("#tip")
    sync_api.expect(tip.locator("strong")).to_have_text(f"{IMAGE} {i}")
    assert f"group: {[IMAGE, SCRIPT, 'plain'][i // (N // 3)]}" in tip.inner_text()
    assert "perplexity: " in tip.inner_text()
    page.mouse.move(5, 5)
    sync_api.expect(tip).to_be_hidden()


def test_colors_follow_the_choice_and_numbers_have_a_bar(page):
    before = picture(page)
    for name in ("potential", "perplexity", "neighbors", SCRIPT):
        page.select_option("#color", label=name)
        after = picture(page)
        assert np.abs(after - before).max() > 0.2
        assert page.locator("#legend .bar div").bounding_box()["width"] > 100
        before = after


def test_points_without_a_label_are_gray_and_in_the_legend(page):
    page.select_option("#color", label="holes")
    assert page.locator("#legend .missing").inner_text().split() == ["missing", f"{N // 3}"]
    painted = np.array(page.evaluate("[...sparrot.stage.rgba.slice(0, 12)]")).reshape(3, 4)
    assert np.allclose(painted[1, :3] / 255, rgb(MISSING))


def test_a_count_beside_a_long_label_stays_on_one_line(page):
    heights = [box.bounding_box()["height"] for box in page.locator("#legend small").all()]
    assert len(heights) == 3
    assert max(heights) == min(heights)  # that beside the short label has room


def test_a_label_of_the_legend_shows_only_its_points(page):
    page.select_option("#layout", label="plane")
    settle(page)
    page.mouse.move(5, 5)
    button = page.locator("#legend button", has_text="plain")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    others = [color_at(page, i) for i in (3, 120)]
    assert np.min(others) > 0.85
    page.mouse.move(*place(page, 3))
    name = page.locator("#tip strong")
    assert not page.locator("#tip").is_visible() or int(name.inner_text().split()[-1]) >= 200
    button.click()
    assert np.min(color_at(page, 3)) < 0.85


def test_a_drag_pans_the_wheel_zooms_about_the_cursor_and_fit_returns(page):
    start = place(page, 0)
    far = place(page, 299)
    zoom = page.evaluate("sparrot.stage.view.zoom")
    page.mouse.move(400, 400)
    page.mouse.down()
    page.mouse.move(460, 370, steps=3)
    page.mouse.up()
    assert np.allclose(np.subtract(place(page, 0), start), [60, -30], atol=0.51)
    cursor, there = np.array([460, 370]), place(page, 299)
    page.mouse.wheel(0, -200)
    while page.evaluate("sparrot.stage.view.zoom") == zoom:
        page.wait_for_timeout(20)
    grown = cursor + np.exp(0.5) * (np.array(there) - cursor)
    assert np.allclose(place(page, 299), grown, atol=1.0)
    page.locator("#fit").click()
    assert np.allclose([place(page, 0), place(page, 299)], [start, far], atol=0.51)


def test_the_keyboard_is_enough(page):
    start = place(page, 0)
    page.locator("#stage").focus()
    page.keyboard.press("ArrowLeft")
    assert np.allclose(np.subtract(place(page, 0), start), [40, 0], atol=0.51)
    page.keyboard.press("0")
    assert np.allclose(place(page, 0), start, atol=0.51)
    page.locator("#eps").focus()
    page.keyboard.press("ArrowRight")
    assert "(chosen)" not in page.locator("#eps-value").inner_text()


@pytest.mark.parametrize("width", [320, 390, 768])
@pytest.mark.parametrize("color", ["group", "potential"])
def test_nothing_is_wider_than_a_narrow_screen(page, width, color):
    page.set_viewport_size({"width": width, "height": 800})
    page.select_option("#color", label=color)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for part in ("#eps", "#eps-value", "#stage", "#legend", "#spectrum"):
        box = page.locator(part).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert page.locator("#eps").bounding_box()["width"] > width / 2


def test_a_lost_graphics_context_is_replaced_by_the_canvas(browser, report):
    page = browser.new_page()
    page.goto(report.as_uri() + "#webgl")
    page.wait_for_selector("body[data-ready]")
    page.evaluate("sparrot.stage.points.gl.getExtension('WEBGL_lose_context').loseContext()")
    page.wait_for_selector("#stage[data-renderer=canvas]")
    assert np.ptp(picture(page)[200:500, 200:800]) > 0.3
    page.close()


def hundred_thousand():
    """A summary of the size of a large data set, without the hours; every field of its own."""
    n = 100_000
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((n, 2))
    steps = tuple(
        Step(
            relative_eps=2.0**k,
            neighbor_counts=np.full(n, 20 + k),
            perplexity=15 + rng.random(n),
            effective_neighbors=14 + rng.random(n),
            potential=rng.random(n),
            quantiles=np.full(5, 20.0 + k),
            n_connected_components=1,
            eigenvalues=np.linspace(1, 0.5, 10),
            embedding=(1 + 0.1 * k) * Y,
            certificate=Certificate(1e-9, 0.0, n * (n - 1) // 2, True),
            history=(1.0,),
            warnings=(),
        )
        for k in (-1, 0, 1)
    )
    return Summary((n, 30), "sqeuclidean", 1e-8, 2.0, 1.0, steps, 1)


@pytest.fixture(scope="module")
def large(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.html"
    names = [f"cell {i}" for i in range(100_000)]
    columns = {"half": ["a", "b"] * 50_000}
    sparrot.report.write_report(path, hundred_thousand(), names=names, columns=columns)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    yield page
    page.close()


def test_a_hundred_thousand_points_can_be_moved_and_found(large):
    large.locator("#eps").fill("2")
    settle(large)
    far = int(np.abs(hundred_thousand().steps[2].embedding[:, 0]).argmax())
    large.mouse.move(*place(large, far))
    sync_api.expect(large.locator("#tip strong")).to_have_text(f"cell {far}")
    large.locator("#legend button").first.click()
    large.select_option("#color", label="perplexity")
    assert large.locator("#legend .bar").count() == 1


SLIDES = """
async () => {
  const { stage } = sparrot, slider = document.getElementById("eps");
  const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
  const timed = (work) => { const t = performance.now(); work(); return performance.now() - t; };
  const draws = [], inputs = [], plain = stage.points.draw;
  stage.points.draw = function (...all) { draws.push(timed(() => plain.apply(this, all))); };
  for (const k of [0, 1, 2, 1, 0, 1, 2]) {
    slider.value = k;
    inputs.push(timed(() => slider.dispatchEvent(new Event("input"))));
    while (stage.blend < 1) await new Promise((done) => setTimeout(done, 20));
  }
  return { draw: median(draws), input: median(inputs), frames: draws.length / 7 };
}
"""


@pytest.mark.parametrize("color", ["half", "potential"])
def test_a_hundred_thousand_points_follow_the_slider(large, color):
    """Bounds are some ten times what a quiet machine without a graphics card takes."""
    large.select_option("#color", label=color)
    took = large.evaluate(SLIDES)
    assert took["draw"] < 50  # milliseconds
    assert took["input"] < 300
    assert took["frames"] >= 2  # in the third of a second that points travel for


def test_ticks_are_round_numbers(page):
    for chart in ("spectrum", "histogram"):
        texts = page.locator(f"#{chart} svg text").all_text_contents()
        numbers = [float(text.replace(",", "")) for text in texts if text[0].isdigit()]
        assert len(numbers) >= 4, (chart, texts)
        cut = next(k for k in range(1, len(numbers)) if numbers[k] <= numbers[k - 1])
        for axis in (numbers[:cut], numbers[cut:]):
            steps = {float(f"{b - a:.3g}") for a, b in itertools.pairwise(axis)}
            assert len(steps) == 1, (chart, axis)
            assert f"{steps.pop():e}"[0] in "125"
    path = page.locator("#path svg text").all_text_contents()
    assert all(
        f"{float(text.replace(',', '')):e}"[0] in "125" for text in path if text[0].isdigit()
    )
