import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba

import sparrot
from sparrot.plot._style import MISSING, PALETTE

Y = np.random.default_rng(0).standard_normal((60, 2))


def test_each_point_has_the_color_of_its_label():
    labels = np.array(["b", "a", "c"] * 20)
    ax = sparrot.plot.embedding(Y, labels, name="kind")
    expected = [to_rgba(PALETTE["abc".index(label)]) for label in labels]
    assert np.allclose(ax.collections[0].get_facecolors(), expected)
    assert ax.get_legend().get_title().get_text() == "kind"


def test_the_legend_keeps_the_order_of_categories_and_names_what_is_missing():
    labels = pd.Series(pd.Categorical(["late", "early", None] * 20, ["early", "mid", "late"]))
    ax = sparrot.plot.embedding(Y, labels)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["early", "late", "missing"]
    expected = [to_rgba(color) for color in (PALETTE[1], PALETTE[0], MISSING)] * 20
    assert np.allclose(ax.collections[0].get_facecolors(), expected)


def test_points_without_coordinates_are_not_drawn_and_labels_keep_their_colors():
    labels, part = np.array(["a", "b", "c"] * 20), Y.copy()
    part[::3] = np.nan
    ax = sparrot.plot.embedding(part, labels)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    drawn = ax.collections[0]
    is_drawn = ~np.ma.getmaskarray(drawn.get_offsets()).any(axis=1)
    expected = np.array([to_rgba(PALETTE[1]), to_rgba(PALETTE[2])] * 20)
    assert is_drawn.sum() == 40
    assert np.allclose(drawn.get_facecolors()[is_drawn], expected)
    assert sparrot.plot.embedding(part, values=np.arange(60)).collections[0].get_clim() == (0, 59)
    with pytest.raises(sparrot.InvalidInputError, match="must have rows"):
        sparrot.plot.embedding(np.full((3, 2), np.nan))


def test_a_label_that_is_empty_text_is_missing():
    ax = sparrot.plot.embedding(Y, np.array(["b", "", "a"] * 20))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "missing"]
    expected = [to_rgba(color) for color in (PALETTE[1], MISSING, PALETTE[0])] * 20
    assert np.allclose(ax.collections[0].get_facecolors(), expected)


@pytest.mark.parametrize("draw", ["embedding", "potential"])
def test_points_without_a_number_are_gray_and_do_not_change_the_colors_of_others(draw):
    values = np.r_[np.nan, np.inf, -np.inf, np.linspace(0, 1, 57)]
    if draw == "embedding":
        ax = sparrot.plot.embedding(Y, values=values)
        assert ax.collections[0].get_clim() == (0, 1)
    else:
        ax = sparrot.plot.potential(Y, values)
    ax.figure.draw_without_rendering()
    drawn = ax.collections[0].get_facecolors()
    assert len(drawn) == len(Y)
    assert np.allclose(drawn[:3], to_rgba(MISSING), atol=0.01)
    assert np.abs(drawn[3:] - to_rgba(MISSING)).max(axis=1).min() > 0.02


def test_a_column_without_any_number_is_all_gray():
    for ax in (
        sparrot.plot.embedding(Y, values=np.full(60, np.nan)),
        sparrot.plot.potential(Y, np.full(60, np.nan)),
    ):
        ax.figure.draw_without_rendering()
        assert np.allclose(ax.collections[0].get_facecolors(), to_rgba(MISSING), atol=0.01)


@pytest.mark.parametrize("height", [0.3, 0.84, 0.88, 1.2])  # of a layout of width one
def test_names_beside_a_layout_of_any_shape_are_inside_the_figure(height):
    labels = np.array(["thrush", "robin"] * 30)
    figure = sparrot.plot.embedding(Y / np.ptp(Y, axis=0) * [1, height], labels).figure
    figure.canvas.draw()
    inside = figure.get_tightbbox(figure.canvas.get_renderer())
    width, top = figure.get_size_inches()
    assert min(inside.x0, inside.y0, width - inside.x1, top - inside.y1) > 0


def test_numbers_get_a_color_bar():
    ax = sparrot.plot.embedding(Y, values=Y[:, 0], name="x")
    assert np.allclose(ax.collections[0].get_array(), Y[:, 0])
    assert ax.figure.axes[1].get_ylabel() == "x"


def test_the_axes_that_are_given_are_drawn_on_and_returned():
    _, ax = plt.subplots()
    assert sparrot.plot.embedding(Y, ax=ax) is ax
    assert sparrot.plot.potential(Y, Y[:, 0], ax=ax) is ax
    assert len(ax.collections) == 2


@pytest.mark.parametrize(("n", "rasterized"), [(100, False), (20_000, True)])
def test_many_points_are_rasterized(n, rasterized):
    many = np.random.default_rng(0).standard_normal((n, 2))
    assert sparrot.plot.embedding(many).collections[0].get_rasterized() is rasterized


def test_labels_are_text_and_never_mathematics():
    ax = sparrot.plot.embedding(Y, ["$\\frac{1}{$", "b$"] * 30)
    ax.figure.draw_without_rendering()  # raises if it is parsed as mathematics
    assert len(ax.get_legend().get_texts()) == 2


def test_outliers_do_not_hide_the_potential_of_the_others():
    u = np.r_[np.linspace(0, 1, 199), 1e6]
    ax = sparrot.plot.potential(np.random.default_rng(0).standard_normal((200, 2)), u)
    assert ax.collections[0].norm.vmax <= 1
    assert sparrot.plot.potential(Y, u[:60], vmax=7).collections[0].norm.vmax == 7


def test_eigenvectors_have_colors_symmetric_about_zero():
    axes = sparrot.plot.eigenvectors(Y, np.c_[Y, Y[:, 0] ** 2], first=4)
    for j, ax in enumerate(axes):
        norm = ax.collections[0].norm
        assert norm.vmin == -norm.vmax < 0
        assert ax.get_title() == f"eigenvector {4 + j}"


def test_a_spectrum_is_drawn_without_its_trivial_vector():
    pairs = sparrot.eigenpairs(sparrot.qot(Y), 4)
    axes = sparrot.plot.eigenvectors(Y, pairs)
    assert [ax.get_title() for ax in axes] == [f"eigenvector {k}" for k in (2, 3, 4)]
    assert np.array_equal(axes[0].collections[0].get_array(), pairs.vectors[:, 1])
    assert len(sparrot.plot.eigenvectors(Y, pairs, first=1)) == 4


@pytest.mark.parametrize(
    ("draw", "parameter", "complaint"),
    [
        (lambda p: p.embedding(Y, Y[:, 0], values=Y[:, 0]), "values", "not both"),
        (lambda p: p.embedding(Y[:, :1]), "Y", "two columns"),
        (lambda p: p.embedding(Y, ["a"] * 3), "labels", "each of 60 points, got shape"),
        (lambda p: p.embedding(Y, values=["a"] * 60), "values", "pass categories as labels"),
        (lambda p: p.potential(Y, sparrot.knn(Y, 5)), "u", "a knn affinity, which has no pot"),
        (lambda p: p.eigenvectors(Y, Y[:10]), "V", "a row for each of 60"),
        (lambda p: p.eigenvectors(Y, Y, axes=[plt.gca()]), "V", "each of 1 Axes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, parameter, complaint):
    with pytest.raises(sparrot.InvalidInputError, match=f"^{parameter} .*{complaint}") as caught:
        draw(sparrot.plot)
    assert caught.value.parameter == parameter


def test_a_spectrum_has_no_vector_beyond_its_last():
    with pytest.raises(sparrot.InvalidInputError, match="first must be an integer from 1 to 3"):
        sparrot.plot.eigenvectors(Y, sparrot.eigenpairs(sparrot.qot(Y), 3), first=4)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(sparrot.MissingExtraError, match=r"sparrot\[plot\]"):
        sparrot.plot.embedding(Y)


def test_a_fitted_estimator_stands_for_its_embedding():
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = sparrot.Eigenmaps(3)
    with pytest.raises(sparrot.InvalidInputError, match="fit it first"):
        sparrot.plot.embedding(model)
    ax = sparrot.plot.embedding(model.fit(X))
    np.testing.assert_allclose(ax.collections[0].get_offsets(), model.embedding_[:, :2])
    with pytest.raises(sparrot.InvalidInputError, match="a layout is needed"):
        sparrot.plot.embedding(sparrot.qot(X))


def test_many_labels_have_a_color_each():
    labels = [f"type {k}" for k in np.repeat(np.arange(40), 3)]
    ax = sparrot.plot.embedding(np.random.default_rng(0).standard_normal((120, 2)), labels)
    assert len({handle.get_color() for handle in ax.get_legend().legend_handles}) == 40
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 40
