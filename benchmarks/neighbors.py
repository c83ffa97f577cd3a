"""Whether `n_neighbors` of 2 to 50 converges on every set of the data folder, all of its points.

A unit is one set with one k, in a process of its own; compilation and import are not counted. Its
numbers are stored in a file as soon as they are there and never computed twice: a run that was
stopped goes on where it was. Seconds are those of all cores together. Data is read from the folder
named by SPARROT_DATA (default ../shared/data).

    python benchmarks/neighbors.py                   # all units, into out/neighbors, and a table
    python benchmarks/neighbors.py --only MNIST      # sets with this in their name
    python benchmarks/neighbors.py --only Cover --k 5,15
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _measure import in_own_process, measured
from real_data import DATA, LOADERS, components, expressed, stored, whole
from scale import covertype

import sparrot
from sparrot._files import whole_file
from sparrot.errors import NotConvergedError


def cells(name: str) -> np.ndarray:
    return expressed(*whole(LOADERS[name]), "50")


def images(file: str) -> np.ndarray:
    return components(stored(file, "X")[0].astype(np.float32), 50)


def cytometry() -> np.ndarray:
    X, marker = stored("cytof_huimm.npz", "X", "marker")
    return np.arcsinh(X[:, marker] / 5)


SETS = {
    "PBMC 68k": lambda: stored("pbmc68k_reduced.npz", "X_pca")[0],
    "PBMC 3k": partial(cells, "pbmc3k"),
    "purified blood": partial(cells, "facs"),
    "marrow": partial(cells, "marrow"),
    "Arabidopsis root": partial(cells, "root"),
    "MNIST": partial(images, "mnist.npz"),
    "Fashion-MNIST": partial(images, "fashion_mnist.npz"),
    "mass cytometry": cytometry,
    "Covertype": covertype,
}


def unit(name: str, k: float) -> dict[str, Any]:
    """The numbers of one set with one k, or why there are none."""
    warnings.simplefilter("ignore")  # of graphs in pieces
    X = SETS[name]()
    solve = partial(sparrot.qot, n_neighbors=k)
    solve(X[:: max(1, len(X) // 500)], solver="active-set")  # compile
    start = time.process_time()
    try:
        _, megabytes, a = measured(solve, X)
    except NotConvergedError as error:
        return {"shape": X.shape, "problem": error.problem}
    seconds = time.process_time() - start
    assert a.certificate.exact
    assert a.certificate.violation == 0
    return {
        "shape": X.shape,
        "steps": a.n_iter,
        "error": a.certificate.largest_error,
        "seconds": seconds,
        "megabytes": megabytes,
    }


def cell(found: dict[str, Any]) -> str:
    if "problem" in found:
        return "did not converge"
    return "{steps} steps ({error:.0e}), {seconds:,.1f} s, {megabytes:,.0f} MB".format(**found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", default="2,5,15,50", help="numbers of neighbors")
    parser.add_argument("--only", default="", help="part of the name of a set")
    parser.add_argument("--output", type=Path, default=Path("out/neighbors"))
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"there is no folder {DATA}: set SPARROT_DATA")
    options.output.mkdir(parents=True, exist_ok=True)
    many = [float(k) for k in options.k.split(",")]
    table = [["", *(f"k = {k:g}" for k in many)], ["---"] * (len(many) + 1)]
    for name in (name for name in SETS if options.only in name):
        found = []
        for k in many:
            file = options.output / f"{name}-{k:g}.json"
            if not file.exists():
                with whole_file(file) as temporary:
                    temporary.write_text(json.dumps(in_own_process(unit, name, k)))
            found.append(json.loads(file.read_text()))
            print(
                f"{name}, k = {k:g}: {cell(found[-1])} {found[-1].get('problem', '')}", flush=True
            )
        n, d = found[0]["shape"]
        table.append([f"{name}, {n:,} x {d}", *map(cell, found)])
    print("\n".join(f"| {' | '.join(row)} |" for row in table))


if __name__ == "__main__":
    main()
