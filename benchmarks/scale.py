"""Exact QOT at size: against a bare pass of products, and against k-NN graphs.

Every line is a process of its own, the best of three runs if these are short; compilation and
import are not counted. A half pass is products in float32, of all coordinates, over 2048-square
tiles of the upper triangle, in two threads. Real data is read from the folder named by SPARROT_DATA
(default ../shared/data).

    python benchmarks/scale.py                     # the table of docs/benchmarks.md
    python benchmarks/scale.py --large             # and the sets of half a million points and more
    python benchmarks/scale.py --floors            # a floor on rows, against none
    python benchmarks/scale.py --new               # neighbors of new points, against scikit-learn
    python benchmarks/scale.py --growth growth.png # time and memory against n, with exponents
    python benchmarks/scale.py --growth out.png --only spiral --largest 1000000
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import local

import numpy as np
from _measure import in_own_process, measured

DATA = Path(os.environ.get("SPARROT_DATA", Path(__file__).parents[2] / "shared" / "data"))
TILE = 2048
MADE = ("gaussian", "gaussian_50", "branches")  # points that need no data folder
LONG = 8.0  # seconds of a run that is not repeated


def gaussian(n: int = 25_000, d: int = 250) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


def swiss_roll(n: int) -> np.ndarray:
    from sklearn.datasets import make_swiss_roll

    return make_swiss_roll(n, random_state=0)[0]


def spiral(n: int) -> np.ndarray:
    from sparrot.datasets import make_spiral

    return make_spiral(n, 50).X


def branches(n: int = 1_000_000, d: int = 50, n_branches: int = 8) -> np.ndarray:
    """A tree of noisy segments in d dimensions, the noise differing from point to point."""
    rng = np.random.default_rng(0)
    ends = rng.standard_normal((n_branches, d)) * 3
    starts = np.vstack([np.zeros(d), ends[:-1] * rng.random((n_branches - 1, 1))])
    branch = rng.integers(n_branches, size=n)
    t = rng.random((n, 1))
    X = (starts[branch] + t * (ends[branch] - starts[branch])).astype(np.float32)
    noise = rng.standard_normal((n, d), dtype=np.float32)
    X += noise * rng.uniform(0.05, 0.5, (n, 1)).astype(np.float32)
    return X


def mnist() -> np.ndarray:
    return np.load(DATA / "mnist.npz", allow_pickle=False)["X"].astype(np.float32)


def mnist_50() -> np.ndarray:
    from sklearn.decomposition import PCA

    return PCA(50, random_state=0).fit_transform(mnist())


def covertype() -> np.ndarray:
    X = np.load(DATA / "covtype.npz", allow_pickle=False)["X"].astype(np.float32)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)


def half_pass(X: np.ndarray) -> float:
    """Seconds of the products over half of all pairs, the best of two."""
    from threadpoolctl import threadpool_limits

    z = np.ascontiguousarray(X, dtype=np.float32)
    tiles = [(a, b) for a in range(0, len(z), TILE) for b in range(a, len(z), TILE)]

    own = local()

    def product(tile: tuple[int, int]) -> None:
        if not hasattr(own, "out"):
            own.out = np.empty((TILE, TILE), np.float32)
        a, b = (z[k : k + TILE] for k in tile)
        np.matmul(a, b.T, out=own.out[: len(a), : len(b)])

    took = []
    with threadpool_limits(1), ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            start = time.perf_counter()
            list(pool.map(product, tiles))
            took.append(time.perf_counter() - start)
    return min(took)


def exact(X: np.ndarray, arguments: dict) -> str:
    import sparrot

    candidates = [0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = sparrot.qot(X, **arguments, progress=lambda p: candidates.append(p.n_pairs))
    assert a.certificate.marginal_error <= 1e-8
    assert a.certificate.exact
    share = max(candidates) / (a.matrix.nnz / 2)
    said = f"{a.matrix.nnz / len(X):.0f} neighbors, eps {a.relative_eps:.3g}"
    return f"{said}, {share:.1f} candidates a pair with mass"


def sklearn_knn(X: np.ndarray, k: int) -> str:
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    return f"{search.kneighbors_graph().nnz / len(X):.0f} neighbors"


def pynndescent_knn(X: np.ndarray, k: int) -> str:
    from pynndescent import PyNNDescentTransformer

    search = PyNNDescentTransformer(n_neighbors=k, random_state=0, n_jobs=-1)
    return f"{search.fit_transform(X).nnz / len(X):.0f} neighbors"


def faiss_knn(X: np.ndarray, k: int, index: str) -> str:
    """By exact search ("Flat") or a graph ("HNSW16"), a point's own entry left out."""
    import faiss

    faiss.omp_set_num_threads(2)
    X = np.ascontiguousarray(X, dtype=np.float32)
    search = faiss.index_factory(X.shape[1], index)
    search.add(X)
    return f"{search.search(X, k + 1)[1].shape[1] - 1} neighbors"


def run(name: str, make: str, arguments: dict) -> tuple[float, float, str]:
    X = globals()[make]()
    small = X[:: max(1, len(X) // 3000)]
    if name == "half pass":
        return half_pass(X), 0.0, ""
    if name == "sparrot":
        exact(small, {**arguments, "solver": "active-set"})  # compile
        return best(partial(exact, arguments=arguments), X)
    function = PEERS[name][1]
    function(small, **arguments)
    return best(partial(function, **arguments), X)


def best(function: Callable[[np.ndarray], str], X: np.ndarray) -> tuple[float, float, str]:
    """The fastest of three runs; of one, if it takes long."""
    runs = [measured(function, X)]
    while len(runs) < 3 and runs[0][0] < LONG:
        runs.append(measured(function, X))
    return min(runs)


PEERS = {
    "scikit-learn k-NN": ("sklearn", sklearn_knn),
    "pynndescent k-NN": ("pynndescent", pynndescent_knn),
    "faiss Flat k-NN": ("faiss", partial(faiss_knn, index="Flat")),
    "faiss HNSW16 k-NN": ("faiss", partial(faiss_knn, index="HNSW16")),
}


TABLE = [
    ("Gaussian 25,000 x 250", "gaussian", {}, 50),
    ("MNIST 70,000 x 50 PC", "mnist_50", {}, 30),
    ("MNIST 70,000 x 784", "mnist", {}, None),
]
LARGE = [
    ("Covertype 581,012 x 54", "covertype", {"perplexity": 30}, None),
    ("Branches 1,000,000 x 50", "branches", {"perplexity": 30}, None),
]


def table(lines: list) -> None:
    print(f"{'':26}{'':24}{'seconds':>9}{'half passes':>13}{'MB':>8}  ")
    for title, make, arguments, k in lines:
        unit, _, _ = in_own_process(run, "half pass", make, {})
        show(title, "half pass", unit, unit, 0.0, "")
        runs = [("sparrot", arguments)]
        for name, (package, _) in PEERS.items():
            if find_spec(package) and (k is not None or package == "pynndescent"):
                runs.append((name, {"k": k or 30}))
        for name, given in runs:
            seconds, megabytes, said = in_own_process(run, name, make, given)
            show(title, name, seconds, unit, megabytes, said)


FLOORS = [
    ("Gaussian 25,000 x 250", "gaussian"),
    ("MNIST 70,000 x 50 PC", "mnist_50"),
]


def floors(lines: list) -> None:
    """Seconds with a floor on rows, as multiples of those without at eps = 1, best of two."""
    print(f"{'':26}{'':24}{'seconds':>9}{'x plain':>9}{'MB':>8}  ")
    for title, make in lines:
        unit = None
        for arguments in ({}, {"min_neighbors": 5}, {"n_neighbors": 15}):
            found = [in_own_process(run, "sparrot", make, arguments) for _ in range(2)]
            seconds, megabytes, told = min(found)
            unit = unit or seconds
            name = " ".join(f"{key}={value}" for key, value in arguments.items()) or "plain"
            line = f"{title:26}{name:24}{seconds:>9.2f}{seconds / unit:>9.2f}{megabytes:>8.0f}  "
            print(line + told, flush=True)


NEW = [
    ("Gaussian 25,000 x 50, 5,000 new", "gaussian_50", 5_000),
    ("MNIST 60,000 x 50 PC, 10,000 new", "mnist_50", 10_000),
]


def gaussian_50() -> np.ndarray:
    return gaussian(30_000, 50)


def new_points(make: str, n: int, metric: str) -> tuple[float, float, float]:
    """Seconds of ours and of scikit-learn, and how far their distances are apart."""
    from sklearn.neighbors import KNeighborsTransformer

    import sparrot

    points, new = np.split(globals()[make](), [-n])
    took, graphs = [], []
    for kind in (sparrot.KNeighborsTransformer, KNeighborsTransformer):
        search = kind(n_neighbors=30, metric=metric, n_jobs=-1)
        search.fit(points[:3000]).transform(new[:1000])  # compile
        search.fit(points)
        took.append(best(lambda X, search=search: f"{search.transform(X).nnz}", new)[0])
        graphs.append(np.sort(search.transform(new).data.reshape(n, -1)))
    apart = np.abs(graphs[0] - graphs[1]).max() / graphs[1].max()
    return took[0], took[1], float(apart)


def show_new(lines: list) -> None:
    """Thirty neighbors of new points."""
    print(f"{'':34}{'metric':12}{'sparrot':>9}{'sklearn':>9}{'ratio':>7}{'apart':>10}")
    for title, make, n in lines:
        for metric in ("euclidean", "cosine"):
            ours, theirs, apart = in_own_process(new_points, make, n, metric)
            ratio = f"{ours / theirs:>7.2f}{apart:>10.0e}"
            print(f"{title:34}{metric:12}{ours:>9.2f}{theirs:>9.2f}{ratio}", flush=True)


def show(title: str, name: str, seconds: float, unit: float, megabytes: float, said: str) -> None:
    line = f"{title:26}{name:24}{seconds:>9.2f}{seconds / unit:>13.2f}{megabytes:>8.0f}  {said}"
    print(line, flush=True)


KINDS = {
    "Gaussian, 50 dimensions, eps = 1": (lambda n: gaussian(n, 50), {}),
    "Swiss roll, perplexity 30": (swiss_roll, {"perplexity": 30}),
    "noisy spiral, perplexity 30": (spiral, {"perplexity": 30}),
}
SIZES = [2_000, 6_000, 20_000, 60_000, 200_000, 500_000, 1_000_000]


def grow(kind: str, n: int) -> tuple[float, float, float, str]:
    """Seconds, those of all cores together, megabytes, and what came out."""
    make, arguments = KINDS[kind]
    exact(make(3000), {**arguments, "solver": "active-set"})
    X, start = make(n), time.process_time()
    seconds, megabytes, said = measured(exact, X, {**arguments, "solver": "active-set"})
    return seconds, time.process_time() - start, megabytes, said


def growth(path: str, largest: int, only: str) -> None:
    print(f"{'':36}{'n':>9}{'seconds':>10}{'CPU s':>10}{'MB':>8}  ")
    lines: dict[str, list] = {kind: [] for kind in KINDS if only in kind}
    for kind, rows in lines.items():
        for n in (n for n in SIZES if n <= largest):
            seconds, cpu, megabytes, said = in_own_process(grow, kind, n)
            rows.append((n, seconds, megabytes))
            line = f"{kind:36}{n:>9}{seconds:>10.2f}{cpu:>10.2f}{megabytes:>8.0f}  {said}"
            print(line, flush=True)
    draw(lines, path)


def draw(lines: dict[str, list[tuple[int, float, float]]], path: str) -> None:
    """Time and memory against n; the exponents are those from 20,000 points on."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for (kind, rows), marker in zip(lines.items(), "os^", strict=False):
        n, *columns = np.array(rows).T
        for axis, y in zip(axes, columns, strict=True):
            large = n >= 20_000
            seen = y >= 0.01 if axis is axes[0] else y >= 1
            label = kind
            if large.sum() > 1:
                exponent = np.polyfit(np.log(n[large]), np.log(y[large]), 1)[0]
                label = rf"{kind}: $n^{{{exponent:.2f}}}$"
            axis.loglog(n[seen], y[seen], marker=marker, label=label)
    for axis, what in zip(axes, ("seconds", "peak memory (MB)"), strict=True):
        axis.set(xlabel="number of points $n$", ylabel=what)
        axis.legend(fontsize=8, title="exponents from 20,000 points on", title_fontsize=8)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="half a million points and more")
    parser.add_argument("--floors", action="store_true", help="a floor on rows, against none")
    parser.add_argument("--new", action="store_true", help="neighbors of new points")
    parser.add_argument("--growth", metavar="FIGURE", help="draw time and memory against n")
    parser.add_argument("--largest", type=int, default=200_000, help="largest n of --growth")
    parser.add_argument("--only", default="", help="part of the name of a set")
    options = parser.parse_args()
    if options.growth:
        growth(options.growth, options.largest, options.only)
        return
    lines, show_lines = TABLE, table
    if options.new:
        lines, show_lines = NEW, show_new
    elif options.floors:
        lines, show_lines = FLOORS, floors
    elif options.large:
        lines = LARGE
    lines = [line for line in lines if options.only in line[0]]
    missing = [line[0] for line in lines if line[1] not in MADE]
    if missing and not DATA.is_dir():
        sys.exit(f"{', '.join(missing)} need the data folder: set SPARROT_DATA")
    show_lines(lines)


if __name__ == "__main__":
    main()
