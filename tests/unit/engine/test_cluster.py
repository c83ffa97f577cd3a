"""The exact graph on a Dask cluster of real processes: the bits of threads, come what may."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import sparrot
from sparrot.affinity import _folder
from sparrot.cost import make_cost
from sparrot.engine import Run, _dask
from sparrot.engine._dask import Cluster
from sparrot.errors import (
    ClusterError,
    InvalidInputError,
    MissingExtraError,
    NotEnoughMemoryError,
)
from sparrot.ot import _active_set, _dual, screen
from sparrot.ot._active_set import Ceilings, EqualPoints
from sparrot.ot._dual import GATHERED_BYTES
from sparrot.ot._screening import PAIR_BYTES, ClientPairs, Pairs, SupportBlock

dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
dask_array = pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, of slow machines

N = 8200  # points, in two blocks


@pytest.fixture(scope="module", autouse=True)
def blocks_of_few_rows():
    """So that few points are in several blocks, and not with the client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_dask, "_FEW", _dask.ALIGNED)
        patch.setattr(_dask, "_SMALLEST", _dask.ALIGNED)
        yield


@pytest.fixture(scope="module")
def cluster():
    # A local cluster looks, some time after a worker was lost, whether it came back. If it is
    # killed once more just then, the cluster would give up its place.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="2GiB"
        )
        yield cluster
        with suppress(KeyError):  # as it closes, it may be told of a worker that was killed before
            cluster.close()


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster, timeout=60) as client:
        yield client


@pytest.fixture(scope="module", name="X")
def points():
    rng = np.random.default_rng(0)
    centers = 8 * rng.standard_normal((12, 5))
    return centers[rng.integers(12, size=N)] + rng.standard_normal((N, 5))


@pytest.fixture(scope="module")
def by_threads(X):
    return sparrot.qot(X, 0.01)


def same(a, b):
    assert a.matrix.data.tobytes() == b.matrix.data.tobytes()
    assert np.array_equal(a.matrix.indices, b.matrix.indices)
    assert np.array_equal(a.matrix.indptr, b.matrix.indptr)
    if a.potential is not None:
        assert a.potential.tobytes() == b.potential.tobytes()
        assert a.certificate == b.certificate
    return True


def little(a):
    """Bytes on the client for the matrix of a result, but not for its candidate pairs."""
    return (GATHERED_BYTES + PAIR_BYTES) / 2 * a.matrix.nnz


@pytest.mark.parametrize("n_workers", [4, 1, 2])
def test_the_number_of_workers_does_not_matter(X, by_threads, cluster, client, n_workers):
    cluster.scale(n_workers)
    client.wait_for_workers(n_workers, timeout=60)
    assert same(sparrot.qot(X, 0.01, engine=client), by_threads)
    assert same(sparrot.qot(X, 0.01, engine=client, max_memory=little(by_threads)), by_threads)


FLOOR, WEIGHTS, FAT = (
    {"eps": 0.01, "min_neighbors": 4},
    {"eps": 0.01, "weights": np.linspace(1, 2, N)},
    {"eps": 0.02, "hollow": False},
)


@pytest.mark.parametrize(
    "arguments", [{"perplexity": 10}, FLOOR, {"n_neighbors": 6}, WEIGHTS, FAT], ids=" ".join
)
def test_whatever_is_asked_for_is_the_same_as_by_threads(X, client, arguments):
    X = X.astype(np.float32)
    assert same(sparrot.qot(X, engine=client, **arguments), sparrot.qot(X, **arguments))


@pytest.fixture
def pairs_on_workers(monkeypatch):
    """Also where all would fit on the client."""

    def leave(self, n_neighbors):
        if self._may_leave and isinstance(self._pairs, ClientPairs):
            self._leave_on_workers(self._r)

    monkeypatch.setattr(Ceilings, "make_room", leave)


@pytest.mark.usefixtures("pairs_on_workers")
@pytest.mark.parametrize("arguments", [FLOOR, WEIGHTS, FAT], ids=" ".join)
def test_newton_on_the_workers_has_the_bits_of_that_on_the_client(X, client, arguments):
    assert same(sparrot.qot(X, engine=client, **arguments), sparrot.qot(X, **arguments))


ONE_OFTEN, ALL_OFTEN = np.maximum(np.arange(N) - 320, 0), np.arange(N) // 20


@pytest.mark.usefixtures("pairs_on_workers")
@pytest.mark.parametrize("copies", [ONE_OFTEN, ALL_OFTEN], ids=["one point", "all points"])
def test_equal_points_have_one_row_on_a_cluster_as_well(X, client, copies, monkeypatch):
    methods, make = [], EqualPoints.__init__

    def seen(self, *arguments):
        methods.append(self)
        make(self, *arguments)

    monkeypatch.setattr(EqualPoints, "__init__", seen)
    X = X[np.random.default_rng(1).permutation(copies)]
    assert same(sparrot.qot(X, 0.01, engine=client), sparrot.qot(X, 0.01))
    assert len(methods) == 2


def test_a_perplexity_that_equal_points_rule_out_is_refused_on_a_cluster_as_well(X, client):
    X = X[np.maximum(np.arange(N) - N // 2 - 1000, 0)]
    for engine in (None, client):
        with pytest.raises(InvalidInputError, match=r"is out of reach: .* up to 5,101 of 8,200"):
            sparrot.qot(X, perplexity=10, engine=engine)


def test_pairs_that_do_not_fit_on_the_client_never_come_there(
    X, by_threads, client, monkeypatch, caplog
):
    gather, came = Cluster._gather, []

    def seen(self, futures):
        found = gather(self, futures)
        came.extend(type(one) for one in found)
        return found

    monkeypatch.setattr(Cluster, "_gather", seen)
    with caplog.at_level("INFO", "sparrot"):
        sparrot.qot(X, 0.01, engine=client)
        assert Pairs in came
        assert "stay on the workers" not in caplog.text
        came.clear()
        sparrot.qot(X, 0.01, engine=client, max_memory=little(by_threads))
    assert came
    assert not {Pairs, SupportBlock} & set(came)
    assert "stay on the workers" in caplog.text


@pytest.mark.parametrize("underestimated", [False, True])
def test_pairs_go_to_the_workers_when_they_become_too_many(
    X, by_threads, client, monkeypatch, underestimated
):
    if underestimated:
        monkeypatch.setattr(_active_set, "_SPARE", 1e-6)
    path = list(sparrot.qot_path(X, [0.001, 0.01]))
    arguments = {"engine": client, "max_memory": little(by_threads)}
    for a, b in zip(sparrot.qot_path(X, [0.001, 0.01], **arguments), path, strict=True):
        assert same(a, b)


def test_pairs_that_fit_nowhere_are_refused_with_what_they_need(X, by_threads, client, monkeypatch):
    monkeypatch.setattr(Cluster, "memory", lambda cluster: 1e6)
    with pytest.raises(NotEnoughMemoryError, match=r"workers have 0\.001 GB together; give the"):
        sparrot.qot(X, 0.01, engine=client, max_memory=little(by_threads))


@pytest.mark.parametrize(
    ("module", "what"), [(_active_set, r"about 1\d neighbors"), (_dual, "97562 entries")]
)
def test_a_matrix_that_does_not_fit_on_the_client_is_refused(
    X, by_threads, client, monkeypatch, module, what
):
    monkeypatch.setattr(module, "GATHERED_BYTES", 10 * GATHERED_BYTES)
    with pytest.raises(NotEnoughMemoryError, match=f"a matrix of {what}.* on the client"):
        sparrot.qot(X, 0.01, engine=client, max_memory=little(by_threads))


def test_a_checkpoint_of_pairs_on_the_workers_has_the_potentials(X, by_threads, client, tmp_path):
    arguments = {"engine": client, "max_memory": little(by_threads)}
    first = sparrot.qot(X, 0.01, checkpoint=tmp_path / "checkpoint", **arguments)
    assert same(first, by_threads)
    again = sparrot.qot(X, 0.01, checkpoint=tmp_path / "checkpoint")
    assert len(again.history) < len(first.history) / 2
    assert abs(again.matrix - by_threads.matrix).max() < 1e-7


def test_a_few_rows_that_are_looked_at_again_round_as_all(client):
    X = np.random.default_rng(0).standard_normal((6000, 5))  # a part of 1,500 is few by itself
    assert same(sparrot.qot(X, engine=client), sparrot.qot(X))


def test_points_in_a_file_are_read_by_the_workers(X, by_threads, client, tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, X)
    assert same(sparrot.qot(str(path), 0.01, engine=client), by_threads)
    mapped = np.load(path, mmap_mode="r")
    assert same(sparrot.qot(mapped, 0.01, engine=client), by_threads)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_a_file_are_read_in_any_order(X, order, tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.asarray(X, order=order))
    some = np.array([7, 3, N - 1, 3])
    assert np.array_equal(_dask._read_rows(path, some), X[some])
    assert np.array_equal(_dask._read_rows(path, slice(5, 9)), X[5:9])
    if order == "C":
        os.truncate(path, path.stat().st_size - 8)
        with pytest.raises((OSError, ValueError)):
            _dask._read_rows(path, some)


def test_dask_arrays_and_zarr_folders_never_come_to_the_client(
    X, by_threads, client, tmp_path, monkeypatch
):
    array = dask_array.from_array(X, chunks=(1111, 2))
    array.to_zarr(str(tmp_path / "points.zarr"))
    gather, most = Cluster._gather, 0

    def seen(self, futures):
        nonlocal most
        found = gather(self, futures)
        most = max([most, *(len(one) for one in found if isinstance(one, np.ndarray))])
        return found

    monkeypatch.setattr(Cluster, "_gather", seen)
    for points in (array, tmp_path / "points.zarr"):
        assert same(sparrot.qot(points, 0.01, engine=client), by_threads)
    assert 0 < most < len(X)


def test_cosines_of_single_precision_are_the_same_wherever_the_points_are(X, client, tmp_path):
    X = X.astype(np.float32)
    np.save(tmp_path / "points.npy", X)
    expected = sparrot.qot(X, 0.1, metric="cosine")
    for points in (tmp_path / "points.npy", dask_array.from_array(X, chunks=(5000, 5))):
        assert same(sparrot.qot(points, 0.1, metric="cosine", engine=client), expected)


def test_a_file_that_workers_cannot_read_is_named(client, tmp_path):
    with pytest.raises(InvalidInputError, match=r"absent\.npy cannot be read by a worker"):
        sparrot.qot(tmp_path / "absent.npy", engine=client)
    with pytest.raises(InvalidInputError, match=r"workers read \.npy files and"):
        sparrot.qot(tmp_path / "points.csv", engine=client)


def test_a_file_with_a_hole_says_where(X, client, tmp_path):
    X = X.copy()
    X[8000, 3] = np.nan
    np.save(tmp_path / "points.npy", X)
    with pytest.raises(InvalidInputError, match="NaN at row 8000, column 3"):
        sparrot.qot(tmp_path / "points.npy", engine=client)


def test_nearest_neighbors_are_the_same_as_by_threads(X, client):
    assert same(sparrot.knn(X, 7, engine=client), sparrot.knn(X, 7))


def test_a_path_of_eps_is_the_same_as_by_threads(X, client):
    grid = [0.02, 0.01]
    paths = (sparrot.qot_path(X, grid, engine=engine) for engine in (client, None))
    for a, b in zip(*paths, strict=True):
        assert same(a, b)


def test_a_check_on_the_cluster_finds_what_one_by_threads_finds(X, by_threads, client, tmp_path):
    np.save(tmp_path / "points.npy", X)
    some = by_threads.check(X, sample=100)
    assert not some.exact
    assert some.missed_rows == pytest.approx(1 - 0.05**0.01)
    for points in (tmp_path / "points.npy", dask_array.from_array(X, chunks=(5000, 5)), X):
        assert by_threads.check(points, sample=100, engine=client) == some


def test_a_full_check_on_the_cluster_finds_an_entry_that_is_missing(X, client):
    X = X.astype(np.float32)
    a = sparrot.qot(X, 0.1, metric="cosine", min_neighbors=3)
    W = a.matrix.copy()
    W.data[W.indptr[N - 1]] = 0
    found = replace(a, matrix=W).check(X, engine=client)
    assert found.exact
    assert found.violation > 1e-6
    assert a.check(X, sample=100, engine=client).violation < 1e-12


def test_an_estimator_and_scanpy_take_the_cluster(X, by_threads, client):
    anndata = pytest.importorskip("anndata")
    assert same(sparrot.QOT(0.01, engine=client).fit(X).result_, by_threads)
    assert sparrot.QOT(engine=client.scheduler.address).fit(X[:50]).n_features_in_ == 5
    a, b = anndata.AnnData(X), anndata.AnnData(X)
    sparrot.sc.neighbors(a, eps=0.01, engine=client)
    sparrot.sc.neighbors(b, eps=0.01)
    for key in ("connectivities", "distances"):
        assert (a.obsp[key] != b.obsp[key]).nnz == 0


def test_tiles_that_boxes_rule_out_are_never_sent(X, client, monkeypatch):
    far = X + 1000 * (np.arange(N) >= N // 512 * 256)[:, None]  # a block here, and one there
    sent, submit = [], Cluster.submit_all
    with Run(1, engine=client) as run:
        cost = make_cost(run.hold(far), "sqeuclidean")
        cost = cost.take(cost.order())

        def seen(self, name, function, tasks):
            sent.extend(name for _ in tasks)
            return submit(self, name, function, tasks)

        monkeypatch.setattr(Cluster, "submit_all", seen)
        found = screen(cost, np.full(N, 1e-6), run)
    assert len(found)
    assert sent.count("pairs-of-tile") == 2  # of three: one of each block with itself


def test_few_tasks_are_in_flight(X, client):
    with Run(1, engine=client) as run:
        cluster, running, most = run._cluster, 0, 0

        def start(some):
            nonlocal running, most
            running += len(some)
            most = max(most, running)
            return cluster.submit_all("test", abs, some)

        for k, result in enumerate(cluster.ordered(start, [(-k,) for k in range(40)])):
            assert result == k
            running -= 1
    assert most <= 2 * _dask._AHEAD * sum(client.nthreads().values())


def test_tasks_are_in_groups_that_the_dashboard_can_name(X, cluster, client):
    sparrot.knn(X, 5, engine=client)
    tasks = {"points", "vectors", "nearest-of-some", "nearest-of-some-finish"}
    assert {f"sparrot-{name}" for name in tasks} <= {*cluster.scheduler.task_prefixes}


def test_few_points_stay_with_the_client(X, monkeypatch, client):
    monkeypatch.setattr(client, "submit", None)
    assert same(sparrot.qot(X[:2000], engine=client), sparrot.qot(X[:2000]))


def at(stage, action):
    """A callback that acts once, in the middle of a pass."""
    done = []

    def callback(report):
        if report.stage == stage and report.n_points == N and report.done == 1 and not done:
            done.append(action())

    return callback


@pytest.mark.posix
@pytest.mark.parametrize("on_workers", [False, True])
@pytest.mark.parametrize("stage", ["screening", "newton"])
def test_a_worker_that_is_killed_takes_nothing_with_it(X, by_threads, client, stage, on_workers):
    client.wait_for_workers(2, timeout=60)
    pids = client.run(os.getpid)
    kill = at(stage, lambda: os.kill(next(iter(pids.values())), signal.SIGKILL))
    arguments = {"max_memory": little(by_threads)} if on_workers else {}
    assert same(sparrot.qot(X, 0.01, engine=client, progress=kill, **arguments), by_threads)
    client.wait_for_workers(2, timeout=60)
    assert set(client.run(os.getpid).values()) != set(pids.values())  # it was killed


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def expected(by_threads, tmp_path, monkeypatch):
    """The files of a folder that one process writes; workers write in blocks of few rows."""
    monkeypatch.setattr(_folder, "_BLOCK_ENTRIES", 10_000)
    _folder.write_folder(by_threads, tmp_path / "a.zarr")
    found = files(tmp_path / "a.zarr")
    shutil.rmtree(tmp_path / "a.zarr")
    return found


def written(affinity, client, folder):
    """The same files, written with a cluster."""
    with Run(1, engine=client) as run:
        _folder.write_folder(affinity, folder / "a.zarr", run)
    assert [path.name for path in folder.iterdir()] == ["a.zarr"]
    return files(folder / "a.zarr")


def test_the_workers_write_a_folder_with_the_bytes_of_one_process(
    X, by_threads, client, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(_folder, "_write_block", None)  # of the client
    a = sparrot.qot(X, 0.01, engine=client, out=tmp_path / "a.zarr")
    assert files(tmp_path / "a.zarr") == expected
    assert same(a, by_threads)
    assert not a.matrix.data.flags.owndata


@pytest.mark.posix
def test_a_worker_that_is_killed_while_it_writes_does_no_harm(
    by_threads, client, expected, tmp_path, monkeypatch
):
    client.wait_for_workers(2, timeout=60)
    address, pid = next(iter(client.run(os.getpid).items()))
    on_workers = Run.on_workers

    def killing(self, *arguments):
        for k, one in enumerate(on_workers(self, *arguments)):
            if k == 1:
                os.kill(pid, signal.SIGKILL)
            yield one

    monkeypatch.setattr(Run, "on_workers", killing)
    monkeypatch.setattr(_folder, "_write_block", None)
    assert written(by_threads, client, tmp_path) == expected
    while address in client.scheduler_info()["workers"]:
        time.sleep(0.05)
    client.wait_for_workers(2, timeout=60)


def test_the_client_writes_what_workers_do_not_reach(
    by_threads, client, expected, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(_folder, "_MARK", "another")  # as if the workers had folders of their own
    with caplog.at_level("INFO", "sparrot"):
        assert written(by_threads, client, tmp_path) == expected
    assert "workers do not reach a.zarr" in caplog.text


def test_the_client_writes_what_a_lost_cluster_leaves(
    by_threads, client, expected, tmp_path, monkeypatch, caplog
):
    on_workers = Run.on_workers

    def lost(self, *arguments):
        yield next(on_workers(self, *arguments))
        raise ClusterError("the cluster is gone")

    monkeypatch.setattr(Run, "on_workers", lost)
    assert written(by_threads, client, tmp_path) == expected
    assert "the cluster is gone: a.zarr is written here" in caplog.text


def test_a_worker_that_comes_late_is_used(cluster, client):
    def where(k):
        time.sleep(0.05)
        return distributed.get_worker().address

    before, found = set(client.nthreads()), []
    with Run(1, engine=client) as run:
        for address in run._cluster.each("test", where, [(k,) for k in range(60)]):
            if not found:
                cluster.scale(3)
                client.wait_for_workers(3, timeout=60)
            found.append(address)
    assert len(found) == 60
    assert set(found) - before
    cluster.scale(2)


def test_an_interruption_leaves_the_cluster_free(X, by_threads, client):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sparrot.qot(X, 0.01, engine=client, progress=at("screening", interrupt))
    assert same(sparrot.qot(X, 0.01, engine=client), by_threads)


@pytest.mark.parametrize("limit", ["100MB", "650MB"])  # tiles need 560 MB, and 700 have that much
def test_too_little_memory_is_said_before_anything_is_sent(limit):
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            memory_limit=limit,
        ) as small,
        distributed.Client(small) as client,
        pytest.raises(NotEnoughMemoryError, match=r"0\.56 GB on the worker .* Dask uses 80 %"),
    ):
        sparrot.qot(np.zeros((5000, 1000)), engine=client)


def test_workers_whose_memory_is_full_end_the_call(X, monkeypatch):
    """As a worker that holds what is not ours: it is in this process, and paused for its memory."""
    monkeypatch.setattr(_dask, "_PATIENCE", 0.3)
    pauses = {"target": False, "spill": False, "pause": 0.01, "monitor-interval": "50ms"}
    with (
        dask.config.set({f"distributed.worker.memory.{k}": value for k, value in pauses.items()}),
        distributed.LocalCluster(
            n_workers=1, processes=False, dashboard_address=None, memory_limit="4GB"
        ) as full,
        distributed.Client(full) as client,
        pytest.raises(NotEnoughMemoryError, match="memory of all workers is full"),
    ):
        sparrot.qot(X, 0.01, engine=client)


def test_a_lost_cluster_is_one_sentence_and_the_checkpoint_serves_another(
    X, by_threads, client, tmp_path
):
    """The scheduler is a process of its own here, which is killed after the first round."""
    checkpoint, address = tmp_path / "checkpoint", tmp_path / "scheduler.json"
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--no-nanny"]
    file = ["--scheduler-file", str(address)]
    processes = [
        subprocess.Popen([*command, *file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in ([*scheduler, "--port", "0"], [*worker, "--nthreads", "2"])
    ]
    try:
        with distributed.Client(scheduler_file=str(address), timeout=60) as lost:
            lost.wait_for_workers(1, timeout=60)

            sparrot.qot(X, 0.02, engine=lost, checkpoint=checkpoint)
            arguments = {"checkpoint": checkpoint, "progress": at("screening", processes[0].kill)}
            with pytest.raises(ClusterError, match=r"the cluster is gone .*checkpoint"):
                sparrot.qot(X, 0.1, engine=lost, **arguments)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    found = sparrot.qot(X, 0.01, engine=client, checkpoint=checkpoint)
    assert abs(found.matrix - by_threads.matrix).max() < 1e-7


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_a_client_with_tls_is_passed_through(X, by_threads, tmp_path):
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*make, "-keyout", key, "-out", cert], check=True, capture_output=True)
    files = {f"tls_{role}_cert": cert for role in ("client", "scheduler", "worker")}
    files |= {name.replace("cert", "key"): key for name in files}
    security = distributed.Security(tls_ca_file=cert, require_encryption=True, **files)
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            protocol="tls://",
            security=security,
            dashboard_address=None,
        ) as closed,
        distributed.Client(closed, security=security) as client,
    ):
        assert all(address.startswith("tls://") for address in client.nthreads())
        assert same(sparrot.qot(X, 0.01, engine=client), by_threads)


@pytest.fixture(name="line")
def command_line(tmp_path):
    """A command with a cluster of its own, and points that are too many for the client."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4200, 3)) @ rng.standard_normal((3, 1000))
    np.save(tmp_path / "points.npy", X)
    line = [sys.executable, "-m", "sparrot", "affinity", "points.npy", "--min-neighbors", "0"]
    return [*line, "--dask", "local:1", "-o", "out.npz"]


def test_the_command_line_starts_a_cluster_of_its_own(line, tmp_path):
    line += ["--eps", "0.01"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    expected = sparrot.qot(np.load(tmp_path / "points.npy"), 0.01)
    assert same(sparrot.load(tmp_path / "out.npz"), expected)


@pytest.mark.posix
def test_ctrl_c_on_the_command_line_is_one_sentence_of_all_processes(line, tmp_path):
    line += ["--perplexity", "15", "--checkpoint", "checkpoint"]
    pipe = subprocess.PIPE
    begun = subprocess.Popen(line, cwd=tmp_path, stderr=pipe, text=True, start_new_session=True)
    while begun.poll() is None and not (tmp_path / "checkpoint").exists():
        time.sleep(0.05)
    os.killpg(begun.pid, signal.SIGINT)
    _, said = begun.communicate(timeout=60)
    assert begun.returncode == 130, said
    assert re.fullmatch(r"sparrot: interrupted; .* goes on from it\n", said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": "approximate"}, "is for an exact search"),
        ({"solver": "newton"}, "is for an exact search"),
        ({"metric": "manhattan"}, "needs an n x n matrix"),
        ({"engine": 4}, "must be a dask.distributed.Client"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(X, client, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        sparrot.qot(X, **{"engine": client, **arguments})


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sparrot\[dask\]'"):
        sparrot.qot(np.eye(3), engine="tcp://localhost:1")
