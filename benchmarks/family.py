"""The eps path against separate solves, and EOT against POT, ott and TorchDR and a bare pass.

python benchmarks/family.py
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from importlib.util import find_spec

import numpy as np
from _measure import in_own_process, measured

GRID = np.logspace(2, -2, 25)


def points(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, 50))


def path(n: int, kind: str) -> tuple[float, float]:
    import sparrot
    from sparrot.datasets import make_spiral

    warnings.simplefilter("ignore")
    X = make_spiral(n, 250).X if kind == "spiral" else points(n)
    sparrot.qot(X[:500], solver="active-set")  # compile
    start = time.perf_counter()
    for _ in sparrot.qot_path(X, GRID):
        pass
    middle = time.perf_counter()
    for eps in GRID:
        sparrot.qot(X, eps)
    return middle - start, time.perf_counter() - middle


def eot(name: str, n: int, eps: float) -> tuple[float, float, float]:
    X = points(n)
    X /= np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean())  # mean cost one
    run = {"sparrot": _sparrot, "POT": _pot, "ott": _ott, "TorchDR": _torchdr}[name]
    run(X if name == "ott" else X[:200], eps)  # which compiles for every shape
    return measured(run, X, eps)


def perplexity(n: int) -> tuple[float, float, float, float]:
    """Seconds of one pass and of a plan of perplexity 30, its megabytes, and how many passes."""
    import sparrot
    from sparrot.ot._sinkhorn import EntropicDual

    X = points(n)
    sparrot.eot(X[:1200], perplexity=30)
    made = []
    for name in ("_pass", "perplexities"):
        method = getattr(EntropicDual, name)

        def counted(self, *arguments, method=method):
            made.append((self.n / n) ** 2)
            return method(self, *arguments)

        setattr(EntropicDual, name, counted)
    seconds, megabytes, _ = measured(partial(sparrot.eot, perplexity=30), X)
    return _one_pass(X), seconds, megabytes, sum(made)


def _one_pass(X: np.ndarray) -> float:
    """Seconds of the row sums of exp(-C) over all pairs, products in float64 included."""
    squares = np.square(X).sum(axis=1) / 2
    start = time.perf_counter()
    for k in range(0, len(X), 512):
        T = X[k : k + 512] @ X.T
        T -= squares
        T -= squares[k : k + 512, None]
        np.exp(T, out=T).sum(axis=1)
    return time.perf_counter() - start


def _sparrot(X: np.ndarray, eps: float) -> float:
    import sparrot

    return sparrot.eot(X, eps).certificate.marginal_error


def _pot(X: np.ndarray, eps: float) -> float:
    import ot

    n = len(X)
    C = ot.dist(X, X) / 2 + 1e3 * np.eye(n)
    w = np.full(n, 1 / n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        P = ot.sinkhorn(w, w, C, eps, method="sinkhorn_log", stopThr=1e-10, numItermax=2000)
    return _worst_sum(P)


def _ott(X: np.ndarray, eps: float) -> float:
    import jax

    jax.config.update("jax_enable_x64", True)
    from ott.geometry.geometry import Geometry
    from ott.solvers import linear

    n = len(X)
    squares = np.square(X).sum(axis=1) / 2
    C = squares[:, None] + squares - X @ X.T + 1e3 * np.eye(n)
    found = linear.solve(
        Geometry(jax.numpy.asarray(C), epsilon=eps), threshold=1e-10, max_iterations=2000
    )
    return _worst_sum(np.asarray(found.matrix))


def _worst_sum(P: np.ndarray) -> float:
    """The largest error of the sums of rows and of columns, which are to be 1 / n."""
    return max(float(np.abs(len(P) * P.sum(axis=axis) - 1).max()) for axis in (0, 1))


def _torchdr(X: np.ndarray, eps: float) -> float:
    import torch
    from torchdr import SinkhornAffinity

    rows = torch.from_numpy((X / np.sqrt(2)).astype(np.float32))  # its cost has no 1/2
    P = SinkhornAffinity(eps=eps, tol=1e-5, max_iter=2000, device="cpu")(rows)
    return float(np.abs(len(X) * P.sum(1).numpy() - 1).max())


def main() -> None:
    print(f"{'25 eps over four decades':28}{'n':>7}{'path s':>9}{'separate s':>12}{'ratio':>8}")
    for kind, n in (("spiral", 1000), ("gaussian", 1000), ("gaussian", 3000)):
        along, apart = in_own_process(path, n, kind)
        print(f"{kind:28}{n:>7}{along:>9.2f}{apart:>12.2f}{along / apart:>8.2f}", flush=True)
    print(
        f"\n{'entropic, hollow':16}{'n':>7}{'eps':>7}{'seconds':>10}{'MB':>8}{'marginal error':>16}"
    )
    packages = {"sparrot": "sparrot", "POT": "ot", "ott": "ott", "TorchDR": "torchdr"}
    for n, eps in ((1000, 0.001), (1000, 0.01), (1000, 0.1), (3000, 0.1)):
        for name in (name for name in packages if find_spec(packages[name])):
            seconds, megabytes, error = in_own_process(eot, name, n, eps)
            line = f"{name:16}{n:>7}{eps:>7}{seconds:>10.2f}{megabytes:>8.0f}{error:>16.1e}"
            print(line, flush=True)
    print(f"\n{'perplexity 30':16}{'n':>7}{'seconds':>10}{'passes':>8}{'one pass s':>12}{'MB':>8}")
    for n in (4000, 10_000):
        bare, seconds, megabytes, passes = in_own_process(perplexity, n)
        print(
            f"{'':16}{n:>7}{seconds:>10.2f}{passes:>8.1f}{bare:>12.2f}{megabytes:>8.0f}", flush=True
        )


if __name__ == "__main__":
    main()
