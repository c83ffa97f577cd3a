"""The eps path against separate solves, and EOT against POT, ott and TorchDR and a bare pass.

python benchmarks/family.py
python benchmarks/family.py --perplexity marrow          # or fashion, mnist: sets of SPARROT_DATA
python benchmarks/family.py --perplexity gaussian 20000  # points of a set, otherwise all
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from importlib.util import find_spec

import numpy as np
from _measure import in_own_process, measured

GRID = np.logspace(2, -2, 25)
DENSE = 20_000  # points whose plan is dense; that of more is sparse, with drop=1e-3
TOL = 1e-8
MOST = 2000  # iterations of peers


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


def perplexity(name: str, n: int | None) -> tuple[float, ...]:
    """What a plan of perplexity 30 takes.

    Points; seconds, CPU seconds and megabytes; passes over all pairs, and CPU seconds of one of
    them and of a bare one.
    """
    import sparrot
    from sparrot.ot._sinkhorn import EntropicDual

    warnings.simplefilter("ignore")
    X = cloud(name, n)
    n = len(X)
    arguments = {"perplexity": 30, "drop": None if n <= DENSE else 1e-3}
    sparrot.eot(X[:1200], **arguments)
    made, one_pass = [], EntropicDual._pass

    def counted(self, *passed):
        start = time.process_time()
        result = one_pass(self, *passed)
        made.append((self.n / n, time.process_time() - start))
        return result

    EntropicDual._pass = counted
    start = time.process_time()
    seconds, megabytes, _ = measured(partial(sparrot.eot, **arguments), X)
    cpu = time.process_time() - start
    own = np.median([spent for share, spent in made if share == 1])
    return n, seconds, cpu, megabytes, sum(share**2 for share, _ in made), own, _one_pass(X)


def cloud(name: str, n: int | None) -> np.ndarray:
    """Gaussian points, standardized genes of all marrow cells, or 50 components of images."""
    if name == "gaussian":
        return points(n or 4000)
    import real_data

    if name == "marrow":
        X = real_data.expressed(*real_data.whole(real_data.LOADERS["marrow"]), "standardized")
    else:
        file = {"mnist": "mnist.npz", "fashion": "fashion_mnist.npz"}[name]
        X = real_data.components(real_data.stored(file, "X")[0] / 255, 50)
    return X if n is None else X[np.random.default_rng(0).permutation(len(X))[:n]]


def _one_pass(X: np.ndarray) -> float:
    """CPU seconds of the row sums of exp(-C) over all pairs, products in float64 included."""
    squares = np.square(X).sum(axis=1) / 2
    start = time.process_time()
    for k in range(0, len(X), 512):
        T = X[k : k + 512] @ X.T
        T -= squares
        T -= squares[k : k + 512, None]
        np.exp(T, out=T).sum(axis=1)
    return time.process_time() - start


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
        P = ot.sinkhorn(w, w, C, eps, method="sinkhorn_log", stopThr=TOL / n, numItermax=MOST)
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
        Geometry(jax.numpy.asarray(C), epsilon=eps), threshold=TOL / n, max_iterations=MOST
    )
    return _worst_sum(np.asarray(found.matrix))


def _worst_sum(P: np.ndarray) -> float:
    """The largest error of the sums of rows and of columns, which are to be 1 / n."""
    return max(float(np.abs(len(P) * P.sum(axis=axis) - 1).max()) for axis in (0, 1))


def _torchdr(X: np.ndarray, eps: float) -> float:
    import torch
    from torchdr import SinkhornAffinity

    rows = torch.from_numpy(X / np.sqrt(2))  # its cost has no 1/2
    P = SinkhornAffinity(eps=eps, tol=TOL, max_iter=MOST, device="cpu")(rows)
    return float(np.abs(len(X) * P.sum(1).numpy() - 1).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--perplexity", nargs="+", metavar=("SET", "N"))
    asked = parser.parse_args().perplexity
    if asked:
        perplexities([(asked[0], *map(int, asked[1:2]))])
        return
    paths()
    plans()
    perplexities([("gaussian", 4000), ("gaussian", 10_000)])


def paths() -> None:
    print(f"{'25 eps over four decades':28}{'n':>7}{'path s':>9}{'separate s':>12}{'ratio':>8}")
    for kind, n in (("spiral", 1000), ("gaussian", 1000), ("gaussian", 3000)):
        along, apart = in_own_process(path, n, kind)
        print(f"{kind:28}{n:>7}{along:>9.2f}{apart:>12.2f}{along / apart:>8.2f}", flush=True)


def plans() -> None:
    print(
        f"\n{'entropic, hollow':16}{'n':>7}{'eps':>7}{'seconds':>10}{'MB':>8}{'marginal error':>16}"
    )
    packages = {"sparrot": "sparrot", "POT": "ot", "ott": "ott", "TorchDR": "torchdr"}
    for n, eps in ((1000, 0.001), (1000, 0.01), (1000, 0.1), (3000, 0.1)):
        for name in (name for name in packages if find_spec(packages[name])):
            seconds, megabytes, error = in_own_process(eot, name, n, eps)
            line = f"{name:16}{n:>7}{eps:>7}{seconds:>10.2f}{megabytes:>8.0f}{error:>16.1e}"
            print(line, "" if error <= TOL else f"  not {TOL:g}", flush=True)


def perplexities(sets: list[tuple]) -> None:
    print(
        f"\n{'perplexity 30':16}{'n':>7}{'seconds':>10}{'CPU s':>9}{'MB':>8}{'passes':>8}"
        f"{'CPU s of one':>14}{'of a bare one':>15}"
    )
    for name, *n in sets:
        count, seconds, cpu, megabytes, passes, own, bare = in_own_process(
            perplexity, name, *(n or [None])
        )
        print(
            f"{name:16}{count:>7}{seconds:>10.2f}{cpu:>9.2f}{megabytes:>8.0f}{passes:>8.1f}"
            f"{own:>14.3f}{bare:>15.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
