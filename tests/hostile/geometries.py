"""Random geometries and parameters, each answer held against the optimality conditions.

The conditions are necessary and sufficient, and are computed here from differences, by NumPy alone:
an answer that meets them is the optimum, whatever the solver did. An error of sparrot is a refusal,
and no wrong answer; a solver may give up only where float64 has too few digits for the tolerance.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

import sparrot
from problems import half_squared
from sparrot.errors import NotConvergedError, SparrotError

TOL = 1e-8
FEW, MANY = 90, 1200  # points at most


def cloud(rng: np.random.Generator, most: int = FEW) -> tuple[str, np.ndarray]:
    """Points of some shape, with a name for it."""
    n, p = int(rng.integers(2 if most == FEW else most // 3, most)), int(rng.integers(1, 8))
    X = rng.standard_normal((n, p))
    shapes = {
        "gaussian": lambda: X,
        "cauchy": lambda: rng.standard_cauchy((n, p)),
        "integers": lambda: rng.integers(-2, 3, (n, p)).astype(float),
        "duplicates": lambda: X[rng.integers(0, max(2, n // 3), n)],
        "half of them equal": lambda: np.where(np.arange(n)[:, None] < n // 2, X[0], X),
        "far clusters": lambda: X + 10.0 ** rng.integers(1, 7) * rng.integers(0, 3, (n, 1)),
        "an outlier": lambda: np.vstack([X[1:], np.full(p, 10.0 ** rng.integers(1, 7))]),
        "scales of four decades": lambda: X * 10 ** rng.uniform(-2, 2, (n, 1)),
        "a line": lambda: np.linspace(0, 1, n)[:, None] * X[:1],
        "a grid": lambda: np.stack(np.divmod(np.arange(n), 7), axis=1).astype(float),
        "a circle": lambda: np.stack([np.cos(np.arange(n)), np.sin(np.arange(n))], axis=1),
        "shifted": lambda: X + 10.0 ** rng.integers(2, 6),
        "tiny": lambda: X * 10.0 ** -rng.integers(10, 140),
        "huge": lambda: X * 10.0 ** rng.integers(10, 140),
        "a constant column": lambda: np.column_stack([X, np.full(n, 3.0)]),
        "single precision": lambda: X.astype(np.float32),
        "sparse": lambda: np.where(rng.random((n, p)) < 0.7, 0.0, X),
    }
    name = str(rng.choice(list(shapes)))
    return name, shapes[name]()


def scale(rng: np.random.Generator, n: int, kind: str) -> dict[str, Any]:
    """How many neighbors: an eps, a perplexity, a floor, or neighbors of every row."""
    ways = ["eps", "perplexity", "connected"]
    if kind == "qot":
        ways += ["min_neighbors", "n_neighbors", "a floor for each", "a floor and a perplexity"]
    way = str(rng.choice(ways))
    most = max(1.0, n - 1.0)
    floor = float(np.exp(rng.uniform(0, np.log(most))))
    eps = float(10 ** rng.uniform(-3, 2))
    return {
        "eps": {"eps": eps},
        "perplexity": {"perplexity": float(np.exp(rng.uniform(0.1, np.log(most) + 0.1)))},
        "connected": {"eps": "connected"},
        "min_neighbors": {"eps": eps, "min_neighbors": floor},
        "n_neighbors": {"n_neighbors": floor},
        "a floor for each": {"eps": eps, "min_neighbors": rng.uniform(1, floor, n)},
        "a floor and a perplexity": {"perplexity": min(1.5 * floor, most), "min_neighbors": floor},
    }[way]


def run(seed: int, most: int = FEW) -> str:
    """One case: "right", "refused" or "gave up"; anything else is an assertion that fails."""
    rng = np.random.default_rng([7, seed])
    shape, X = cloud(rng, most)
    kind = str(rng.choice(["qot", "qot", "qot", "eot", "tsallis", "project"]))
    hollow = bool(rng.random() < 0.8)
    arguments = {} if kind == "project" else scale(rng, len(X), kind)
    if kind == "eot" and arguments.get("eps") == "connected":
        arguments["drop"] = 1e-3
    if kind in ("qot", "project"):
        arguments["solver"] = str(rng.choice(["auto", "newton", "active-set"]))
    if kind == "tsallis":
        arguments["q"] = float(rng.choice([0.0, 0.3, 0.5, 0.9]))
    metric = str(rng.choice(["sqeuclidean", "sqeuclidean", "cosine", "precomputed", "cityblock"]))
    C, data = costs(X, metric)
    if kind == "project":
        data, C = C, -C
    else:
        arguments["metric"] = metric
    before = data.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sparrot.AffinityWarning)
        try:
            a = getattr(sparrot, kind)(data, hollow=hollow, n_jobs=1, **arguments)
        except NotConvergedError as error:
            a, lost = None, rounding_error(error.result, C)
            words = f"gave up on {shape}, where rounding makes {lost:.0e}: {error}"
        except SparrotError:
            return "refused"
    assert data.tobytes() == before, "the input was changed"
    if a is None:
        assert lost > TOL, words
        return "gave up"
    judge(a, C, hollow)
    if "perplexity" in arguments:
        reached = sparrot.perplexity(a.matrix).mean()
        assert abs(reached / arguments["perplexity"] - 1) <= 0.01, f"perplexity {reached}"
    if arguments.get("eps") == "connected":
        assert a.n_connected_components == 1, f"{a.n_connected_components} components"
    return "right"


def costs(X: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """All costs, by NumPy alone, and what is passed to sparrot."""
    Y = np.asarray(X, dtype=np.float64)
    if metric == "cosine":
        size = np.abs(Y).max(axis=1, keepdims=True)
        Y = Y / np.where(size > 0, size, 1)
        size = np.linalg.norm(Y, axis=1, keepdims=True)
        return half_squared(Y / np.where(size > 0, size, 1)), X
    if metric == "cityblock":
        return np.abs(Y[:, None] - Y).sum(axis=2), X
    C = half_squared(Y)
    return C, C.copy() if metric == "precomputed" else X


def rounding_error(a: Any, C: np.ndarray) -> float:
    """The error that roundings of `u_i + u_j - C_ij` can make in a row, of 8 neighbors at least.

    A potential is of the order of some cost; one that is larger has diverged, and is no excuse.
    Errors of entries add up, but for those of entropic plans, which are in proportion to them.
    """
    height = min(np.abs(a.potential).max(), np.abs(C[np.isfinite(C)]).max())
    k = 8 if a.q == 1 else max(8, (a.matrix > 0).sum(axis=1).max())
    return float(2.0**-51 * k * height / a.eps)


def judge(a: Any, C: np.ndarray, hollow: bool) -> None:
    """The optimality conditions, by brute force over all entries."""
    W = a.matrix.toarray() if issparse(a.matrix) else a.matrix
    n, u, eps, e = len(C), a.potential, a.eps, a.row_eps
    assert np.isfinite(u).all()
    assert 0 < eps < np.inf
    assert W.shape == (n, n)
    assert W.min() >= 0, "a negative entry"
    assert np.array_equal(W, W.T), "not symmetric"
    assert not hollow or not W.diagonal().any(), "not hollow"
    lost = a.drop or 0.0
    assert np.abs(W.sum(axis=1) - 1).max() <= TOL + lost, "row sums"
    score = u[:, None] + u + 2 * a.shift - C
    allowed = np.ones((n, n), bool) if not hollow else ~np.eye(n, dtype=bool)
    # A cost may have lost four of its digits by cancellation, and a cosine is that of directions
    # which are rounded; a score errs by roundings of what it is the sum of. Entropic costs may be
    # those of products, as long as their entries err by no more than a hundredth of the tolerance.
    rounding = 2.0**-38 * (np.abs(u)[:, None] + np.abs(u) + np.abs(C) + np.abs(a.shift))
    if a.metric == "cosine":
        rounding += 2.0**-48 * np.sqrt(C)
    if e is not None:
        assert e.min() >= 0, "a negative multiplier"
        strength = eps + (e[:, None] + e) / 2
        assert (np.abs(strength * W - np.maximum(score, 0)) <= rounding)[allowed].all(), "the plan"
        excess = a.min_neighbors * np.square(W).sum(axis=1) - 1
        assert excess.max() <= TOL, "below its floor"
        assert np.minimum(e / (eps + e), -excess).max() <= TOL, "complementarity"
        return
    if a.q == 1:
        rounding += TOL / 100 * eps
        with np.errstate(over="ignore"):
            low, high = np.exp((score - rounding) / eps), np.exp((score + rounding) / eps)
    else:
        low, high = (
            np.maximum((1 - a.q) * (score + side) / eps, 0) ** (1 / (1 - a.q))
            for side in (-rounding, rounding)
        )
    least = np.where(low >= lost / n, low, 0.0) * (1 - 1e-12) - 1e-300
    assert ((least <= W) & (high * (1 + 1e-12) + 1e-300 >= W))[allowed].all(), "the plan"
