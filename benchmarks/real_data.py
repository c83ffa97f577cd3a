"""The graphs on real data: clusters, labels, pieces, layouts; five seeds, losses shown.

A unit is one set, one seed and one graph, or its layouts. Its numbers are stored in a file as soon
as they are there and never computed twice: a run that was stopped goes on where it was. Real data
is read from the folder named by SPARROT_DATA (default ../shared/data); sets whose file is not there
are left out, and named.

    python benchmarks/real_data.py                           # all units, into out/real_data_1500
    python benchmarks/real_data.py --page docs/real_data.md  # and the tables of the page
    python benchmarks/real_data.py --quick                   # two built-in sets, few points, a seed
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.stats import t as student
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import sparrot
from sparrot._files import whole_file
from sparrot.errors import NotConvergedError

DATA = Path(os.environ.get("SPARROT_DATA", Path(__file__).parents[2] / "shared" / "data"))
SEEDS = range(5)
POINTS, SHARE = 1500, 0.9  # a seed draws so many points, and at most this share of a set
Labeled = tuple[Any, Any]  # points, and the class of each


# The sets: from a generator to points with classes.


def sampled(X: Any, labels: Any, rng: np.random.Generator, most: int) -> Labeled:
    n = min(most, round(SHARE * len(labels)))
    rows = np.sort(rng.choice(len(labels), n, replace=False))
    return X[rows], np.unique(labels[rows], return_inverse=True)[1]


def components(X: Any) -> np.ndarray:
    from sklearn.decomposition import PCA

    return PCA(50, random_state=0).fit_transform(np.asarray(X, dtype=np.float32))


def stored(name: str, *keys: str) -> list[np.ndarray]:
    with np.load(DATA / name, allow_pickle=False) as file:
        return [file[key] for key in keys]


def digits(rng: np.random.Generator, most: int) -> Labeled:
    from sklearn.datasets import load_digits

    return sampled(*load_digits(return_X_y=True), rng, most)


def spiral(rng: np.random.Generator, most: int) -> Labeled:
    """Six arcs of one closed curve: something to propagate, but no clusters."""
    curve = sparrot.datasets.make_spiral(min(most, 1000), random_state=rng)
    return curve.X, (curve.t // (np.pi / 3)).astype(int)


def mixture(rng: np.random.Generator, most: int) -> Labeled:
    made = sparrot.datasets.make_mixture(min(most // 3, 500), random_state=rng)
    return made.X, made.labels


def images(name: str, rng: np.random.Generator, most: int) -> Labeled:
    X, labels = sampled(*stored(name, "X", "y"), rng, most)
    return components(X), labels


def forest(rng: np.random.Generator, most: int) -> Labeled:
    X, labels = sampled(*stored("covtype.npz", "X", "y"), rng, most)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), labels


def cytometry(rng: np.random.Generator, most: int) -> Labeled:
    X, types, marker = stored("cytof_huimm.npz", "X", "celltype", "marker")
    X, labels = sampled(X, types, rng, most)
    return np.arcsinh(X[:, marker] / 5), labels


def reduced(rng: np.random.Generator, most: int) -> Labeled:
    return sampled(*stored("pbmc68k_reduced.npz", "X_pca", "celltype"), rng, most)


def cells(
    name: str, labels: str, form: str, rng: np.random.Generator, most: int, least: int = 1
) -> Labeled:
    """50 components of 2,000 variable genes; `form` is "counts", "logs" or "standardized" counts.

    Classes of fewer than `least` cells are left out.
    """
    import anndata
    import scanpy as sc

    *arrays, shape, types = stored(name, "data", "indices", "indptr", "shape", labels)
    _, place, sizes = np.unique(types, return_inverse=True, return_counts=True)
    kept = sizes[place] >= least
    X, types = sampled(csr_matrix(tuple(arrays), shape=shape)[kept], types[kept], rng, most)
    adata = anndata.AnnData(X.astype(np.float32))
    if form != "logs":
        sc.pp.normalize_total(adata, target_sum=1e4)
        sc.pp.log1p(adata)
        sc.pp.highly_variable_genes(adata, n_top_genes=2000)
        adata = adata[:, adata.var["highly_variable"]].copy()
    if form == "standardized":
        sc.pp.scale(adata, max_value=10)
        return components(adata.X), types
    return components(adata.X.toarray()), types


@dataclass(frozen=True)
class Set:
    """A labeled set: `draw` takes a generator and the most points."""

    title: str
    draw: Callable[[np.random.Generator, int], Labeled]
    file: str | None = None
    clustered: bool = True


def _cells(title: str, file: str, labels: str, form: str, **options: Any) -> Set:
    return Set(title, partial(cells, file, labels, form, **options), file)


SETS = {
    "digits": Set("digits", digits),
    "mixture": Set("mixture", mixture),
    "spiral": Set("spiral", spiral, clustered=False),
    "pbmc68k": Set("PBMC 68k, reduced", reduced, "pbmc68k_reduced.npz"),
    "pbmc3k": _cells("PBMC 3k", "pbmc3k.npz", "celltype", "counts"),
    "facs": _cells("purified blood", "pbmc_facs.npz", "obs_subpop", "counts"),
    "facs_scaled": _cells(
        "purified blood, standardized", "pbmc_facs.npz", "obs_subpop", "standardized"
    ),
    "marrow": _cells("marrow (PhenoGraph)", "marrow_cd34.npz", "phenograph", "counts", least=10),
    "root": _cells("Arabidopsis root", "arabidopsis_root_10k.npz", "celltype", "logs"),
    "cytof": Set("mass cytometry", cytometry, "cytof_huimm.npz"),
    "mnist": Set("MNIST", partial(images, "mnist.npz"), "mnist.npz"),
    "fashion": Set("Fashion-MNIST", partial(images, "fashion_mnist.npz"), "fashion_mnist.npz"),
    "covtype": Set("Covertype", forest, "covtype.npz"),
}
MADE = ("mixture", "spiral")
QUICK, QUICK_POINTS = ("digits", "mixture"), 150  # both are built in


# The graphs: from points to a symmetric matrix.


def qot(X: np.ndarray, **scale: Any) -> csr_array:
    return sparrot.qot(X, n_jobs=1, **scale).matrix


def knn(X: np.ndarray) -> csr_array:
    return sparrot.knn(X, 15).matrix


def scanpy_graph(X: np.ndarray) -> csr_array:
    import anndata
    import scanpy as sc

    adata = anndata.AnnData(X)
    sc.pp.neighbors(adata, n_neighbors=15, use_rep="X", method="umap", random_state=0)
    return csr_array(adata.obsp["connectivities"].astype(np.float64))


PLAIN, THEIRS = "plain", "scanpy"
GRAPHS: dict[str, tuple[str, Callable[[np.ndarray], csr_array]]] = {
    PLAIN: ("plain 15", partial(qot, perplexity=15)),
    "eps_1": ("eps = 1", partial(qot, eps=1.0)),
    "floor_5_eps_1": ("floor 5, eps = 1", partial(qot, eps=1.0, min_neighbors=5)),
    **{
        f"floor_{k}": (f"floor {k}", partial(qot, perplexity=15, min_neighbors=k))
        for k in (3, 5, 10)
    },
    "plain_30": ("plain 30", partial(qot, perplexity=30)),
    "floor_5_30": ("floor 5, 30", partial(qot, perplexity=30, min_neighbors=5)),
    **{f"rows_{k}": (f"rows {k}", partial(qot, n_neighbors=k)) for k in (5, 15, 30)},
    "knn_15": ("k-NN 15", knn),
    THEIRS: ("scanpy 15", scanpy_graph),
}


# The tasks: from a graph, classes and a seed to numbers.


def clustering(W: csr_array, labels: Any, seed: int) -> dict[str, Any]:
    """Spectral clustering, and the second eigenvalue, which also an eigensolver that fails has."""
    k = int(labels.max()) + 1
    model = sparrot.SpectralClustering(k, affinity="precomputed", random_state=seed)
    try:
        model.fit(W)
    except NotConvergedError as error:
        return {"second": error.result.values[1], "failure": str(error)}
    score = adjusted_rand_score(labels, model.labels_)
    return {"spectral": score, "second": model.eigenvalues_[1]}


def leiden(W: csr_array, labels: Any, seed: int) -> dict[str, Any]:
    import anndata
    import scanpy as sc

    adata = anndata.AnnData(np.zeros((len(labels), 1), dtype=np.float32))
    sc.tl.leiden(
        adata,
        resolution=1,
        adjacency=csr_matrix(W),
        flavor="igraph",
        n_iterations=2,
        directed=False,
        random_state=seed,
    )
    found = adata.obs["leiden"].to_numpy()
    return {"leiden": adjusted_rand_score(labels, found), "clusters": len(set(found))}


def propagated(W: csr_array, labels: Any, seed: int, share: float) -> float:
    """Accuracy, on all other points, of the harmonic extension of some labels, of each class one.

    A point in a piece of the graph without any label is counted as wrong.
    """
    rng = np.random.default_rng(seed)
    of_class = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    known = np.concatenate(
        [rng.choice(rows, max(1, round(share * len(rows))), replace=False) for rows in of_class]
    )
    piece = connected_components(W, directed=False)[1]
    reached = np.flatnonzero(np.isin(piece, piece[known]))
    F = np.zeros((len(labels), len(of_class)))
    F[reached] = sparrot.spectral.harmonic_extension(
        W[reached][:, reached],
        np.searchsorted(reached, known),
        np.eye(len(of_class))[labels[known]],
    )
    right = (F.argmax(axis=1) == labels) & (F.max(axis=1) > 0)
    return np.delete(right, known).mean()


def effective_neighbors(W: csr_array) -> np.ndarray:
    """Of each row, as the floor has it: `(sum of W_i)^2 / |W_i|^2`."""
    return W.sum(axis=1) ** 2 / W.multiply(W).sum(axis=1)


def propagation(W: csr_array, labels: Any, seed: int) -> dict[str, Any]:
    return {f"propagation_{p}": propagated(W, labels, seed, p / 100) for p in (1, 5)}


def measured(make: Callable[[np.ndarray], csr_array], X: Any, labels: Any, seed: int) -> dict:
    """All numbers of one graph; of what does not converge, only its error."""
    start = time.perf_counter()
    numbers: dict[str, Any] = {"points": len(labels)}
    try:
        W = csr_array(make(X))
        numbers["seconds"] = time.perf_counter() - start
        numbers["entries"] = W.nnz / len(labels)
        numbers["fewest"] = effective_neighbors(W).min()
        numbers["pieces"] = connected_components(W, directed=False)[0]
        for task in (clustering, leiden, propagation):
            numbers |= task(W, labels, seed)
    except NotConvergedError as error:
        numbers["failure"] = str(error)
    return numbers


# The layouts: from a graph to the plane, and how well neighbors and classes stay together there.

LAYOUT_GRAPHS = ("plain_30", "floor_5_30", "rows_15", THEIRS)
LAYOUT_SETS = ("pbmc68k", "pbmc3k", "facs_scaled", "cytof", "mnist", "covtype")
OF_LAYOUT = "-layout"  # how names of such units end


def seen(Y: np.ndarray, X: Any, labels: Any) -> dict[str, float]:
    """How many points have the class of most of their 10 nearest; and the trustworthiness."""
    from sklearn.manifold import trustworthiness
    from sklearn.neighbors import KNeighborsClassifier

    votes = KNeighborsClassifier(11).fit(Y, labels)
    nearest = votes.kneighbors(n_neighbors=10, return_distance=False)
    counts = (labels[nearest][:, :, None] == np.arange(labels.max() + 1)).sum(axis=1)
    return {
        "labels": (counts.argmax(axis=1) == labels).mean(),
        "trust": trustworthiness(X, Y, n_neighbors=15),
    }


def laid_out(make: Callable[[np.ndarray], csr_array], X: Any, labels: Any, seed: int) -> dict:
    """t-SNE from principal components, and UMAP from eigenvectors; of each, what is to be seen."""
    from openTSNE.initialization import pca

    from sparrot.layout._tsne import tsne_layout

    numbers: dict[str, Any] = {"points": len(labels)}
    try:
        W = csr_array(make(X))
    except NotConvergedError as error:
        return numbers | {"failure": str(error)}
    start = pca(X, 2, random_state=seed)
    flat = {
        "tsne": np.array(tsne_layout(W, initialization=start, random_state=seed, n_jobs=1)),
        "umap": sparrot.umap_layout(W, random_state=seed).embedding,
    }
    for name, Y in flat.items():
        numbers |= {f"{name}_{key}": value for key, value in seen(Y, X, labels).items()}
    return numbers


# The run.


def place(folder: Path, name: str, seed: int, unit: str) -> Path:
    return folder / f"{name}-{seed}-{unit}.json"


def units_of(name: str) -> dict[str, Callable[[Any, Any, int], dict]]:
    """All that is measured on each draw of a set."""
    units = {graph: partial(measured, make) for graph, (_, make) in GRAPHS.items()}
    if name in LAYOUT_SETS:
        makers = {graph: GRAPHS[graph][1] for graph in LAYOUT_GRAPHS}
        units |= {graph + OF_LAYOUT: partial(laid_out, make) for graph, make in makers.items()}
    return units


def run(folder: Path, name: str, seed: int, most: int) -> int:
    """Compute and store the units of one draw that are missing; how many there are in all."""
    units = units_of(name)
    missing = [unit for unit in units if not place(folder, name, seed, unit).exists()]
    if missing:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what sparrot warns of is among the numbers
            X, labels = SETS[name].draw(np.random.default_rng(seed), most)
            for unit in missing:
                numbers = units[unit](X, labels, seed)
                with whole_file(place(folder, name, seed, unit)) as temporary:
                    temporary.write_text(json.dumps(numbers, default=float))
    return len(units)


def run_all(folder: Path, names: list[str], seeds: range, most: int, jobs: int) -> None:
    work = [(name, seed) for seed in seeds for name in names]
    calls = (delayed(run)(folder, name, seed, most) for name, seed in work)
    with tqdm(total=sum(len(units_of(name)) for name, _ in work), unit="unit") as bar:
        for done in Parallel(n_jobs=jobs, return_as="generator_unordered")(calls):
            bar.update(done)


# The page: from stored numbers to tables.

TASKS = {
    "spectral": "Spectral clustering",
    "leiden": "Leiden",
    "propagation_1": "1 % of labels",
    "propagation_5": "5 % of labels",
}
LAYOUTS = {
    "tsne_labels": "t-SNE: points with the class of most of their 10 nearest",
    "tsne_trust": "t-SNE: trustworthiness (15 neighbors)",
    "umap_labels": "UMAP: points with the class of most of their 10 nearest",
    "umap_trust": "UMAP: trustworthiness (15 neighbors)",
}
FLOORS = (("floor_5", PLAIN), ("floor_5_30", "plain_30"), ("floor_5_eps_1", "eps_1"))
PAIRS = (  # whose differences are listed
    *FLOORS,
    ("floor_10", PLAIN),
    ("rows_15", PLAIN),
    ("rows_15", "floor_5_30"),
    *((graph, THEIRS) for graph in ("floor_5", "floor_10", "floor_5_30", "rows_15")),
)
SMALL = 0.01  # a difference that nobody would notice
START, END = "<!-- tables -->", "<!-- end of tables -->"
Units = dict[tuple[str, str], list[dict[str, Any]]]  # of a set and a graph, seed by seed


def read(
    folder: Path, names: list[str], seeds: range, graphs: Iterable[str], ending: str = ""
) -> Units:
    """Of each set, the seeds for which every graph is there: differences are paired."""
    units = {}
    for name in names:
        files = [[place(folder, name, seed, graph + ending) for graph in graphs] for seed in seeds]
        whole = [draw for draw in files if all(file.exists() for file in draw)]
        for graph, column in zip(graphs, zip(*whole, strict=True), strict=False):
            units[name, graph] = [json.loads(file.read_text()) for file in column]
    return units


def scores(units: Units, name: str, graph: str, task: str) -> np.ndarray:
    """Seed by seed; what failed scores nothing."""
    return np.array([unit.get(task) or 0.0 for unit in units[name, graph]])


def difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Mean of the paired differences a - b, and half of its 95 % interval (Student's t)."""
    d = a - b
    if len(d) < 2:
        return float(d.mean()), np.inf
    half = student.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
    return float(d.mean()), float(half)


def verdict(a: np.ndarray, b: np.ndarray) -> int:
    """1 if a is better than b by more than noise, -1 if it is worse, else 0."""
    mean, half = difference(a, b)
    return int(np.sign(mean)) if abs(mean) > max(half, SMALL) else 0


def sets_of(units: Units, task: str) -> list[str]:
    names = dict.fromkeys(name for name, _ in units)
    return [name for name in names if SETS[name].clustered or task.startswith("propagation")]


def table(first: str, columns: list[str], rows: list[list[str]]) -> str:
    lines = [[first, *columns], ["---"] * (len(columns) + 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def by_graph(units: Units, names: list[str], cell: Callable[[list[dict[str, Any]]], str]) -> str:
    """A table with a row for each set and a column for each graph."""
    rows = [[SETS[name].title, *(cell(units[name, graph]) for graph in GRAPHS)] for name in names]
    return table("", [title for title, _ in GRAPHS.values()], rows)


def mean_row(units: Units, title: str, names: list[str], task: str) -> list[str]:
    graphs = list(dict.fromkeys(graph for _, graph in units))
    means = [[scores(units, name, graph, task).mean() for name in names] for graph in graphs]
    return [f"*{title}*", *(f"*{np.mean(of):.3f}*" for of in means)]


def score_table(units: Units, task: str) -> str:
    """Mean and standard deviation; in bold what is better than all others by more than noise."""
    names, rows = sets_of(units, task), []
    graphs = list(dict.fromkeys(graph for _, graph in units))
    for name in names:
        of = {graph: scores(units, name, graph, task) for graph in graphs}
        best = max(of, key=lambda graph: of[graph].mean())
        alone = all(verdict(of[best], of[graph]) > 0 for graph in graphs if graph != best)
        row = [SETS[name].title]
        for graph, values in of.items():
            text = f"{values.mean():.2f} ± {values.std(ddof=len(values) > 1):.2f}"
            failed = sum(unit.get(task) is None for unit in units[name, graph])
            text = f"**{text}**" if alone and graph == best else text
            row.append(text + f" ({failed} failed)" * (failed > 0))
        rows.append(row)
    real = [name for name in names if name not in MADE]
    if real != names:
        rows.append(mean_row(units, "mean of all sets", names, task))
    rows.append(mean_row(units, "mean of the real ones", real, task))
    return table("", [GRAPHS[graph][0] for graph in graphs], rows)


def tally(units: Units, graph: str, base: str, task: str) -> str:
    """On how many sets a graph is better and worse than `base`."""
    verdicts = [
        verdict(scores(units, name, graph, task), scores(units, name, base, task))
        for name in sets_of(units, task)
    ]
    return f"+{verdicts.count(1)} −{verdicts.count(-1)} of {len(verdicts)}"


def comparison(units: Units, base: str) -> str:
    """For each graph and task: on how many sets it is better and worse than `base`."""
    rows = [
        [title, *(tally(units, graph, base, task) for task in TASKS)]
        for graph, (title, _) in GRAPHS.items()
        if graph != base
    ]
    return table(f"against {GRAPHS[base][0]}", list(TASKS.values()), rows)


def floors(units: Units) -> str:
    """What a floor of 5 changes, at each scale."""
    rows = [
        [
            f"{GRAPHS[graph][0]} against {GRAPHS[base][0]}",
            *(tally(units, graph, base, task) for task in TASKS),
        ]
        for graph, base in FLOORS
    ]
    return table("a floor, against none", list(TASKS.values()), rows)


def layouts(units: Units) -> str:
    """Tables of the layouts, and all that differs between floor and none by more than noise."""
    if not units:
        return ""
    parts = ["## Layouts\n", drawn(units)]
    for task, title in LAYOUTS.items():
        parts += [f"### {title}\n", score_table(units, task)]
    base, *others = LAYOUT_GRAPHS
    heads = [title.partition(":")[0] for title in LAYOUTS.values()]
    heads = [f"{h}, {w}" for h, w in zip(heads, ("classes", "trust") * 2, strict=True)]
    rows = [
        [GRAPHS[graph][0], *(tally(units, graph, base, task) for task in LAYOUTS)]
        for graph in others
    ]
    parts += [f"### More than noise, against {GRAPHS[base][0]}\n", table("", heads, rows)]
    return "\n".join(parts)


def changes(units: Units, graph: str, base: str) -> str:
    """Every difference that is more than noise, gains and losses in one list."""
    lines = []
    for task, title in TASKS.items():
        found = []
        for name in sets_of(units, task):
            a, b = (scores(units, name, g, task) for g in (graph, base))
            if verdict(a, b):
                mean, half = difference(a, b)
                found.append(f"{SETS[name].title} {mean:+.2f} ± {half:.2f}")
        lines.append(f"  * {title}: {'; '.join(found) or 'none'}".replace("-0.", "−0."))
    return f"* {GRAPHS[graph][0]} against {GRAPHS[base][0]}\n" + "\n".join(lines) + "\n"


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


NUMBERS = {
    "Clusters that Leiden finds (median)": ("clusters", typical, ".0f"),
    "Connected pieces (fewest to most)": ("pieces", span, ".0f"),
    "Second eigenvalue (median)": ("second", typical, ".4f"),
    "Fewest effective neighbors of a row (median)": ("fewest", typical, ".1f"),
    "Neighbors of a row, on average (median)": ("entries", typical, ".0f"),
    "Seconds for the graph, on one busy core (median)": ("seconds", typical, ".2f"),
}


def drawn(units: Units) -> str:
    """Points and seeds of each set."""
    seen = [
        f"{SETS[name].title} {len(of)} x {of[0]['points']}"
        for (name, graph), of in units.items()
        if graph == THEIRS
    ]
    return f"Draws x points: {'; '.join(seen)}.\n"


def tables(units: Units) -> str:
    parts = [drawn(units)]
    for task, title in TASKS.items():
        what = "accuracy on the others" if task.startswith("propagation") else "adjusted Rand index"
        parts += [f"### {title}: {what}\n", score_table(units, task)]
    parts.append("### More than noise: sets where a graph is better (+) and worse (−)\n")
    parts += [floors(units), comparison(units, PLAIN), comparison(units, THEIRS)]
    parts.append("All differences of more than noise, with the half width of their interval:\n")
    parts += [changes(units, graph, base) for graph, base in PAIRS]
    names = list(dict.fromkeys(name for name, _ in units))
    for title, (key, cell, form) in NUMBERS.items():
        parts += [f"### {title}\n", by_graph(units, names, partial(cell, key, form))]
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
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    parser.add_argument("--quick", action="store_true", help="two built-in sets, few points")
    options = parser.parse_args()
    names, seeds, most = options.sets, SEEDS, options.points
    if options.quick:
        names, seeds, most = list(QUICK), range(1), QUICK_POINTS
    folder = options.output / f"real_data_{most}"
    absent = [name for name in names if SETS[name].file and not (DATA / SETS[name].file).exists()]
    if absent:
        print(f"not in {DATA}, and left out: {', '.join(absent)}", file=sys.stderr)
    names = [name for name in names if name not in absent]
    run_all(folder, names, seeds, most, options.jobs)
    if options.page:
        flat = read(folder, names, seeds, LAYOUT_GRAPHS, OF_LAYOUT)
        found = tables(read(folder, names, seeds, GRAPHS))
        write_page(options.page, f"{found}\n{layouts(flat)}")


if __name__ == "__main__":
    main()
