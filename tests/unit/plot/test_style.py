import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from sparrot.plot._style import CIVIDIS, DIVERGING, MISSING, PALETTE, SEQUENTIAL, colors

# Linear RGB as a protanope and a deuteranope see it (Viénot, Brettel and Mollon 1999).
PROTAN = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
DEUTAN = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def seen(color, matrix):
    srgb = np.array(to_rgb(color))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return np.clip(matrix @ linear, 0, 1)


@pytest.mark.parametrize("matrix", [np.eye(3), PROTAN, DEUTAN], ids=["normal", "protan", "deutan"])
def test_no_two_colors_of_the_palette_look_alike_to_anyone(matrix):
    vision = [seen(color, matrix) for color in PALETTE]
    apart = [np.linalg.norm(a - b) for k, a in enumerate(vision) for b in vision[:k]]
    red_and_green = np.linalg.norm(seen("#808000", DEUTAN) - seen("#a07000", DEUTAN))
    assert min(apart) > 2 * red_and_green


def test_the_stops_of_the_page_are_those_of_matplotlib():
    cividis = matplotlib.colormaps[SEQUENTIAL]
    assert [to_hex(cividis(k / 8)) for k in range(9)] == list(CIVIDIS)
    assert DIVERGING in matplotlib.colormaps


def test_no_two_categories_have_the_same_color():
    assert colors(8) == PALETTE
    assert len(set(colors(24))) == 24
    assert colors(300)[:24] == colors(24)
    assert len({*colors(300), MISSING, "#ffffff"}) == 302
    assert colors(300)[:40] == colors(40)  # others do not depend on how many there are


@pytest.mark.parametrize("matrix", [np.eye(3), PROTAN, DEUTAN], ids=["normal", "protan", "deutan"])
def test_40_colors_are_as_far_apart_as_24_to_anyone(matrix):
    def least_difference(shades):
        vision = [_in_lab(seen(color, matrix)) for color in shades]
        return min(np.linalg.norm(a - b) for k, a in enumerate(vision) for b in vision[:k])

    assert least_difference(colors(40)) >= least_difference(colors(24))
    assert least_difference(colors(200)) > 2.3  # what is just noticed in CIELAB


def _in_lab(linear):
    """CIELAB, which is another space than the one in which colors are chosen."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = xyz @ linear / [0.9505, 1, 1.089]
    f = [np.cbrt(t) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_matplotlib_is_loaded_only_to_draw():
    code = "import sys, sparrot.plot, sparrot.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
