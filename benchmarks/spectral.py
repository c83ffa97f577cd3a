"""Leading eigenpairs of large graphs: sparrot's engine, and ARPACK alone.

python benchmarks/spectral.py [--sizes 100000] [--peers sparrot,arpack]
"""

from __future__ import annotations

import argparse

import numpy as np
from _measure import in_own_process, measured

PAIRS = 10
NEIGHBORS = 34  # about 40 a row, once symmetrized


def graph(kind: str, n: int):
    import sparrot

    rng = np.random.default_rng(0)
    X = {
        "square": lambda: rng.random((n, 2)),
        "cube": lambda: rng.random((n, 3)),
        "clusters": lambda: rng.standard_normal((n, 8)) + 3 * rng.integers(0, 2, (n, 8)),
    }[kind]()
    return sparrot.knn(X, NEIGHBORS).matrix


def run(name: str, kind: str, n: int) -> tuple[float, float, float, float, float]:
    W = graph(kind, n)
    solve = {"sparrot": _sparrot, "arpack": _arpack}[name]
    solve(graph("cube", 3000))  # compile
    seconds, megabytes, (last, residual) = measured(solve, W)
    return seconds, megabytes, W.nnz / n, last, residual


def _sparrot(W) -> tuple[float, float]:
    from sparrot.spectral import eigenpairs

    pairs = eigenpairs(W, PAIRS, components="largest")
    return pairs.values[-1], pairs.residuals.max()


def _arpack(W) -> tuple[float, float]:
    from scipy.sparse.linalg import eigsh

    from sparrot.spectral import symmetric_normalization

    S = symmetric_normalization(W)
    start = np.random.default_rng(0).standard_normal(S.shape[0])
    values, V = eigsh(S, PAIRS, which="LA", v0=start, tol=1e-8)
    return values.min(), np.linalg.norm(S @ V - V * values, axis=0).max()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100000")
    parser.add_argument("--kinds", default="square,cube,clusters")
    parser.add_argument("--peers", default="sparrot,arpack")
    asked = parser.parse_args()
    print(
        f"{PAIRS} pairs: {'':10}{'n':>8}{'a row':>7}{'seconds':>9}{'MB':>7}"
        f"{'1 - lambda':>13}{'residual':>10}"
    )
    for n in map(int, asked.sizes.split(",")):
        for kind in asked.kinds.split(","):
            for name in asked.peers.split(","):
                seconds, megabytes, row, last, residual = in_own_process(run, name, kind, n)
                print(
                    f"{kind:10}{name:10}{n:>8}{row:>7.1f}{seconds:>9.1f}{megabytes:>7.0f}"
                    f"{1 - last:>13.6e}{residual:>10.1e}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
