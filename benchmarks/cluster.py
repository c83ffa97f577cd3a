"""Exact QOT on a Dask cluster of this machine, against threads: time, traffic, tasks, memory.

Two worker processes of one thread each against two threads; the scheduler is in the process of the
client, which gets results from the workers themselves. Bytes are all that go over the loopback
interface meanwhile; memory is the peak of a process, with the interpreter and its packages, and of
the client while it computes.
Compilation and import are not counted, but where workers are held to little memory. MNIST is read
from the folder named by SPARROT_DATA (default ../shared/data); where there is none, points like it
are taken.

    python benchmarks/cluster.py                  # MNIST 70,000 x 50, 200,000 points on branches
    python benchmarks/cluster.py --tight          # workers held to less memory than the points need
    python benchmarks/cluster.py --little         # pairs that do not fit on the client: on workers

`benchmarks/cluster_model.py` fits a cost model to such runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import psutil
from _measure import forget_peak, in_own_process
from scale import DATA, branches, mnist_50

import sparrot
from sparrot.engine import peak_memory
from sparrot.ot._dual import RowsInBlocks

PERPLEXITY = 30


def like_mnist(n: int = 70_000, d: int = 50) -> np.ndarray:
    """Ten clusters of differing shapes with a spectrum like that of images of digits."""
    rng = np.random.default_rng(0)
    scales = np.arange(1, d + 1) ** -0.7
    centers = 2 * rng.standard_normal((10, d)) * scales
    shapes = rng.standard_normal((10, d, d)) * scales / np.sqrt(d)
    labels = rng.integers(10, size=n)
    X = centers[labels] + 0.3 * rng.standard_normal((n, d)) * scales
    for k in range(10):
        rows = labels == k
        X[rows] += rng.standard_normal((rows.sum(), d)) @ shapes[k] * 2
    return X.astype(np.float32)


def wide(n: int = 88_000, d: int = 1_000, rank: int = 2) -> np.ndarray:
    """Points near a space of few dimensions in one of many, as expression of genes is."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    for row in X:
        row += 0.01 * rng.standard_normal(d)
    return X


SETS = {
    "MNIST": lambda n: mnist_50(),
    "like-mnist": like_mnist,
    "branches": branches,
    "wide": wide,
}
TIGHT = "703MB"  # of which Dask uses 80 %, as much as tiles need; the points take 704 MB
LITTLE = 4e8  # bytes for the matrix of 100,000 branches on the client, but not for its pairs


class Tasks(distributed.SchedulerPlugin):
    """Counts the tasks that were done, by name."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()

    def transition(self, key, start, finish, *args, **kwargs) -> None:
        if start == "processing" and finish == "memory":
            self.done["-".join(str(key).split("-")[1:-1])] += 1


@contextmanager
def timed_products() -> Iterator[list[tuple[float, int, int]]]:
    """Lists what each product of Newton takes, if pairs are on workers.

    That is seconds of CPU here, tasks, and the numbers that go with them.
    """
    found: list[tuple[float, int, int]] = []
    product = RowsInBlocks.product

    def timed(rows: RowsInBlocks, x: np.ndarray) -> np.ndarray:
        start = cpu_seconds()
        out = product(rows, x)
        numbers = [len(names) for names in rows._support.names]
        found.append((cpu_seconds() - start, len(numbers), sum(numbers)))
        return out

    RowsInBlocks.product = timed
    try:
        yield found
    finally:
        RowsInBlocks.product = product


def of_a_task(products: list[tuple[float, int, int]]) -> dict[str, float]:
    """What a task of a product costs the client, and what it carries."""
    if not products:
        return {}
    seconds, tasks, numbers = map(sum, zip(*products, strict=True))
    return {"ms of the client for a task": 1e3 * seconds / tasks, "its numbers": numbers / tasks}


def cpu_seconds() -> float:
    """Of this process."""
    spent = os.times()
    return spent.user + spent.system


def described(a: sparrot.Affinity) -> dict:
    return {
        "neighbors": a.mean_neighbors,
        "certificate": f"{a.certificate.largest_error:.0e}{' of all pairs' * a.certificate.exact}",
        "digest": blake2b(a.matrix.data.tobytes() + a.matrix.indices.tobytes()).hexdigest(),
    }


def by_threads(name: str, n: int) -> dict:
    warnings.simplefilter("ignore")
    X = SETS[name](n)
    sparrot.qot(X[:5000], perplexity=PERPLEXITY)
    start, spent = time.perf_counter(), cpu_seconds()
    a = sparrot.qot(X, perplexity=PERPLEXITY, n_jobs=2)
    return {
        "seconds": time.perf_counter() - start,
        "CPU": cpu_seconds() - spent,
        "client MB": peak_memory() / 1e6,
        **described(a),
    }


def by_workers(
    name: str,
    n: int,
    memory_limit: str | None = None,
    as_file: bool = False,
    max_memory: float | None = None,
) -> dict:
    warnings.simplefilter("ignore")
    X = SETS[name](n)
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=memory_limit or "auto",
        ) as cluster,
        distributed.Client(cluster, direct_to_workers=True) as client,
        timed_products() as products,
    ):
        if not as_file:
            sparrot.qot(X[:70_000], perplexity=PERPLEXITY, engine=client)  # compiles
        points = X
        if as_file:
            points = Path(folder) / "points.npy"
            np.save(points, X)
        size = X.nbytes
        del X
        forget_peak()
        tasks = Tasks()
        cluster.scheduler.add_plugin(tasks)
        spent, on_workers = cpu_seconds(), sum(client.run(cpu_seconds).values())
        sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        start = time.perf_counter()
        a = sparrot.qot(points, perplexity=PERPLEXITY, engine=client, max_memory=max_memory)
        return {
            "seconds": time.perf_counter() - start,
            "CPU of client": cpu_seconds() - spent,
            "CPU of workers": sum(client.run(cpu_seconds).values()) - on_workers,
            "products": len(products),
            **of_a_task(products),
            "points MB": size / 1e6,
            "sent MB": (psutil.net_io_counters(pernic=True)["lo"].bytes_sent - sent) / 1e6,
            "tasks": tasks.done.total(),
            "by name": dict(tasks.done),
            "client MB": peak_memory() / 1e6,
            "worker MB": max(client.run(peak_memory).values()) / 1e6,
            **described(a),
        }


def shown(what: str, found: dict) -> None:
    numbers = ", ".join(
        f"{key} {value:,.1f}" if isinstance(value, float) else f"{key} {value}"
        for key, value in found.items()
        if key != "digest"
    )
    print(f"{what}: {numbers}", flush=True)


def compared(name: str, n: int, *options: Any) -> None:
    """Print what two threads and two workers take, by whatever the workers are held to."""
    threads = in_own_process(by_threads, name, n)
    shown(f"{name} {n:,}, two threads", threads)
    workers = in_own_process(by_workers, name, n, *options)
    shown(" ".join(map(str, (f"{name} {n:,}, two workers", *options))), workers)
    same = "the same bits" if workers["digest"] == threads["digest"] else "OTHER BITS"
    print(f"ratio {workers['seconds'] / threads['seconds']:.2f}, {same}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tight", action="store_true")
    parser.add_argument("--little", action="store_true")
    options = parser.parse_args()
    if options.tight:
        compared("wide", 88_000, TIGHT, True)
        return
    if options.little:
        for max_memory in (None, LITTLE):
            found = in_own_process(by_workers, "branches", 100_000, None, True, max_memory)
            shown(f"branches 100,000 in a file, max_memory={max_memory}: {found['digest']}", found)
        return
    compared("MNIST" if DATA.is_dir() else "like-mnist", 70_000)
    compared("branches", 200_000)


if __name__ == "__main__":
    main()
