"""What 10^7 and 10^8 points would need: a cost model fitted on measured runs, and checked on one.

Runs are those of `benchmarks/cluster.py` on branches, with two workers of one thread. Fitted are
power laws in n, by least squares of logarithms: seconds of CPU of the workers (passes over pairs
that boxes leave), those of the client (Newton, supports, the result; the scheduler is in the same
process), bytes that are sent, peak memory of the client. Tasks are c B + d B^2 for B blocks. What a
task costs the client and the scheduler is measured on tasks that do nothing; what one of a product
of Newton costs, where pairs are on workers, on tasks that return the numbers of a block. The last
size is not fitted: it is compared with what the others predict.

    python benchmarks/cluster_model.py                        # fit up to 400,000, check at 800,000
    python benchmarks/cluster_model.py --sizes 80000,160000,320000
    python benchmarks/cluster_model.py --runs runs.json       # keeps what it measures, for the next
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import distributed
import numpy as np
from _measure import in_own_process
from cluster import by_workers, cpu_seconds, shown

from sparrot.engine import Run
from sparrot.engine._dask import _LARGEST, Rows

D = 50  # coordinates, in float32
CORES = 16  # of a machine
NETWORK = 1.25e9  # bytes a second that a machine receives: 10 Gbit
POWER_LAWS = ("CPU of workers", "CPU of client", "sent MB", "client MB")
EMPTY = 1000  # tasks


@dataclass(frozen=True)
class Model:
    """Fitted numbers: exponents and factors of power laws, those of tasks, seconds of a task.

    `each` are those of a task that does nothing, `carried` those of one with numbers of a block.
    """

    laws: dict[str, tuple[float, float]]
    tasks: np.ndarray
    each: float
    carried: float

    @classmethod
    def of(cls, runs: dict[int, dict], each: float, carried: float) -> Model:
        n = np.array(list(runs))
        laws = {
            name: tuple(np.polyfit(np.log(n), np.log([run[name] for run in runs.values()]), 1))
            for name in POWER_LAWS
        }
        B = np.array([blocks(size) for size in n])
        tasks = np.array([run["tasks"] for run in runs.values()])
        fitted = np.linalg.lstsq(np.column_stack([B, B**2]), tasks, rcond=None)[0]
        return cls(laws, np.maximum(fitted, 0), each, carried)

    def __call__(self, name: str, n: float) -> float:
        if name == "tasks":
            return float(self.tasks @ [blocks(n), blocks(n) ** 2])
        power, factor = self.laws[name]
        return float(np.exp(factor) * n**power)

    def moved(self, n: float, machines: int) -> float:
        """Bytes that a machine receives, if it has none of the blocks of a task."""
        return self("tasks", n) / machines * 2 * n / blocks(n) * (4 * D + 16)

    def hours(self, n: float, machines: int) -> dict[str, float]:
        """Of the client, which is one thread here; of the workers, scheduler and network."""
        seconds = {
            "client": self("CPU of client", n),
            "workers": self("CPU of workers", n) / (machines * CORES),
            "scheduler": self("tasks", n) * self.each,
            "network": self.moved(n, machines) / NETWORK,
        }
        return {name: value / 3600 for name, value in seconds.items()}


def blocks(n: float) -> int:
    """Blocks that points are cut into."""
    rows = object.__new__(Rows)
    rows.shape = int(n), D
    return len(rows.cuts())


def measured(n: int, runs: Path | None = None) -> dict:
    known = json.loads(runs.read_text()) if runs is not None and runs.exists() else {}
    found = known.get(str(n)) or in_own_process(by_workers, "branches", n)
    if runs is not None:
        runs.write_text(json.dumps(known | {str(n): found}))
    shown(f"branches {n:,}", {key: value for key, value in found.items() if key != "by name"})
    return found


def seconds_of_a_task(n_numbers: int) -> float:
    """CPU of the client and the scheduler, for a task that returns so many numbers as they are."""
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, direct_to_workers=True) as client,
        Run(1, engine=client) as run,
    ):
        tasks = [(np.full(n_numbers, k),) for k in range(EMPTY)]
        start = cpu_seconds()
        for _ in run._cluster.each("nothing", np.asarray, tasks):
            pass
        return (cpu_seconds() - start) / EMPTY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100000,200000,400000,800000")
    parser.add_argument("--runs", type=Path)
    options = parser.parse_args()
    *fitted, checked = map(int, options.sizes.split(","))
    each, carried = (in_own_process(seconds_of_a_task, n) for n in (0, _LARGEST))
    model = Model.of({n: measured(n, options.runs) for n in fitted}, each, carried)
    for name, (power, _) in model.laws.items():
        print(f"{name}: like n^{power:.2f}")
    c, d = model.tasks
    print(
        f"tasks: {c:.1f} B + {d:.2f} B^2, {1e3 * each:.1f} ms of the client and scheduler each, "
        f"{1e3 * carried:.1f} ms with {_LARGEST:,} numbers there and back"
    )
    run = measured(checked, options.runs)
    print(f"at {checked:,}, not fitted: predicted, and measured")
    for name in (*POWER_LAWS, "tasks"):
        print(f"  {name}: {model(name, checked):,.0f}, {run[name]:,.0f}")
    for n in (1e7, 1e8):
        print(
            f"{n:.0e} points: {model('CPU of workers', n) / 3600:,.0f} hours of a core on workers, "
            f"{model('client MB', n) / 1e3:,.0f} GB of the client, {blocks(n):,} blocks, "
            f"{model('tasks', n):,.0f} tasks, {model('sent MB', n) / 1e3:,.0f} GB sent by two, "
            f"{blocks(n) * model.carried:.1f} s a product"
        )
        for machines in (16, 64):
            hours = ", ".join(f"{who} {h:,.1f}" for who, h in model.hours(n, machines).items())
            moved = model.moved(n, machines) / 1e9
            print(f"  {machines} machines: hours of {hours}; {moved:,.0f} GB to a machine at most")


if __name__ == "__main__":
    main()
