"""What 10^7 and 10^8 points would need: a cost model fitted on measured runs, and checked on one.

Runs are those of `benchmarks/cluster.py` on branches, two workers of one thread. Fitted are power
laws in n, by least squares of logarithms: the seconds that tasks take on workers, those of the
client beside them (Newton, supports, the result), bytes that are sent, peak memory of the client.
Tasks are fitted in the number B of blocks, as c B + d B^2. What a task costs beside its own seconds
is what the client waited for too long, on average. The largest run is not fitted: it is compared
with what the others predict.

    python benchmarks/cluster_model.py                          # fit up to 500,000, check at 10^6
    python benchmarks/cluster_model.py --sizes 50000,100000,200000,400000
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from _measure import in_own_process
from cluster import by_workers, shown

from sparrot.engine._dask import Rows

D = 50  # coordinates, in float32
CORES = 16  # of a machine
POWER_LAWS = ("on workers", "client", "sent MB", "client MB")


@dataclass(frozen=True)
class Model:
    """Fitted numbers: (exponent, log of the factor) of power laws, and those of tasks."""

    laws: dict[str, tuple[float, float]]
    tasks: np.ndarray
    each: float  # seconds that a task costs the scheduler, the client and the ways between

    @classmethod
    def of(cls, runs: dict[int, dict]) -> Model:
        n = np.array(list(runs))
        laws = {
            name: tuple(np.polyfit(np.log(n), np.log([run[name] for run in runs.values()]), 1))
            for name in POWER_LAWS
        }
        B = np.array([blocks(size) for size in n])
        tasks = np.array([run["tasks"] for run in runs.values()])
        fitted = np.linalg.lstsq(np.column_stack([B, B**2]), tasks, rcond=None)[0]
        late = [(run["waited"] - run["on workers"] / 2) / run["tasks"] for run in runs.values()]
        return cls(laws, np.maximum(fitted, 0), float(np.mean(late)))

    def __call__(self, name: str, n: float) -> float:
        if name == "tasks":
            return float(self.tasks @ [blocks(n), blocks(n) ** 2])
        power, factor = self.laws[name]
        return float(np.exp(factor) * n**power)

    def seconds(self, n: float, threads: int) -> float:
        """The client's own, and the longer of what workers and what the scheduler need."""
        on_workers, tasks = self("on workers", n) / threads, self("tasks", n) * self.each
        return self("client", n) + (on_workers + tasks if threads <= 2 else max(on_workers, tasks))


def blocks(n: float) -> int:
    """Blocks that points are cut into."""
    rows = object.__new__(Rows)
    rows.shape = int(n), D
    return len(rows.cuts())


def measured(n: int) -> dict:
    found = in_own_process(by_workers, "branches", n)
    found["client"] = found["seconds"] - found["waited"]
    shown(f"branches {n:,}", {key: value for key, value in found.items() if key != "by name"})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="62500,125000,250000,500000,1000000")
    *fitted, checked = map(int, parser.parse_args().sizes.split(","))
    model = Model.of({n: measured(n) for n in fitted})
    for name, (power, _) in model.laws.items():
        print(f"{name}: like n^{power:.2f}")
    print(
        f"tasks: {model.tasks[0]:.1f} B + {model.tasks[1]:.2f} B^2, {1e3 * model.each:.1f} ms each"
    )
    run = measured(checked)
    print(f"at {checked:,}, not fitted: predicted, and measured")
    print(f"  seconds: {model.seconds(checked, 2):.0f}, {run['seconds']:.0f}")
    for name in (*POWER_LAWS, "tasks"):
        print(f"  {name}: {model(name, checked):,.0f}, {run[name]:,.0f}")
    for n in (1e7, 1e8):
        print(
            f"{n:.0e} points: {model('on workers', n) / 3600:,.0f} hours of one core on workers, "
            f"{model('client', n) / 3600:,.1f} hours and {model('client MB', n) / 1e3:,.0f} GB of "
            f"the client, {blocks(n):,} blocks, {model('tasks', n):,.0f} tasks "
            f"({model('tasks', n) * model.each / 3600:,.1f} hours of the scheduler)"
        )
        for machines in (16, 64):
            seconds = model.seconds(n, machines * CORES)
            moved = model("tasks", n) * n / blocks(n) * (4 * D + 16) / 1e9
            print(
                f"  {machines} machines of {CORES} cores: {seconds / 3600:,.1f} hours; at most "
                f"{moved / machines:,.0f} GB to each machine, if no task finds a block there"
            )


if __name__ == "__main__":
    main()
