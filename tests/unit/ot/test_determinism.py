"""The same affinity to the last bit for any number of threads, and the same set for any tile."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer

import sparrot
from problems import points
from sparrot.cost import PointCost
from sparrot.ot import _ctransform as ctransform, _screening as screening

KINDS = {
    "as given": (points("gaussian", 2500), {}),
    "in spatial order": (points("swiss-roll", 2500), {"perplexity": 15}),
    "by few coordinates": (
        points("gaussian", 2500)[:, :8] @ np.random.default_rng(0).standard_normal((8, 90)),
        {"perplexity": 15},
    ),
    "in a pool": (
        points("swiss-roll", 2500),
        {
            "perplexity": 15,
            "search": "approximate",
            "neighbors": KNeighborsTransformer(n_neighbors=20),
        },
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_does_not_matter(kind):
    X, arguments = KINDS[kind]
    one, two, three = (sparrot.qot(X, n_jobs=n, **arguments) for n in (1, 2, 3))
    for other in (two, three):
        assert one.potential.tobytes() == other.potential.tobytes()
        assert one.matrix.data.tobytes() == other.matrix.data.tobytes()
        assert np.array_equal(one.matrix.indices, other.matrix.indices)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "width"), [(96, 200), (1024, 4096)])
def test_the_size_of_tiles_does_not_matter(monkeypatch, kind, rows, width):
    X, arguments = KINDS[kind]
    expected = sparrot.qot(X, **arguments)
    for module in (screening, ctransform):
        monkeypatch.setattr(module, "TILE_ROWS", rows)
    monkeypatch.setattr(PointCost, "tile_columns", width)
    found = sparrot.qot(X, **arguments)
    assert abs(found.matrix - expected.matrix).max() < 1e-7
    assert found.relative_eps == pytest.approx(expected.relative_eps, rel=1e-9)
