"""sparrot against its peers on the paper's benchmark: Gaussian points, d = 250, eps = mean cost.

Every line is a process of its own: compilation and import are not counted, memory is the peak above
what was there before the call (the points, the interpreter, and for peers that take one, not the
cost matrix, which is part of the call). Peers that are not installed are left out.

    python benchmarks/solver.py                        # n = 1000, 2000, 5000, 10000
    python benchmarks/solver.py --sizes 25000,50000 --peers sparrot
"""

from __future__ import annotations

import argparse
import warnings
from importlib.util import find_spec

import numpy as np
from _measure import in_own_process, measured

DIMENSION = 250
PACKAGES = {
    "sparrot": "sparrot",
    "dense Newton (sparrot)": "sparrot",
    "RegOT qrot_assn": "regot",
    "POT smooth_ot_dual": "ot",
    "TorchDR": "torchdr",
}


def points(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, DIMENSION))


def mean_one_costs(X: np.ndarray) -> np.ndarray:
    squares = np.square(X).sum(axis=1)
    C = squares[:, None] + squares - 2 * X @ X.T
    np.fill_diagonal(C, 0)
    return C / C.mean()


def marginal_error(sums: np.ndarray) -> float:
    return float(np.abs(np.asarray(sums) - 1).max())


def sparrot(X: np.ndarray, solver: str = "auto") -> float:
    import sparrot

    certificate = sparrot.qot(X, solver=solver).certificate
    assert certificate.exact
    assert certificate.violation == 0
    return certificate.marginal_error


def regot(X: np.ndarray) -> float:
    import regot

    n = len(X)
    C = mean_one_costs(X) + 1e3 * np.eye(n)
    weights = np.full(n, 1 / n)
    plan = regot.qrot_assn(C, weights, weights, float(n), tol=1e-8 / n, max_iter=1000).plan
    return marginal_error(n * np.asarray(plan).sum(axis=1))


def pot(X: np.ndarray) -> float:
    import ot

    n = len(X)
    C = mean_one_costs(X) + 1e2 * np.eye(n)
    weights = np.full(n, 1 / n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = ot.smooth.smooth_ot_dual(weights, weights, C, float(n))
    return marginal_error(n * plan.sum(axis=1))


def torchdr(X: np.ndarray) -> float:
    import torch
    from torchdr import DoublyStochasticQuadraticAffinity

    n = len(X)
    scale = np.sqrt(2 * np.square(X - X.mean(axis=0)).sum(axis=1).mean())  # its cost has no 1/2
    rows = torch.from_numpy((X / scale).astype(np.float32))
    plan = DoublyStochasticQuadraticAffinity(eps=1.0, device="cpu")(rows)
    return marginal_error(n * plan.sum(1).numpy())


RUN = {
    "sparrot": sparrot,
    "dense Newton (sparrot)": lambda X: sparrot(X, "newton"),
    "RegOT qrot_assn": regot,
    "POT smooth_ot_dual": pot,
    "TorchDR": torchdr,
}


def one(name: str, n: int) -> tuple[float, float, float]:
    X = points(n)
    RUN[name](X[:300])  # import
    if name == "sparrot":
        sparrot(X[:300], "active-set")  # compile
    return measured(RUN[name], X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,2000,5000,10000")
    parser.add_argument("--peers", default=",".join(PACKAGES), help="names, or the start of names")
    options = parser.parse_args()
    wanted = tuple(options.peers.split(","))
    print(f"{'':24}{'n':>8}{'seconds':>10}{'MB':>9}{'marginal error':>16}{'x sparrot':>11}")
    for n in map(int, options.sizes.split(",")):
        ours = float("nan")
        for name in (name for name in PACKAGES if name.startswith(wanted)):
            if find_spec(PACKAGES[name]) is None:
                print(f"{name:24}  is not installed")
                continue
            try:
                seconds, megabytes, error = in_own_process(one, name, n)
            except MemoryError as error:
                print(f"{name:24}{n:>8}  {error}")
                continue
            ours = seconds if name == "sparrot" else ours
            numbers = (
                f"{n:>8}{seconds:>10.2f}{megabytes:>9.0f}{error:>16.1e}{seconds / ours:>11.1f}"
            )
            print(f"{name:24}{numbers}", flush=True)


if __name__ == "__main__":
    main()
