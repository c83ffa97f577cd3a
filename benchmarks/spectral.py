"""Leading eigenpairs of graphs against ARPACK alone, and maps of MNIST from points to coordinates.

Every line is a process of its own; compilation and import are not counted. Both solvers of a graph,
or of its largest component, have residuals of at most 1e-8; the fastest call of those that fill a
second counts, of three at least, and one alone on many points, where ARPACK is stopped if it takes
ten times as long as ours. Real data is read from the folder named by SPARROT_DATA (default
../shared/data).

    python benchmarks/spectral.py           # k-NN graphs of 1,000 to 100,000 points; MNIST
    python benchmarks/spectral.py --kinds branches --sizes 100000,1000000
    python benchmarks/spectral.py --maps    # MNIST, against scikit-learn, umap-learn and scanpy
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from _measure import in_own_process, measured
from scale import branches, mnist_50

PAIRS = 10
NEIGHBORS = 34  # about 40 a row, once symmetrized
K = 15  # neighbors of a map
MANY = 200_000  # points of a graph that is solved once
PATIENCE = 10  # times the seconds of ours that ARPACK has there


def graph(kind: str, n: int):
    import sparrot

    rng = np.random.default_rng(0)
    if kind == "mnist":
        return sparrot.qot(mnist_50()[:n]).matrix
    if kind == "branches":
        return sparrot.qot(branches(n), perplexity=30).matrix
    X = {
        "square": lambda: rng.random((n, 2)),
        "cube": lambda: rng.random((n, 3)),
        "clusters": lambda: rng.standard_normal((n, 8)) + 3 * rng.integers(0, 2, (n, 8)),
    }[kind]()
    return sparrot.knn(X, NEIGHBORS).matrix


def pairs(kind: str, n: int) -> tuple[int, float, dict[str, tuple[float, float, float, float]]]:
    """Points, entries of a row; and of each solver seconds, megabytes, last value and residual."""
    warnings.simplefilter("ignore")  # of graphs in pieces
    W, small = largest_component(graph(kind, n)), graph("cube", 3000)
    _sparrot(small)  # compile
    _arpack(small, np.inf)
    ours = best(n <= MANY, _sparrot, W)
    limit = PATIENCE * ours[0] if n > MANY else np.inf
    theirs = best(n <= MANY, _arpack, W, limit)
    found = {
        name: (seconds, megabytes, last, residual)
        for name, (seconds, megabytes, (last, residual)) in (("sparrot", ours), ("ARPACK", theirs))
    }
    return W.shape[0], W.nnz / W.shape[0], found


def best(often: bool, function, *arguments):
    """The fastest call, of at least three and a second in all if often."""
    calls = [measured(function, *arguments)]
    while often and (len(calls) < 3 or sum(seconds for seconds, _, _ in calls) < 1):
        calls.append(measured(function, *arguments))
    return min(calls)


def largest_component(W):
    from scipy.sparse.csgraph import connected_components

    labels = connected_components(W, directed=False)[1]
    kept = np.flatnonzero(labels == np.bincount(labels).argmax())
    return W if len(kept) == W.shape[0] else W[kept][:, kept]


def _sparrot(W) -> tuple[float, float]:
    from sparrot.spectral import eigenpairs

    found = eigenpairs(W, PAIRS)
    return found.values[-1], found.residuals.max()


def _arpack(W, limit: float) -> tuple[float, float]:
    """Numbers that are none where it takes more seconds than it has."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    from sparrot.spectral import symmetric_normalization

    end = time.perf_counter() + limit
    S = symmetric_normalization(W)

    def product(x: np.ndarray) -> np.ndarray:
        if time.perf_counter() > end:
            raise TimeoutError
        return S @ x

    A = S if limit == np.inf else LinearOperator(S.shape, product, dtype=float)
    start = np.random.default_rng(0).standard_normal(S.shape[0])
    try:
        values, V = eigsh(A, PAIRS, which="LA", v0=start, tol=1e-8)
    except TimeoutError:
        return np.nan, np.nan
    return values.min(), np.linalg.norm(S @ V - V * values, axis=0).max()


def _eigenmaps(X: np.ndarray) -> None:
    import sparrot

    sparrot.Eigenmaps(PAIRS).fit(X)


def _clusters(X: np.ndarray) -> None:
    import sparrot

    sparrot.SpectralClustering(PAIRS).fit(X)


def _diffusion_map(X: np.ndarray) -> None:
    import sparrot

    sparrot.DiffusionMap(PAIRS).fit(X)


def _sc_diffmap(X: np.ndarray) -> None:
    import anndata

    import sparrot

    adata = anndata.AnnData(X)
    sparrot.sc.neighbors(adata, n_neighbors=K, use_rep="X")
    sparrot.sc.diffmap(adata, n_comps=PAIRS)


def _scikit_learn(X: np.ndarray) -> None:
    """By LOBPCG: its default factorizes the Laplacian, which fills up."""
    from sklearn.manifold import SpectralEmbedding

    SpectralEmbedding(
        PAIRS, affinity="nearest_neighbors", n_neighbors=K, eigen_solver="lobpcg",
        random_state=0, n_jobs=2,
    ).fit(X)  # fmt: skip


def _umap(X: np.ndarray) -> None:
    """The graph and the eigenvectors that a layout starts from, without the layout."""
    from umap.spectral import spectral_layout
    from umap.umap_ import fuzzy_simplicial_set

    seed = np.random.RandomState(0)
    W = fuzzy_simplicial_set(X, K, seed, "euclidean")[0]
    spectral_layout(X, W, PAIRS, seed)


def _scanpy(X: np.ndarray) -> None:
    import anndata
    import scanpy

    adata = anndata.AnnData(X)
    scanpy.pp.neighbors(adata, n_neighbors=K, use_rep="X")
    scanpy.tl.diffmap(adata, n_comps=PAIRS)


MAPS = {
    "sparrot.Eigenmaps": _eigenmaps,
    "sparrot.SpectralClustering": _clusters,
    "sparrot.DiffusionMap": _diffusion_map,
    "sparrot.sc: neighbors, diffmap": _sc_diffmap,
    "scikit-learn SpectralEmbedding": _scikit_learn,
    "umap-learn, spectral start": _umap,
    "scanpy: neighbors, diffmap": _scanpy,
}


def a_map(name: str) -> tuple[float, float]:
    """Seconds and megabytes from the points to the coordinates."""
    warnings.simplefilter("ignore")
    X = mnist_50()
    MAPS[name](X[::20])  # compile
    seconds, megabytes, _ = measured(MAPS[name], X)
    return seconds, megabytes


def show_pairs(kinds: list[str], sizes: list[int]) -> None:
    print(
        f"{PAIRS} pairs: {'':10}{'n':>8}{'a row':>7}{'seconds':>9}{'MB':>7}"
        f"{'1 - lambda':>13}{'residual':>10}{'ratio':>7}"
    )
    for kind in kinds:
        for n in (n for n in sizes if kind != "mnist" or n <= 70_000):
            size, row, found = in_own_process(pairs, kind, n)
            for name, (seconds, megabytes, last, residual) in found.items():
                ratio = seconds / found["ARPACK"][0]
                print(
                    f"{kind:10}{name:10}{size:>8}{row:>7.1f}{seconds:>9.4f}{megabytes:>7.0f}"
                    f"{1 - last:>13.3e}{residual:>10.1e}{ratio:>7.2f}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,3000,10000,30000,70000,100000")
    parser.add_argument("--kinds", default="square,cube,clusters,mnist")
    parser.add_argument("--maps", action="store_true", help="MNIST, from points to coordinates")
    parser.add_argument("--only", default="", help="part of the name of a map")
    asked = parser.parse_args()
    if not asked.maps:
        show_pairs(asked.kinds.split(","), [int(n) for n in asked.sizes.split(",")])
        return
    print(f"MNIST 70,000 x 50, {PAIRS} coordinates{'':10}{'seconds':>9}{'MB':>8}")
    for name in (name for name in MAPS if asked.only in name):
        seconds, megabytes = in_own_process(a_map, name)
        print(f"{name:43}{seconds:>9.1f}{megabytes:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
