import matplotlib.pyplot as plt
import numpy as np
import pytest

import sparrot

X = np.random.default_rng(0).standard_normal((150, 5))


def test_the_spectrum_marks_the_widest_gap_or_the_one_that_is_named():
    values = [0.2, 1.0, 0.9, 0.1]
    ax = sparrot.plot.spectrum(values)
    assert ax.texts[0].get_text() == "gap 0.7 after 2"
    assert list(ax.lines[0].get_ydata()) == sorted(values, reverse=True)
    assert sparrot.plot.spectrum(values, gap=3).texts[0].get_text() == "gap 0.1 after 3"


def test_the_histogram_counts_every_point():
    values = sparrot.perplexity(sparrot.qot(X))
    ax = sparrot.plot.perplexity(values, bins=7)
    assert sum(bar.get_height() for bar in ax.patches) == len(X)
    assert len(ax.patches) == 7
    of_affinity = sparrot.plot.perplexity(sparrot.qot(X), bins=7)
    assert [b.get_height() for b in of_affinity.patches] == [b.get_height() for b in ax.patches]


def test_convergence_shows_the_history_and_where_it_ended():
    a = sparrot.qot(X)
    line = sparrot.plot.convergence(a).lines[0]
    assert list(line.get_ydata()) == [*a.history, a.certificate.marginal_error]
    named = sparrot.plot.convergence({"a": a, "b": [1.0, 0.1]})
    assert [text.get_text() for text in named.get_legend().get_texts()] == ["a", "b"]


def test_the_path_panel_shows_what_the_summary_says():
    s = sparrot.summarize(X, each_side=2)
    neighbors, spectrum, components = sparrot.plot.eps_path(s)
    eps = [step.relative_eps for step in s.steps]
    assert list(neighbors.lines[0].get_xdata()) == eps
    assert list(neighbors.lines[0].get_ydata()) == [step.quantiles[2] for step in s.steps]
    assert len(spectrum.lines) == len(s.steps[0].eigenvalues) + 1
    assert list(components.lines[0].get_ydata()) == [
        step.n_connected_components for step in s.steps
    ]
    assert all(tick == round(tick) for tick in components.get_yticks())
    neighbors.figure.draw_without_rendering()
    labels = {label.get_text() for label in neighbors.get_yticklabels(which="both")}
    assert {"10", "20", "50"} <= labels
    assert all(float(label) > 0 for label in labels if label)  # no powers of ten


@pytest.mark.parametrize(
    ("draw", "parameter", "complaint"),
    [
        (lambda p: p.spectrum([1.0]), "values", "must be at least 2"),
        (lambda p: p.spectrum(["x", "y"]), "values", "must be finite numbers"),
        (lambda p: p.convergence(sparrot.knn(X, 5)), "results", "nothing was solved for a knn"),
        (lambda p: p.eps_path(None, axes=plt.gca()), "axes", "must be 3 Axes, got 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, parameter, complaint):
    with pytest.raises(sparrot.InvalidInputError, match=f"^{parameter} .*{complaint}") as caught:
        draw(sparrot.plot)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("gap", [0, 3, 1.5, "a"])
def test_a_gap_that_is_not_there_is_refused(gap):
    with pytest.raises(sparrot.InvalidInputError, match="gap must be an integer from 1 to 2, got"):
        sparrot.plot.spectrum([1.0, 0.5, 0.2], gap=gap)


def test_a_spectrum_is_drawn_by_its_values():
    pairs = sparrot.eigenpairs(sparrot.qot(np.random.default_rng(0).random((40, 2))), 5)
    ax = sparrot.plot.spectrum(pairs)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), pairs.values)
