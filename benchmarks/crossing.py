"""Where the dense and the sparse path take the same time: the size at which `auto` changes over.

"first call" is a fresh interpreter with compiled kernels in the cache (loading them is what makes
the sparse path slow at first); "again" is the best of the calls after it.

    python benchmarks/crossing.py
"""

from __future__ import annotations

import time

import numpy as np
from _measure import in_own_process

SIZES = (250, 500, 1000, 1500, 2000, 3000, 4000)


def data(kind: str, n: int) -> np.ndarray:
    if kind == "gaussian":
        return np.random.default_rng(0).standard_normal((n, 250))
    from sklearn.datasets import make_swiss_roll

    return make_swiss_roll(n, random_state=0)[0]


def one(kind: str, n: int, solver: str) -> tuple[float, float]:
    import sparrot

    X = data(kind, n)
    sparrot.qot(X[:20], solver="newton")  # imports that both paths share
    times = []
    for _ in range(4):
        start = time.perf_counter()
        sparrot.qot(X, solver=solver)
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:])


def main() -> None:
    in_own_process(one, "gaussian", 500, "active-set")  # fill the cache of compiled kernels
    print(f"{'':12}{'n':>6}{'first call, dense':>20}{'sparse':>9}{'again, dense':>15}{'sparse':>9}")
    for kind in ("gaussian", "swiss roll"):
        for n in SIZES:
            dense, sparse = (in_own_process(one, kind, n, s) for s in ("newton", "active-set"))
            print(
                f"{kind:12}{n:>6}{dense[0]:>20.2f}{sparse[0]:>9.2f}{dense[1]:>15.3f}{sparse[1]:>9.3f}"
            )


if __name__ == "__main__":
    main()
