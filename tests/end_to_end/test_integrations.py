"""The page of integrations, run as it stands; and what needs compiled packages, uncompiled."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
SECTIONS = {
    "scanpy": "scanpy",
    "scikit-learn": "sklearn",
    "openTSNE": "openTSNE",
    "CellRank": "cellrank",
    "Palantir": "palantir",
    "PHATE": "phate",
    "graphtools": "graphtools",
    "Files": "numpy",
}
COMPILED = ("UMAP and new cells in scanpy", "Exact neighbors", "umap-learn")
PEERS = ("CellRank", "Palantir", "PHATE", "graphtools")
# umap-learn and pynndescent spend a minute on compilation, and a second here without it.
UNCOMPILED = """
import warnings
import anndata, numpy as np, scanpy as sc, scipy.sparse as sp, sparrot

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 30)
X = rng.standard_normal((60, 5)) + 1.5 * y[:, None]
kinds = np.array(["a", "b"])[y]
ref, new = anndata.AnnData(X[::2]), anndata.AnnData(X[1::2])
ref.obs["kind"] = kinds[::2]
ref.obs["kind"] = ref.obs["kind"].astype("category")
sparrot.sc.neighbors(ref, 6, perplexity=12)
a = sparrot.sc.affinity(ref.copy())
sc.tl.umap(ref, maxiter=15)
assert np.isfinite(ref.obsm["X_umap"]).all()

# The layout of sparrot has the same keys, and leaves the graph alone.
theirs, ours = ref.copy(), ref.copy()
ours.obsp["connectivities"] = sp.csr_matrix(a.matrix)
del ours.obsm["X_umap"], ours.uns["umap"]
sparrot.sc.umap(ours, maxiter=5)
assert (ours.obsp["connectivities"] != a.matrix).nnz == 0
assert set(ours.uns["umap"]["params"]) == set(theirs.uns["umap"]["params"])
for name in "ab":
    assert ours.uns["umap"]["params"][name] == theirs.uns["umap"]["params"][name]
X_umap = ours.obsm["X_umap"]
assert (X_umap.shape, X_umap.dtype) == (theirs.obsm["X_umap"].shape, np.float32)
layout = sparrot.umap_layout(a, min_dist=0.5, n_epochs=5)
assert np.array_equal(X_umap, layout.embedding.astype(np.float32))
ours.obsm["start"] = rng.standard_normal((30, 2))
changed = [{"init_pos": "random"}, {"init_pos": "start"}, {"random_state": 1}]
changed += [{"gamma": 3.0}, {"a": 3.0, "b": 0.5}, {"random_state": np.random.RandomState(0)}]
for k, options in enumerate(changed):
    other = sparrot.sc.umap(ours, maxiter=5, key_added=f"u{k}", copy=True, **options)
    assert np.isfinite(other.obsm[f"u{k}"]).all()
    assert not np.array_equal(other.obsm[f"u{k}"], X_umap)
    if options == {"random_state": 1}:
        assert other.uns[f"u{k}"]["params"]["random_state"] == 1
assert not any(key.startswith("u") for key in ours.obsm)
same = {name: ours.uns["umap"]["params"][name] for name in "ab"}
layout = sparrot.umap_layout(a, min_dist=0.1, n_epochs=5, repulsion_strength=1.0, **same)
assert np.array_equal(X_umap, layout.embedding.astype(np.float32))

# A component that was cut out is an affinity.
warnings.simplefilter("ignore", sparrot.AffinityWarning)
far = anndata.AnnData(np.vstack([X, 100 + X[:40]]))
sparrot.sc.neighbors(far, 6, perplexity=12)
part = far[60:].copy()
sparrot.sc.umap(part, maxiter=5)
alone = sparrot.umap_layout(far.obsp["connectivities"][60:, 60:], min_dist=0.5, n_epochs=5)
assert np.array_equal(part.obsm["X_umap"], alone.embedding.astype(np.float32))

before = a.matrix.copy()
w = np.sort(a.matrix.data)
few, many = (sparrot.umap_layout(a, n_epochs=k) for k in (12, 200))
assert few.n_edges == a.matrix.nnz // 2
assert few.n_dropped == (w < w[-1] / 11).sum() // 2 > 0
nothing = sparrot.umap_layout(a, n_epochs=1)
assert (nothing.n_dropped, nothing.dropped_weight) == (few.n_edges, 1)
assert 0 < few.dropped_weight < 0.5
assert many.n_dropped < few.n_dropped
again = sparrot.umap_layout(a, n_epochs=12)
assert np.array_equal(few.embedding, again.embedding)
assert abs(a.matrix - before).max() == 0
ring = np.roll(np.eye(20), 1, axis=0)
whole = sparrot.umap_layout(ring + ring.T, init=rng.standard_normal((20, 2)))
assert (whole.n_epochs, whole.n_edges, whole.n_dropped) == (500, 20, 0)
for init, message in [
    (np.zeros((3, 2)), "init must have shape (30, 2)"),
    ("pca", "init must be 'spectral', 'random' or an array, got 'pca'"),
]:
    try:
        sparrot.umap_layout(a, init=init)
        raise AssertionError
    except sparrot.InvalidInputError as error:
        assert message in str(error)

warnings.filterwarnings("ignore", "n_jobs value 1 overridden", UserWarning)
sc.tl.ingest(new, ref, obs="kind", embedding_method="umap")
assert (new.obs["kind"] == kinds[1::2]).mean() > 0.8

# The usual way: wide data, PCA by default, and new cells that bring only their genes.
wide = anndata.AnnData(np.hstack([0.1 * rng.standard_normal((60, 60)), X]))
ref, new = wide[::2].copy(), wide[1::2].copy()
ref.obs["kind"] = kinds[::2]
ref.obs["kind"] = ref.obs["kind"].astype("category")
sparrot.sc.neighbors(ref, 6, perplexity=12, n_pcs=5)
said = ref.uns["neighbors"]["params"]
assert (said["n_pcs"], "use_rep" in said) == (5, False)
sc.tl.ingest(new, ref, obs="kind", embedding_method="pca")
assert (new.obs["kind"] == kinds[1::2]).mean() > 0.8
# Fewer components than are stored, under another key, and a layout of sparrot.
del ref.obsm["X_pca"], ref.uns["pca"], ref.varm["PCs"]
sc.pp.pca(ref, n_comps=25)
sparrot.sc.neighbors(ref, 6, perplexity=12, n_pcs=20, key_added="qot")
sparrot.sc.umap(ref, maxiter=5, neighbors_key="qot")
named = wide[1::2].copy()
sc.tl.ingest(named, ref, obs="kind", neighbors_key="qot", embedding_method=("umap", "pca"))
assert (named.obs["kind"] == kinds[1::2]).mean() > 0.8
assert (named.obsm["X_umap"].shape, named.obsm["X_pca"].shape) == ((30, 2), (30, 25))
# With use_rep, ingest would compare genes of the new cells with components of the old.
said["use_rep"] = "X_pca"
wrong = wide[1::2].copy()
sc.tl.ingest(wrong, ref, obs="kind", embedding_method="pca")
assert (wrong.obs["kind"] == kinds[1::2]).mean() < 0.7

# A graph that was saved into a file.
import tempfile
path = tempfile.mkdtemp() + "/cells.h5ad"
wide.write_h5ad(path)
sparrot.save(sparrot.qot(wide.X, perplexity=12), path)
saved = anndata.read_h5ad(path)
sc.tl.umap(saved, neighbors_key="sparrot", maxiter=5)
assert (list(saved.obsm), saved.obsm["X_umap"].shape) == (["X_umap"], (60, 2))
"""


SCRIPTS = Path(__file__).parents[1] / "peers"  # each for an environment of its own
BY_SCRIPT = {"scVelo": SCRIPTS / "scvelo_velocity.py", "squidpy": SCRIPTS / "squidpy_graph.py"}


def blocks(section):
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert found
    return found


def run_alone(code, *options, **environment):
    """In a process of its own: some packages change matplotlib, or leave threads behind."""
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore")  # of packages that are not ours
@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_of_integrations_runs(section):
    if find_spec(SECTIONS[section]) is None:
        pytest.skip(f"{SECTIONS[section]} is not installed")
    for block in blocks(section):  # its asserts are the check
        run_alone(block) if section in PEERS else exec(block, {})


def test_every_section_of_the_page_is_run():
    sections = set(re.findall(r"\n## (.*)", PAGE.read_text()))
    assert sections == {*SECTIONS, *COMPILED, *BY_SCRIPT}
    assert all(script.is_file() for script in BY_SCRIPT.values())


def test_umap_and_ingest_read_the_graph(pytestconfig):
    pynndescent = pytest.importorskip("pynndescent")
    if int(pynndescent.__version__.split(".")[1]) > 5:
        pytest.skip("sc.tl.ingest of scanpy 1.11 fails with pynndescent 0.6 and newer")
    pages = [block for section in COMPILED for block in blocks(section)]
    others = [
        "ignore:n_jobs value",  # umap-learn 0.5.5 says that to scanpy
        "ignore:The 'future.infer_string' option",  # pandas 3.1 says that to anndata 0.13
    ]
    warnings = ["error", *others, *(pytestconfig.getoption("pythonwarnings") or [])]
    options = [f"-W{warning}" for warning in warnings]
    run_alone("\n".join([UNCOMPILED, *pages]), *options, NUMBA_DISABLE_JIT="1")
