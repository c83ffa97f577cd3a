"""Problems with known answers, data that has hurt before, and a judge that shares no code."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.decomposition import PCA

from sparrot.datasets import make_spiral


def data_folder() -> Path | None:
    """Where the real data is: `SPARROT_DATA`, or ../shared/data if it exists."""
    named = os.environ.get("SPARROT_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


def digits(n: int) -> np.ndarray:
    """Images of digits: MNIST where the data folder has it, else scikit-learn's."""
    folder = data_folder()
    if folder is not None and (folder / "mnist.npz").exists():
        return np.load(folder / "mnist.npz", allow_pickle=False)["X"][:n].astype(np.float32)
    return load_digits().data[:n]


def points(name: str, n: int = 400) -> np.ndarray:
    """Point clouds by name."""
    rng = np.random.default_rng(7)
    if name == "gaussian":
        return rng.standard_normal((n, 30))
    if name == "spiral":
        return make_spiral(n, 50).X
    if name == "swiss-roll":
        return make_swiss_roll(n, random_state=0)[0]
    if name == "digits":
        return digits(n)
    if name == "cauchy":
        return rng.standard_cauchy((n, 5))
    if name == "duplicates":
        return np.repeat(rng.standard_normal((n // 5, 4)), 5, axis=0)
    if name == "two-clusters":
        return np.vstack([rng.standard_normal((n, 5)), 1e3 + rng.standard_normal((3, 5))])
    if name == "far-point":
        return np.vstack([rng.standard_normal((n - 1, 5)), np.full((1, 5), 1e3)])
    if name == "line":
        return np.linspace(0, 1, n)[:, None]
    if name == "shifted":
        return rng.standard_normal((n, 10)) + 1e4
    if name == "collinear":
        return np.outer(rng.standard_normal(n), [1.0, -2.0, 3.0])
    raise KeyError(name)


CLOUDS = (
    "gaussian",
    "spiral",
    "swiss-roll",
    "digits",
    "cauchy",
    "duplicates",
    "two-clusters",
    "far-point",
    "line",
    "shifted",
    "collinear",
)


def half_squared(X: np.ndarray) -> np.ndarray:
    """All costs, from differences."""
    X = np.asarray(X, dtype=np.float64)
    return cdist(X, X, "sqeuclidean") / 2


def assert_optimal(W, u, eps, C, *, hollow=True, tol=1e-8):
    """The optimality conditions, by brute force over all entries.

    A potential is a sum of costs of size max|C|, so a score may err by a few roundings of that
    size; entries of W err by that over eps.
    """
    n = len(C)
    A = W.toarray()
    rounding = 64 * np.finfo(np.float64).eps * (np.abs(C).max() + np.abs(u).max())
    score = u[:, None] + u - C
    if hollow:
        np.fill_diagonal(score, -np.inf)
    assert A.shape == (n, n)
    assert A.min() >= 0
    assert np.array_equal(A, A.T)
    assert not hollow or not A.diagonal().any()
    assert np.abs(A.sum(axis=1) - 1).max() <= tol
    assert np.abs(eps * A - np.maximum(score, 0)).max() <= rounding


def assert_floor_optimal(a, C, k, *, hollow=True, tol=1e-8):
    """The optimality conditions with a floor k on each row, by brute force over all entries.

    Sufficient for the one optimum: the plan of (u, e), feasible, and `e_i (1 - k_i |W_i|^2) = 0`.
    """
    A, u, e, eps = a.matrix.toarray(), a.potential, a.row_eps, a.eps
    k = np.broadcast_to(k, len(C))
    rounding = 64 * np.finfo(np.float64).eps * (np.abs(C).max() + np.abs(u).max())
    score = u[:, None] + u - C
    if hollow:
        np.fill_diagonal(score, -np.inf)
    excess = k * np.square(A).sum(axis=1) - 1
    assert e.min() >= 0
    assert A.min() >= 0
    assert np.array_equal(A, A.T)
    assert not hollow or not A.diagonal().any()
    assert np.abs(A.sum(axis=1) - 1).max() <= tol
    assert np.abs((eps + (e[:, None] + e) / 2) * A - np.maximum(score, 0)).max() <= rounding
    assert excess.max() <= tol
    assert np.minimum(e / (eps + e), -excess).max() <= tol


def effective(W) -> np.ndarray:
    """The effective number of neighbors `1 / |W_i|^2` of each row."""
    return 1 / np.square(W.toarray() if sp.issparse(W) else W).sum(axis=1)


def manufactured(n: int, seed: int = 0, n_cycles: int = 3):
    """A cost with a known solution: (C, eps, P, u).

    P is a mean of random cycles, made symmetric; the cost is `u_i + u_j - eps P_ij` on its support
    and larger than `u_i + u_j` off it.
    """
    rng = np.random.default_rng(seed)
    P = np.zeros((n, n))
    for weight in rng.dirichlet(np.ones(n_cycles)):
        cycle = rng.permutation(n)
        P[cycle, np.roll(cycle, 1)] += weight / 2
        P[np.roll(cycle, 1), cycle] += weight / 2
    u = 3 + rng.standard_normal(n)
    eps = 0.7
    slack = rng.random((n, n)) + 0.01
    C = u[:, None] + u + np.where(P > 0, -eps * P, slack + slack.T)
    C = np.maximum(C, C.T)  # symmetric to the last bit
    np.fill_diagonal(C, 0)
    return C, eps, P, u


def manufactured_floor(n: int, seed: int = 0):
    """A cost with a known solution under a floor: (C, eps, k, P).

    As in `manufactured`, with entries `(u_i + u_j - C_ij) / (eps + (e_i + e_j) / 2)`. The rows of
    every other point are at their floor, with a multiplier; the others are above theirs.
    """
    C, eps, P, u = manufactured(n, seed)
    rng = np.random.default_rng(seed)
    tight = np.arange(n) % 2 == 0
    e = np.where(tight, rng.exponential(size=n), 0.0)
    k = np.maximum(effective(P) * np.where(tight, 1.0, 0.8), 1.0)
    C = np.where(P > 0, u[:, None] + u - (eps + (e[:, None] + e) / 2) * P, C)
    return np.maximum(C, C.T), eps, k, P


def blood_cells(n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Purified blood cells in 50 principal components, and their types; None without the data."""
    folder = data_folder()
    if folder is None or not (folder / "pbmc_facs.npz").exists():
        return None
    file = np.load(folder / "pbmc_facs.npz", allow_pickle=False)
    X = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
    rows = np.sort(np.random.default_rng(0).choice(X.shape[0], n, replace=False))
    X = sp.csr_array(X[rows].astype(np.float64))
    X = sp.csr_array(sp.diags_array(1e4 / X.sum(axis=1)) @ X).log1p()
    mean = X.mean(axis=0)
    spread = X.power(2).mean(axis=0) - mean**2
    genes = np.argsort(-np.where(mean > 0.01, spread / np.maximum(mean, 0.01), 0.0))[:2000]
    Y = PCA(50, random_state=0).fit_transform(X[:, genes].toarray())
    return Y, file["obs_subpop"][rows]


def path_graph(n: int) -> sp.csr_array:
    """n points in a row, each joined to the next."""
    return sp.csr_array(sp.eye_array(n, k=1) + sp.eye_array(n, k=-1))


def ring_graph(n: int) -> sp.csr_array:
    """n points in a circle, each joined to the next."""
    ends = sp.csr_array((np.ones(2), ([0, n - 1], [n - 1, 0])), shape=(n, n))
    return sp.csr_array(path_graph(n) + ends)
