"""The case on real data: six kinds of graphs, their tasks, and the form in which the data comes.

A unit is one set in one form, one seed and one graph: the graph is built once, and all tasks get
it. Its numbers are stored in a file as soon as they are there and never computed twice: a run that
was stopped goes on where it was. Real data is read from the folder named by SPARROT_DATA (default
../shared/data); sets whose file is not there are left out, and named.

    python benchmarks/real_data.py                           # all units, into out/real_data_800
    python benchmarks/real_data.py --page docs/real_data.md  # and the tables of the page
    python benchmarks/real_data.py --quick                   # the built-in sets, few points, a seed
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.stats import spearmanr, t as student
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import sparrot
from sparrot._files import whole_file
from sparrot.datasets import Cells, load_arabidopsis_root, load_pbmc_facs
from sparrot.datasets._cells import load_marrow_cd34
from sparrot.errors import NotConvergedError

DATA = Path(os.environ.setdefault("SPARROT_DATA", str(Path(__file__).parents[2] / "shared/data")))
SEEDS = 5
POINTS, SHARE = 800, 0.9  # a seed draws so many points, and at most this share of a set
KEPT = 0.2  # of the reads of a cell that is thinned


# The sets: from a generator to points with classes.


@dataclass(frozen=True)
class Draw:
    """Points with their classes; which are noisy, if that differs; and what grows from where.

    `lineages` has the rows of each, and a time for every point; it is followed in so many
    `eigenvectors`.
    """

    X: np.ndarray
    labels: np.ndarray
    noisy: np.ndarray | None = None
    start: int = 0
    lineages: dict[str, Any] | None = None
    eigenvectors: int = 10


def rows_of(labels: Any, rng: np.random.Generator, most: int) -> np.ndarray:
    n = min(most, round(SHARE * len(labels)))
    return np.sort(rng.choice(len(labels), n, replace=False))


def sampled(X: Any, labels: Any, rng: np.random.Generator, most: int) -> Draw:
    rows = rows_of(labels, rng, most)
    return Draw(np.asarray(X[rows], dtype=np.float64), classes(labels[rows]))


def classes(labels: Any) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1]


def components(X: np.ndarray, d: int) -> np.ndarray:
    from sklearn.decomposition import PCA

    return PCA(d, random_state=0).fit_transform(X)


def stored(name: str, *keys: str) -> list[np.ndarray]:
    with np.load(DATA / name, allow_pickle=False) as file:
        return [file[key] for key in keys]


def digits(rng: np.random.Generator, most: int) -> Draw:
    from sklearn.datasets import load_digits

    return sampled(*load_digits(return_X_y=True), rng, most)


def mixture(rng: np.random.Generator, most: int) -> Draw:
    made = sparrot.datasets.make_mixture(min(most // 3, 500), random_state=rng)
    return Draw(made.X, made.labels)


def spiral(rng: np.random.Generator, most: int) -> Draw:
    """Classes are arcs of equal angle; from its start the curve is followed both ways.

    Noise has six peaks: the cuts between seven arcs are at all its strengths. The leading pair of
    eigenvectors is a circle, and distances in more of them do not grow along it.
    """
    made = sparrot.datasets.make_spiral(most, random_state=rng)
    labels = (7 * made.t / (2 * np.pi)).astype(int)
    there = made.t <= np.pi
    lineages = {
        "one way": (np.flatnonzero(there), made.t),
        "the other way": (np.flatnonzero(~there), 2 * np.pi - made.t),
    }
    return Draw(made.X, labels, lineages=lineages, eigenvectors=2)


def images(name: str, rng: np.random.Generator, most: int, noise: float | None = None) -> Draw:
    """50 components; or pixels, with noise of a given deviation in every second image."""
    draw = sampled(*stored(name, "X", "y"), rng, most)
    X = draw.X / 255
    if noise is None:
        return Draw(components(X, 50), draw.labels)
    noisy = rng.permutation(len(X)) % 2 == 1
    X += noise * noisy[:, None] * rng.standard_normal(X.shape)
    return Draw(X, draw.labels, noisy)


def forest(rng: np.random.Generator, most: int) -> Draw:
    draw = sampled(*stored("covtype.npz", "X", "y"), rng, most)
    X = draw.X
    return Draw((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), draw.labels)


def cytometry(rng: np.random.Generator, most: int) -> Draw:
    X, types, marker = stored("cytof_huimm.npz", "X", "celltype", "marker")
    return sampled(np.arcsinh(X[:, marker] / 5), types, rng, most)


def reduced(form: str, rng: np.random.Generator, most: int) -> Draw:
    """Standardized genes, or as many of the leading components as `form` says."""
    genes, pcs, types = stored("pbmc68k_reduced.npz", "X", "X_pca", "celltype")
    X = genes if form == "standardized" else pcs[:, : int(form)]
    return sampled(X, types, rng, most)


def load_pbmc3k() -> Cells:
    *arrays, shape, genes, types = stored(
        "pbmc3k.npz", "data", "indices", "indptr", "shape", "genes", "celltype"
    )
    return Cells(csr_array(tuple(arrays), shape=tuple(shape)).astype(np.float32), genes, types)


@cache
def whole(load: Callable[[], Cells]) -> tuple[Cells, np.ndarray | None]:
    """The cells of a set and the columns of its variable genes, chosen with all cells.

    Types of fewer than 10 cells are left out.
    """
    from sparrot.paper._expression import kept_cells_and_genes

    cells, genes = load(), None
    if cells.counts:
        rows, genes = kept_cells_and_genes(cells)
        cells = cells.take(rows)
    _, place, sizes = np.unique(cells.types, return_inverse=True, return_counts=True)
    return cells.take(np.flatnonzero(sizes[place] >= 10)), genes


def thinned(X: csr_array, rng: np.random.Generator) -> tuple[csr_array, np.ndarray]:
    """Counts, and which cells keep each of their reads only with probability `KEPT`."""
    few = rng.permutation(X.shape[0]) % 2 == 1
    p = np.repeat(np.where(few, KEPT, 1.0), np.diff(X.indptr))
    data = rng.binomial(X.data.astype(np.int64), p).astype(np.float32)
    return csr_array((data, X.indices, X.indptr), shape=X.shape), few


def expressed(cells: Cells, genes: np.ndarray | None, form: str) -> np.ndarray:
    """Cells as points, in one of the `FORMS`."""
    from sparrot.paper._expression import expression, points_of_counts

    standardized = form.startswith("standardized")
    if cells.counts:
        X = points_of_counts(cells.X, genes, standardized=standardized)
    else:
        X = expression(cells)[0] if standardized else cells.X.toarray().astype(np.float64)
    last = form.rpartition("_")[2]
    return components(X, int(last)) if last.isdigit() else X


FORMS = {
    "genes": "genes",
    "standardized": "standardized genes",
    "20": "20 components",
    "50": "50 components",
    "standardized_50": "50 components, standardized",
}


def cells_of(
    name: str, form: str, rng: np.random.Generator, most: int, uneven: bool = False
) -> Draw:
    """Cells of a set in a form; `uneven` thins every second one. The start cell is always drawn."""
    cells, genes = whole(LOADERS[name])
    rows = rows_of(cells.types, rng, most)
    if "named" in cells.columns:
        rows = np.union1d(rows, np.flatnonzero(cells.columns["named"] == "start"))
    cells, few = cells.take(rows), None
    if uneven:
        X, few = thinned(cells.X, rng)
        cells = Cells(X, cells.genes, cells.types, columns=cells.columns)
    X, labels = expressed(cells, genes, form), classes(cells.types)
    if name not in GROWN:
        return Draw(X, labels, few)
    from sparrot.paper.single_cell import _SETS, _lineages

    start = _SETS[GROWN[name]].origin(X, cells)
    return Draw(X, labels, few, start, _lineages(GROWN[name], cells))


LOADERS: dict[str, Callable[[], Cells]] = {
    "pbmc3k": load_pbmc3k,
    "facs": load_pbmc_facs,
    "marrow": load_marrow_cd34,
    "root": load_arabidopsis_root,
}
GROWN = {"marrow": "marrow", "root": "arabidopsis"}  # with pseudotimes, by their names in the paper


@dataclass(frozen=True)
class Set:
    """A labeled set in one form: `draw` takes a generator and the most points."""

    title: str
    family: str
    draw: Callable[[np.random.Generator, int], Draw]
    file: str | None = None


FEW, GENES, SCALED = "few dimensions", "genes", "standardized genes"
THIN_GENES, THIN_SCALED, THIN_FEW = (f"thinned, {f}" for f in (GENES, SCALED, "50 components"))
NOISY = tuple(f"pixels, noise {s} in half" for s in (0.5, 1.0))
MIXTURE, SPIRAL = (f"{made}, 250 dimensions" for made in ("mixture", "spiral"))
FAMILIES = (FEW, GENES, SCALED, THIN_FEW, THIN_GENES, THIN_SCALED, *NOISY, MIXTURE, SPIRAL)


def _cells(name: str, title: str, file: str, forms: str, thin: str = "") -> dict[str, Set]:
    families = {"genes": (GENES, THIN_GENES), "standardized": (SCALED, THIN_SCALED)}
    made = {}
    for form in forms.split():
        family, thin_family = families.get(form, (FEW, THIN_FEW))
        draw = partial(cells_of, name, form)
        made[f"{name}_{form}"] = Set(f"{title}: {FORMS[form]}", family, draw, file)
        if form in thin.split():
            what = f"{title}, thinned: {FORMS[form]}"
            again = partial(cells_of, name, form, uneven=True)
            made[f"{name}_thinned_{form}"] = Set(what, thin_family, again, file)
    return made


def _noisy(noise: float) -> Set:
    family = f"pixels, noise {noise} in half"
    return Set(f"MNIST: {family}", family, partial(images, "mnist.npz", noise=noise), "mnist.npz")


FOUR, THREE = "genes standardized 20 50", "genes standardized 50"
SETS = {
    "digits": Set("digits", FEW, digits),
    "mixture": Set("mixture", MIXTURE, mixture),
    "spiral": Set("spiral", SPIRAL, spiral),
    "mnist": Set("MNIST: 50 components", FEW, partial(images, "mnist.npz"), "mnist.npz"),
    "mnist_noise_0.5": _noisy(0.5),
    "mnist_noise_1.0": _noisy(1.0),
    "fashion": Set(
        "Fashion-MNIST: 50 components",
        FEW,
        partial(images, "fashion_mnist.npz"),
        "fashion_mnist.npz",
    ),
    "cytof": Set("mass cytometry", FEW, cytometry, "cytof_huimm.npz"),
    "covtype": Set("Covertype", FEW, forest, "covtype.npz"),
    **{
        f"pbmc68k_{form}": Set(
            f"PBMC 68k: {FORMS[form]}",
            SCALED if form == "standardized" else FEW,
            partial(reduced, form),
            "pbmc68k_reduced.npz",
        )
        for form in ("standardized", "20", "50")
    },
    **_cells("pbmc3k", "PBMC 3k", "pbmc3k.npz", FOUR, THREE),
    **_cells("facs", "purified blood", "pbmc_facs.npz", f"{FOUR} standardized_50", THREE),
    **_cells("marrow", "marrow", "marrow_cd34.npz", FOUR, THREE),
    **_cells("root", "Arabidopsis root", "arabidopsis_root_10k.npz", FOUR),
}
QUICK, QUICK_POINTS = ("digits", "mixture", "spiral"), 150  # all are built in


# The graphs: from points to a symmetric matrix.


def qot(X: np.ndarray, **scale: Any) -> csr_array:
    return sparrot.qot(X, n_jobs=1, **scale).matrix


def eot(X: np.ndarray) -> csr_array:
    return sparrot.eot(X, perplexity=30, tol=1e-6, drop=0.05, n_jobs=1).matrix


def knn(X: np.ndarray) -> csr_array:
    return sparrot.knn(X, 15, n_jobs=1).matrix


def scanpy_graph(X: np.ndarray) -> csr_array:
    import anndata
    import scanpy as sc

    adata = anndata.AnnData(X)
    sc.pp.neighbors(adata, n_neighbors=15, use_rep="X", method="umap", random_state=0)
    return csr_array(adata.obsp["connectivities"].astype(np.float64))


def gaussian(X: np.ndarray) -> csr_array:
    """A bandwidth for each point, of its perplexity, on three times as many neighbors: t-SNE's."""
    from openTSNE.affinity import PerplexityBasedNN

    return csr_array(PerplexityBasedNN(X, 30, method="exact", n_jobs=1, random_state=0).P)


ROWS, FLOOR, THEIRS = "rows_15", "floor_5", "scanpy"
OF_QOT: dict[str, tuple[str, Callable[[np.ndarray], csr_array]]] = {
    "plain": ("eps 1", partial(qot, eps=1.0)),
    "floor_3": ("eps 1, floor 3", partial(qot, eps=1.0, min_neighbors=3)),
    FLOOR: ("eps 1, floor 5", partial(qot, eps=1.0, min_neighbors=5)),
    "floor_10": ("eps 1, floor 10", partial(qot, eps=1.0, min_neighbors=10)),
    "plain_15": ("perplexity 15", partial(qot, perplexity=15)),
    "plain_30": ("perplexity 30", partial(qot, perplexity=30)),
    "floor_5_30": ("perplexity 30, floor 5", partial(qot, perplexity=30, min_neighbors=5)),
    "rows_5": ("rows 5", partial(qot, n_neighbors=5)),
    ROWS: ("rows 15", partial(qot, n_neighbors=15)),
    "rows_30": ("rows 30", partial(qot, n_neighbors=30)),
}
OTHERS: dict[str, tuple[str, Callable[[np.ndarray], csr_array]]] = {
    "eot": ("EOT 30", eot),
    "knn": ("k-NN 15", knn),
    THEIRS: ("scanpy 15", scanpy_graph),
    "gaussian": ("Gaussian 30", gaussian),
}
GRAPHS = OF_QOT | OTHERS
KINDS = ("plain", FLOOR, "floor_5_30", ROWS, *OTHERS)  # of QOT the paper's, and our defaults


# The tasks: from a graph, a draw and a seed to numbers.


def clustering(W: csr_array, draw: Draw, seed: int) -> dict[str, Any]:
    """Spectral clustering into as many clusters as there are classes."""
    k = int(draw.labels.max()) + 1
    model = sparrot.SpectralClustering(k, affinity="precomputed", random_state=seed)
    return {"spectral": adjusted_rand_score(draw.labels, model.fit(W).labels_)}


RESOLUTIONS = (0.25, 0.5, 1, 2, 4)


def leiden(W: csr_array, draw: Draw, seed: int) -> dict[str, Any]:
    """At every resolution; the best is chosen by the classes, and so an upper bound."""
    import anndata
    import scanpy as sc

    adata = anndata.AnnData(np.zeros((len(draw.labels), 1), dtype=np.float32))
    scores, clusters = {}, {}
    for resolution in RESOLUTIONS:
        sc.tl.leiden(
            adata,
            resolution=resolution,
            adjacency=csr_matrix(W),
            flavor="igraph",
            n_iterations=2,
            directed=False,
            random_state=seed,
        )
        found = adata.obs["leiden"].to_numpy()
        scores[resolution] = adjusted_rand_score(draw.labels, found)
        clusters[resolution] = len(set(found))
    best = max(RESOLUTIONS, key=lambda r: scores[r])
    return {
        "leiden": scores[1],
        "leiden_best": scores[best],
        "resolution": best,
        "clusters": clusters[1],
        "classes": int(draw.labels.max()) + 1,
        **{f"leiden_{r}": score for r, score in scores.items()},
    }


def known_points(labels: np.ndarray, seed: int, share: float) -> np.ndarray:
    """A share of each class, and at least one of it."""
    rng = np.random.default_rng(seed)
    of_class = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    return np.concatenate(
        [rng.choice(rows, max(1, round(share * len(rows))), replace=False) for rows in of_class]
    )


def spread(W: csr_array, known: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Label spreading: F = (I - 0.9 S)^(-1) Y with S = D^(-1/2) W D^(-1/2)."""
    d = np.sqrt(W.sum(axis=1))
    S = W.toarray() / d[:, None] / d
    start = np.zeros((len(d), Y.shape[1]))
    start[known] = Y
    return np.linalg.solve(np.eye(len(d)) - 0.9 * S, start)


def harmonic(W: csr_array, known: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The harmonic extension; zero in pieces of the graph without any label."""
    piece = connected_components(W, directed=False)[1]
    reached = np.flatnonzero(np.isin(piece, piece[known]))
    F = np.zeros((len(piece), Y.shape[1]))
    F[reached] = sparrot.spectral.harmonic_extension(
        W[reached][:, reached], np.searchsorted(reached, known), Y
    )
    return F


def propagation(W: csr_array, draw: Draw, seed: int) -> dict[str, Any]:
    """Accuracy on the other points; one that no label reaches is counted as wrong."""
    labels, numbers = draw.labels, {}
    for p in (1, 5):
        known = known_points(labels, seed, p / 100)
        for name, extend in (("spreading", spread), ("harmonic", harmonic)):
            F = extend(W, known, np.eye(labels.max() + 1)[labels[known]])
            right = (F.argmax(axis=1) == labels) & (F.max(axis=1) > 0)
            numbers[f"{name}_{p}"] = np.delete(right, known).mean()
    return numbers


def pseudotime(W: csr_array, draw: Draw, seed: int) -> dict[str, Any]:
    """Of each lineage: Spearman's correlation of time with the distance from the start.

    The distance is that of the leading eigenvectors: of ten, as in the paper, but for the spiral.
    """
    if draw.lineages is None:
        return {}
    k = 1 + draw.eigenvectors
    Y = sparrot.eigenpairs(W, k, components="each", random_state=seed, n_jobs=1).functions[:, 1:]
    far = np.square(Y - Y[draw.start]).sum(axis=1)
    found = {
        f"time_{name}": float(spearmanr(far[rows], at[rows]).statistic)
        for name, (rows, at) in draw.lineages.items()
    }
    return found | {"time": float(np.mean(list(found.values())))}


def links(W: csr_array, draw: Draw, seed: int) -> dict[str, Any]:
    """Shape of the graph; and which share of their weight noisy and clean points have to noisy.

    The second eigenvalue is that of the largest piece: of all pieces it is one.
    """
    degrees = W.sum(axis=1)
    pairs = sparrot.eigenpairs(W, 2, components="largest", random_state=seed, n_jobs=1)
    numbers = {
        "entries": W.nnz / len(draw.labels),
        "fewest": (degrees**2 / W.multiply(W).sum(axis=1)).min(),  # effective neighbors
        "pieces": connected_components(W, directed=False)[0],
        "gap": 1 - pairs.values[1],
        "on": 1 / (pairs.vectors[:, 1] ** 4).sum(),  # so many points the second vector lives
    }
    if draw.noisy is not None:
        to_noisy = (W @ draw.noisy.astype(float)) / degrees
        numbers["noisy_to_noisy"] = to_noisy[draw.noisy].mean()
        numbers["clean_to_noisy"] = to_noisy[~draw.noisy].mean()
    return numbers


def seen(Y: np.ndarray, draw: Draw) -> dict[str, float]:
    """How many points have the class of most of their 10 nearest; and the trustworthiness."""
    from sklearn.manifold import trustworthiness
    from sklearn.neighbors import KNeighborsClassifier

    labels = draw.labels
    votes = KNeighborsClassifier(11).fit(Y, labels)
    nearest = votes.kneighbors(n_neighbors=10, return_distance=False)
    counts = (labels[nearest][:, :, None] == np.arange(labels.max() + 1)).sum(axis=1)
    return {
        "labels": (counts.argmax(axis=1) == labels).mean(),
        "trust": trustworthiness(draw.X, Y, n_neighbors=15),
    }


def layouts(W: csr_array, draw: Draw, seed: int) -> dict[str, Any]:
    """t-SNE from principal components, and UMAP from eigenvectors; of each, what is to be seen."""
    from openTSNE.initialization import pca

    from sparrot.layout._tsne import tsne_layout

    start = pca(draw.X, 2, random_state=seed)
    flat = {
        "tsne": np.array(tsne_layout(W, initialization=start, random_state=seed, n_jobs=1)),
        "umap": sparrot.umap_layout(W, n_epochs=500, random_state=seed).embedding,
    }
    return {
        f"{name}_{key}": value for name, Y in flat.items() for key, value in seen(Y, draw).items()
    }


OF_GRAPH = (links, clustering, leiden, propagation, pseudotime)
DRAWN = ("plain", "floor_5_30", ROWS, *OTHERS)  # of QOT the paper's, and the defaults of layouts


def measured(graph: str, draw: Draw, seed: int, quick: bool) -> dict[str, Any]:
    """All numbers of one graph; of a task that does not converge, only its error."""
    start = time.perf_counter()
    numbers: dict[str, Any] = {"points": len(draw.labels)}
    try:
        W = csr_array(GRAPHS[graph][1](draw.X))
    except NotConvergedError as error:
        return numbers | {"failure": str(error)}
    numbers["seconds"] = time.perf_counter() - start
    for task in (*OF_GRAPH, layouts) if graph in DRAWN and not quick else OF_GRAPH:
        try:
            numbers |= task(W, draw, seed)
        except NotConvergedError as error:
            numbers[f"failure of {task.__name__}"] = str(error)
    return numbers


# The run.


def narrow(draw: Draw) -> Draw:
    """The same distances in no more dimensions than points, where there are more."""
    n, p = draw.X.shape
    return replace(draw, X=np.linalg.qr(draw.X.T, mode="r").T) if p > n else draw


def place(folder: Path, name: str, seed: int, graph: str) -> Path:
    return folder / f"{name}-{seed}-{graph}.json"


def run(folder: Path, name: str, seed: int, most: int, quick: bool = False) -> None:
    """Compute and store the units of one draw that are missing."""
    missing = [graph for graph in GRAPHS if not place(folder, name, seed, graph).exists()]
    if missing:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what sparrot warns of is among the numbers
            draw = narrow(SETS[name].draw(np.random.default_rng(seed), most))
            for graph in missing:
                numbers = measured(graph, draw, seed, quick)
                with whole_file(place(folder, name, seed, graph)) as temporary:
                    temporary.write_text(json.dumps(numbers, default=float))


def run_all(
    folder: Path, names: list[str], seeds: range, most: int, jobs: int, quick: bool
) -> None:
    work = [(name, seed) for seed in seeds for name in names]
    with ProcessPoolExecutor(jobs) as pool:
        draws = pool.map(partial(run, folder, most=most, quick=quick), *zip(*work, strict=True))
        for _ in tqdm(draws, total=len(work), unit="draw"):
            pass


# The page: from stored numbers to tables.

TASKS = {
    "spectral": "Spectral clustering (adjusted Rand index)",
    "leiden": "Leiden, resolution 1 (adjusted Rand index)",
    "leiden_best": "Leiden, best resolution (adjusted Rand index)",
    "spreading_1": "1 % of labels, spreading (accuracy on the others)",
    "spreading_5": "5 % of labels, spreading (accuracy on the others)",
    "harmonic_1": "1 % of labels, harmonic extension (accuracy on the others)",
    "harmonic_5": "5 % of labels, harmonic extension (accuracy on the others)",
    "time": "Pseudotime (Spearman, mean over branches)",
}
LAYOUTS = {
    "tsne_labels": "t-SNE: points with the class of most of their 10 nearest",
    "tsne_trust": "t-SNE: trustworthiness (15 neighbors)",
    "umap_labels": "UMAP: points with the class of most of their 10 nearest",
    "umap_trust": "UMAP: trustworthiness (15 neighbors)",
}
FLOORED = (
    *((floor, "plain") for floor in ("floor_3", FLOOR, "floor_10")),
    ("floor_5_30", "plain_30"),
    *((rows, ROWS) for rows in ("rows_5", "rows_30")),
    *((ROWS, other) for other in ("plain_15", FLOOR, "floor_5_30")),
)
SMALL = 0.01  # a difference that nobody would notice
START, END = "<!-- tables -->", "<!-- end of tables -->"
Units = dict[tuple[str, str], list[dict[str, Any]]]  # of a set and a graph, seed by seed


def read(folder: Path, names: list[str], seeds: range) -> Units:
    """Of each set, the seeds for which every graph is there: differences are paired."""
    units = {}
    for name in names:
        files = [[place(folder, name, seed, graph) for graph in GRAPHS] for seed in seeds]
        whole = [draw for draw in files if all(file.exists() for file in draw)]
        for graph, column in zip(GRAPHS, zip(*whole, strict=True), strict=False):
            units[name, graph] = [json.loads(file.read_text()) for file in column]
    return units


def scores(units: Units, name: str, graph: str, task: str) -> np.ndarray:
    """Seed by seed; what failed scores nothing."""
    return np.array([unit.get(task) or 0.0 for unit in units[name, graph]])


def interval(d: np.ndarray) -> tuple[float, float]:
    """The mean, and half of its 95 % interval (Student's t)."""
    if len(d) < 2:
        return float(d.mean()), np.inf
    half = student.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
    return float(d.mean()), float(half)


def verdict(d: np.ndarray) -> int:
    """1 if paired differences are above zero by more than noise, -1 if they are below, else 0."""
    mean, half = interval(d)
    return int(np.sign(mean)) if abs(mean) > max(half, SMALL) else 0


def sets_with(units: Units, task: str) -> list[str]:
    """The sets on which some graph has a number for the task."""
    return list(dict.fromkeys(n for (n, _), of in units.items() if any(task in u for u in of)))


def graphs_with(units: Units, task: str) -> list[str]:
    return [
        g for g in GRAPHS if any(task in u for (_, h), of in units.items() if h == g for u in of)
    ]


def only(units: Units, graphs: Iterable[str]) -> Units:
    return {(name, graph): of for (name, graph), of in units.items() if graph in graphs}


def differences(units: Units, names: list[str], pair: tuple[str, str], task: str) -> np.ndarray:
    """Of each set (row) and seed, the first graph's score less the second's."""
    columns = [[scores(units, name, graph, task) for name in names] for graph in pair]
    least = min(len(column) for column in columns[0])
    first, second = (np.array([column[:least] for column in of]) for of in columns)
    return first - second


def table(first: str, columns: Iterable[str], rows: list[list[str]]) -> str:
    head = [first, *columns]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def compared(units: Units, names: list[str], pair: tuple[str, str], task: str) -> str:
    """Mean difference over the sets with its interval over seeds; sets won and lost."""
    d = differences(units, names, pair, task)
    mean, half = interval(d.mean(axis=0))
    verdicts = [verdict(row) for row in d]
    text = f"{signed(mean)} ± {half:.2f}"
    counts = [f"{verdicts.count(v)} {word}" for v, word in ((1, "better"), (-1, "worse"))]
    won = ", ".join(c for c in counts if not c.startswith("0"))
    return text + f" ({won})" * bool(won)


def by_family(units: Units, task: str) -> dict[str, list[str]]:
    names = sets_with(units, task)
    found = {f: [n for n in names if SETS[n].family == f] for f in FAMILIES}
    return {family: of for family, of in found.items() if of}


def family_table(units: Units, task: str, base: str) -> str:
    """`base` less every other graph, by kind of data."""
    others = [graph for graph in graphs_with(units, task) if graph != base]
    rows = [
        [f"{family} ({len(names)})", *(compared(units, names, (base, g), task) for g in others)]
        for family, names in by_family(units, task).items()
    ]
    return table(f"{GRAPHS[base][0]}, less", [GRAPHS[g][0] for g in others], rows)


def floor_table(units: Units, tasks: dict[str, str]) -> str:
    """What a floor changes, and which scale: over all sets."""
    shown = {task: title.partition(" (")[0] for task, title in tasks.items() if task in TASKS}
    rows = []
    for pair in FLOORED:
        cells = [compared(units, sets_with(units, task), pair, task) for task in shown]
        rows.append([f"{GRAPHS[pair[0]][0]}, less {GRAPHS[pair[1]][0]}", *cells])
    return table("", shown.values(), rows)


def score_table(units: Units, task: str) -> str:
    """Mean and standard deviation; in bold what is better than all others by more than noise."""
    graphs, rows = graphs_with(units, task), []
    for name in sets_with(units, task):
        of = {graph: scores(units, name, graph, task) for graph in graphs}
        best = max(of, key=lambda graph: of[graph].mean())
        alone = all(verdict(of[best] - of[graph]) > 0 for graph in graphs if graph != best)
        row = [SETS[name].title]
        for graph, values in of.items():
            text = f"{values.mean():.2f} ± {values.std(ddof=len(values) > 1):.2f}"
            failed = sum(unit.get(task) is None for unit in units[name, graph])
            text = f"**{text}**" if alone and graph == best else text
            row.append(text + f" ({failed} failed)" * (failed > 0))
        rows.append(row)
    return table("", [GRAPHS[graph][0] for graph in graphs], rows)


COUNTED = ("pbmc3k", "facs", "marrow")  # the sets of counts, which come in all forms


def form_table(units: Units, task: str) -> str:
    """Means over the three sets of counts, by form: which one is best for a graph."""
    graphs, rows = graphs_with(units, task), []
    for thin in ("", "thinned_"):
        for form, title in FORMS.items():
            names = [f"{name}_{thin}{form}" for name in COUNTED]
            if all((name, ROWS) in units for name in names):
                means = [np.mean([scores(units, n, g, task).mean() for n in names]) for g in graphs]
                rows.append([thin.replace("_", ", ") + title, *(f"{m:.2f}" for m in means)])
    return table("", [GRAPHS[graph][0] for graph in graphs], rows)


def resolution_table(units: Units) -> str:
    """Leiden's mean score at each resolution, over the sets of real data, and the best of each."""
    made = (MIXTURE, SPIRAL, *NOISY)
    names = [n for n in sets_with(units, "leiden") if SETS[n].family not in made]
    keys = [*(f"leiden_{r}" for r in RESOLUTIONS), "leiden_best"]
    rows = [
        [
            title,
            *(f"{np.mean([scores(units, n, graph, k).mean() for n in names]):.2f}" for k in keys),
        ]
        for graph, (title, _) in GRAPHS.items()
    ]
    return table("", [*map(str, RESOLUTIONS), "the best for each draw"], rows)


def span(key: str, form: str, units: list[dict[str, Any]]) -> str:
    """Smallest and largest over the seeds, once if they look alike."""
    values = [unit[key] for unit in units if key in unit]
    if not values:
        return "failed"
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def typical(key: str, form: str, units: list[dict[str, Any]]) -> str:
    values = [unit[key] for unit in units if key in unit]
    return format(float(np.median(values)), form) if values else "failed"


def weakest(key: str, form: str, units: list[dict[str, Any]]) -> str:
    """Of the draw with the smallest gap, that and the points on which its vector lives."""
    found = [unit for unit in units if key in unit]
    if not found:
        return "failed"
    unit = min(found, key=lambda unit: unit[key])
    return f"{unit[key]:{form}} on {unit['on']:.0f}"


NUMBERS = {
    "Share of their weight that noisy points have to noisy ones (half of the points; median)": (
        "noisy_to_noisy",
        typical,
        ".2f",
    ),
    "The same of clean points: to noisy ones (median)": ("clean_to_noisy", typical, ".2f"),
    "Clusters that Leiden finds at resolution 1 (median)": ("clusters", typical, ".0f"),
    "Best resolution of Leiden (median)": ("resolution", typical, "g"),
    "Connected pieces (fewest to most)": ("pieces", span, ".0f"),
    "One less the second eigenvalue in the largest piece, on so many points (smallest)": (
        "gap",
        weakest,
        ".4f",
    ),
    "Fewest effective neighbors of a row (median)": ("fewest", typical, ".1f"),
    "Neighbors of a row, on average (median)": ("entries", typical, ".0f"),
    "Seconds for the graph, on one busy core (median)": ("seconds", typical, ".2f"),
}


def number_table(units: Units, key: str, cell: Callable[..., str], form: str) -> str:
    """A row for each set and a column for each graph."""
    rows = [
        [SETS[name].title, *(cell(key, form, units[name, graph]) for graph in GRAPHS)]
        for name in sets_with(units, key)
    ]
    return table("", [title for title, _ in GRAPHS.values()], rows)


THREAD, FEW_POINTS = 1e-3, 0.01  # a gap, and a share of the points, that make a thread


def whole_table(units: Units) -> str:
    """In how many draws the graph is in pieces, and in how many its largest one hardly is one."""
    rows = []
    for graph, (title, _) in GRAPHS.items():
        draws = [unit for (_, g), of in units.items() if g == graph for unit in of if "gap" in unit]
        few = [unit for unit in draws if unit["on"] < FEW_POINTS * unit["points"]]
        counts = (
            len(draws),
            sum(unit["pieces"] > 1 for unit in draws),
            len(few),
            sum(unit["gap"] < THREAD for unit in few),
        )
        rows.append([title, *map(str, counts)])
    heads = (
        "draws",
        "in pieces",
        "second vector of the largest on fewer than 1 % of the points",
        "of these by a thread, with a gap below 0.001",
    )
    return table("", heads, rows)


def drawn(units: Units) -> str:
    """Seeds and points of each set."""
    texts = [
        f"{SETS[name].title} {len(of)} x {of[0]['points']}"
        for (name, graph), of in units.items()
        if graph == THEIRS
    ]
    return f"Draws x points: {'; '.join(texts)}.\n"


def tables(units: Units) -> str:
    """First differences by kind of data, then every score, then what graphs are like."""
    tasks = {task: title for task, title in (TASKS | LAYOUTS).items() if sets_with(units, task)}
    parts = ["## Differences by kind of data\n", drawn(units)]
    kinds, scales = only(units, KINDS), only(units, OF_QOT)
    others = only(units, (ROWS, *OTHERS))
    for task, title in tasks.items():
        parts.append(f"### {title}\n")
        if task in LAYOUTS:
            parts.append(family_table(kinds, task, ROWS))
        else:
            parts += [family_table(others, task, ROWS), family_table(scales, task, ROWS)]
    if any((f"{name}_genes", ROWS) in units for name in COUNTED):
        parts.append("## Forms of the cells, means over PBMC 3k, purified blood and marrow\n")
        for task in ("spectral", "leiden", "leiden_best", "spreading_1", "spreading_5"):
            parts += [f"### {TASKS[task]}, by form\n", form_table(kinds, task)]
    parts.append("## A floor, a scale, a resolution\n")
    parts += ["Over all sets:\n", floor_table(units, tasks)]
    parts += ["### Leiden at each resolution, means over real sets\n", resolution_table(units)]
    parts.append("## Every score\n")
    for task, title in tasks.items():
        parts += [f"### {title}, all sets\n", score_table(kinds, task)]
    for branch in ("Ery", "Mono", "DC"):
        if sets_with(units, f"time_{branch}"):
            parts += [f"### Pseudotime along {branch}\n", score_table(kinds, f"time_{branch}")]
    parts.append("## Every score of QOT graphs\n")
    for task in (task for task in TASKS if task in tasks):
        parts += [f"### {TASKS[task]}, all floors and scales\n", score_table(scales, task)]
    parts += ["## What the graphs are like\n", "### Pieces, and threads\n", whole_table(units)]
    for title, (key, cell, form) in NUMBERS.items():
        if sets_with(units, key):
            parts += [f"### {title}\n", number_table(units, key, cell, form)]
    return "\n".join(parts)


def write_page(path: Path, text_of_tables: str) -> None:
    """Put the tables between the two marks of the page, or at the end of one that has none."""
    text = path.read_text() if path.exists() else "# Real data\n"
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2] or "\n"
    with whole_file(path) as temporary:
        temporary.write_text(f"{before}{START}\n\n{text_of_tables}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the numbers")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--points", type=int, default=POINTS, help="the most that a seed draws")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="draws of each set")
    parser.add_argument("--jobs", type=int, default=2, help="processes; 0 for the page alone")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    parser.add_argument(
        "--quick", action="store_true", help="the built-in sets, few points, no layouts"
    )
    options = parser.parse_args()
    names, seeds, most = options.sets, range(options.seeds), options.points
    if options.quick:
        names, seeds, most = list(QUICK), range(1), QUICK_POINTS
    folder = options.output / f"real_data_{most}"
    absent = [name for name in names if SETS[name].file and not (DATA / SETS[name].file).exists()]
    if absent:
        print(f"not in {DATA}, and left out: {', '.join(absent)}", file=sys.stderr)
    names = [name for name in names if name not in absent]
    if options.jobs:
        run_all(folder, names, seeds, most, options.jobs, options.quick)
    if options.page:
        write_page(options.page, tables(read(folder, names, seeds)))


if __name__ == "__main__":
    main()
