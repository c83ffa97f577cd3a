"""The paper's single-cell experiment, rehearsed on a generated file of the same layout.

python benchmarks/dentate.py [--cells N] [--samples N] [--output FOLDER]

The dentate gyrus cannot be shipped. This writes a loom file and tables of probabilities with the
names, types and attributes of the published ones, for cells that branch from one origin into three
lineages, and runs the experiment on it from the file to the figure: 5,000 cells a sample, as in
the paper. It shows that the run ends, and how long each part takes; its verdicts mean nothing.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import h5py
import matplotlib as mpl
import numpy as np

from sparrot.paper import single_cell
from sparrot.paper._work import Work

N_GENES = 4000
OWN_GENES = 200  # that a lineage turns on
LINEAGES = {
    "Granule": ("nIPC", "Nbl1", "Nbl2", "ImmGranule1", "ImmGranule2", "Granule"),
    "CA": ("nIPC", "Nbl1", "Nbl2", "CA1-Sub", "CA", "CA2-3-4"),
    "Astro": ("nIPC", "RadialGlia", "RadialGlia2", "OPC", "ImmAstro", "ImmAstro"),
}
READS = (2000.0, 0.5)  # median and logarithmic deviation of the reads of a cell


def write_cells(folder: Path, n: int) -> None:
    """A loom file of n cells, and the probabilities of a part of them to be start and end."""
    rng = np.random.default_rng(0)
    time_of, lineage = rng.random(n), rng.integers(len(LINEAGES), size=n)
    steps = np.array(list(LINEAGES.values()))
    types = steps[lineage, (len(steps[0]) * time_of).astype(int)]
    names = [f"10X83_{k % 4}:{k:016d}x" for k in range(n)]
    place = folder / "dentate"
    place.mkdir(parents=True, exist_ok=True)
    text = h5py.string_dtype()
    with h5py.File(place / "DentateGyrus.loom", "w") as file:
        file["matrix"] = counts(time_of, lineage, rng).T
        file["row_attrs/Gene"] = np.array([f"gene{k}" for k in range(N_GENES)], dtype=text)
        file["col_attrs/CellID"] = np.array(names, dtype=text)
        file["col_attrs/ClusterName"] = types.astype(object)
        angle = 2 * np.pi * lineage / len(LINEAGES)
        noise = 0.03 * rng.standard_normal((2, n))
        file["col_attrs/TSNE1"] = time_of * np.cos(angle) + noise[0]
        file["col_attrs/TSNE2"] = time_of * np.sin(angle) + noise[1]
    known = rng.random(n) < 0.4
    for key, values in {"start": (1 - time_of) ** 8, "end": time_of**8}.items():
        lines = [f"{name},{p}" for name, p, k in zip(names, values, known, strict=True) if k]
        (place / f"{key}_probs.csv").write_text("\n".join([f",{key}_prob", *lines]))


def counts(time_of: np.ndarray, lineage: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Reads of every gene: a lineage turns its own on as time goes on, cells differ in depth."""
    rates = np.tile(rng.gamma(0.5, 1.0, N_GENES), (len(time_of), 1))
    for k in range(len(LINEAGES)):
        rows, own = np.flatnonzero(lineage == k), slice(OWN_GENES * k, OWN_GENES * (k + 1))
        rates[rows, own] += 4 * np.maximum(time_of[rows, None] - rng.random(OWN_GENES), 0)
    median, deviation = READS
    depth = median * np.exp(deviation * rng.standard_normal(len(time_of)))
    return rng.poisson(rates * (depth / rates.sum(axis=1))[:, None]).astype(np.float32)


def main() -> None:
    """Write the file, run the experiment, print how long each part took, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=6000)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("out") / "dentate")
    options = parser.parse_args()
    mpl.use("Agg")
    write_cells(options.output, options.cells)
    os.environ["SPARROT_DATA"] = str(options.output)
    start = time.perf_counter()

    def report(unit: str, done: int, total: int) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {unit}", flush=True)

    parameters = single_cell.Parameters(sets=("dentate",), n=(5000,), n_seeds=options.samples)
    numbers = single_cell.run(parameters, Work(report=report))
    for claim in single_cell.claims(numbers):
        print(f"{claim.verdict}: {claim.ours}")
    file = options.output / "single-cell-dentate.png"
    single_cell.draw(numbers)["dentate"].savefig(file, dpi=100)
    print(f"{time.perf_counter() - start:6.0f} s  {file}")


if __name__ == "__main__":
    main()
