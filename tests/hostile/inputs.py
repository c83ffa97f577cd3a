"""Hostile arguments for every public function and method: what is tried, by the kind of each.

A public function is here by construction: `KINDS` must know the kind of each of its arguments by
name, and `GOOD` a value for those that it needs. So is each method of a public class: of an
estimator that was fitted to good points, or of what `GOOD` has for the name of the class. A case
puts one hostile value in the place of one argument. It must end in a result without NaN or in an
error of sparrot, of one line; in no other error, in no warning but `AffinityWarning`, and with the
argument as it was.
"""

from __future__ import annotations

import atexit
import copy
import inspect
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

import anndata
import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array, issparse

import sparrot
import sparrot.summary
from sparrot.errors import SparrotError

N = 14
X = np.random.default_rng(0).standard_normal((N, 3))
ROOMS = ("datasets", "geometry", "layout", "metrics", "plot", "report", "sc", "spectral", "summary")

# Not called here, and why.
EXEMPT = {
    "spectral.coarse_grained": "for other rooms, which pass what they have checked",
    "spectral.grounded_solver": "for other rooms, which pass what they have checked",
    "datasets.load_arabidopsis_root": "takes no argument",
    "datasets.load_pbmc_facs": "takes no argument",
    "datasets.load_mnist": "reads the data folder, which need not be there",
    "datasets.load_dentate_gyrus": "reads the data folder, which need not be there",
}
# Where a result may have NaN, and why.
NAN_IS_AN_ANSWER = {
    "geometry.intrinsic_dimension": "of a point without two neighbors apart from it"
}
SLOW = {"tsne", "umap_layout", "summarize", "sc.tsne", "sc.umap", "sc.neighbors", "sc.diffmap"}


@cache
def public_functions() -> dict[str, Callable[..., Any]]:
    """Functions and estimators that users have, by name; one that is in two places once."""
    found: dict[str, Callable[..., Any]] = {}
    for room in ("", *ROOMS):
        module = getattr(sparrot, room) if room else sparrot
        names = getattr(module, "__all__", None) or vars(module)
        for name in sorted(names):
            value = getattr(module, name)
            ours = str(getattr(value, "__module__", "")).startswith("sparrot.")
            own = hasattr(module, "__all__") or getattr(value, "__module__", "") == module.__name__
            is_call = inspect.isfunction(value) or hasattr(value, "fit")
            if (
                ours
                and own
                and is_call
                and not name.startswith("_")
                and value not in found.values()
            ):
                found[f"{room}.{name}" if room else name] = value
    return found


@cache
def public_methods() -> dict[str, tuple[str, str]]:
    """Methods of classes that users have: the name of the class, and that of the method.

    What estimators inherit from scikit-learn is not ours, but where it calls their `fit`.
    """
    found: dict[str, tuple[str, str]] = {}
    for owner, own in _public_classes().items():
        for name, method in inspect.getmembers(own, inspect.isfunction):
            ours = method.__module__.startswith("sparrot.") or name.startswith("fit_")
            if ours and not name.startswith("_"):
                found[f"{owner}.{name}"] = owner, name
    return found


def _public_classes() -> dict[str, type]:
    """Those of `public_functions`, and what functions return; errors have no methods to call."""
    found = {name: own for name, own in public_functions().items() if inspect.isclass(own)}
    for room in ("", *ROOMS):
        module = getattr(sparrot, room) if room else sparrot
        for name in getattr(module, "__all__", ()):
            own = getattr(module, name)
            is_error = inspect.isclass(own) and issubclass(own, Exception)
            if inspect.isclass(own) and not is_error and own not in found.values():
                found[f"{room}.{name}" if room else name] = own
    return found


def parameters_of(name: str) -> list[inspect.Parameter]:
    """Those of a public function, or of a method but for `self`."""
    if name in public_methods():
        owner, method = public_methods()[name]
        return [*inspect.signature(getattr(_public_classes()[owner], method)).parameters.values()][
            1:
        ]
    return [*inspect.signature(public_functions()[name]).parameters.values()]


def _called(name: str) -> Callable[..., Any]:
    """A public function, or a method of a copy of what it belongs to, for it may change it."""
    if name not in public_methods():
        return public_functions()[name]
    owner, method = public_methods()[name]
    own = _fitted(owner) if owner in public_functions() else GOOD[owner]()
    return getattr(copy.deepcopy(own), method)


@cache
def _fitted(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return public_functions()[name](**needed(name)).fit(X)


@cache
def good_affinity() -> Any:
    return sparrot.qot(X, 1.0)


def good_adata() -> Any:
    adata = anndata.AnnData(X.copy(), obsm={"X_pca": X.copy()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sparrot.sc.neighbors(adata, 5, use_rep="X_pca")
    return adata


@cache
def good_summary() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sparrot.summarize(X, 1.0, each_side=1)


@cache
def folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="sparrot-hostile-"))
    atexit.register(rmtree, path, ignore_errors=True)
    return path


@cache
def saved_points() -> Path:
    path = folder() / "points.npy"
    np.save(path, X)
    return path


@cache
def saved_table() -> Path:
    path = folder() / "table.csv"
    path.write_text("height,kind\n1,a\n2,b\n")
    return path


@cache
def saved_affinity() -> Path:
    path = folder() / "affinity.npz"
    sparrot.save(good_affinity(), path)
    return path


C = np.square(X[:, None] - X).sum(axis=2) / 2
MASS = np.full(N, 1 / N)
LABELS = np.arange(N) % 2

# A value for each argument that a function needs, by name, or by "function.name".
GOOD: dict[str, Callable[[], Any]] = {
    "X": lambda: X,
    "W": good_affinity,
    "K": lambda: -C,
    "C": lambda: C,
    "Y": lambda: X[:, :2],
    "V": lambda: X,
    "A": lambda: X,
    "B": lambda: X[::-1],
    "L": lambda: sparrot.spectral.laplacian(good_affinity()),
    "F": lambda: X,
    "k": lambda: 2,
    "q": lambda: 0.5,
    "bregman_divergence.A": lambda: C,
    "bregman_divergence.B": lambda: C.T + 1,
    "fenchel_young_loss.Y": lambda: -C,
    "fenchel_young_loss.A": lambda: C,
    "davis_kahan_bound.W": lambda: C,
    "davis_kahan_bound.A": lambda: -C,
    "second_form": lambda: np.ones((2, 2, 1)),
    "value": lambda: 1.0,
    "laplacian": lambda: -4.0,
    "radius": lambda: 0.1,
    "eps": lambda: 1.0,
    "eps_grid": lambda: [1.0, 0.5],
    "a": lambda: MASS,
    "b": lambda: MASS,
    "kind": lambda: "eot",
    "to": good_affinity,
    "affinity": good_affinity,
    "source": good_affinity,
    "dimension": lambda: 2,
    "volume": lambda: 4.0,
    "n": lambda: 50,
    "t": lambda: 1.0,
    "r": lambda: np.linspace(0, 1, 5),
    "kernel": lambda: np.exp(-C),
    "measures": lambda: np.stack([MASS, MASS]),
    "weights": lambda: [0.5, 0.5],
    "interpolate.weights": lambda: [0.0, 0.5, 1.0],
    "mu": lambda: MASS,
    "nu": lambda: MASS,
    "sources": lambda: 0,
    "gradient": lambda: np.ones(3),
    "hessian": lambda: np.eye(3),
    "tangent": lambda: np.eye(3)[:, :2],
    "curvature": lambda: np.ones(3),
    "g": lambda: X[:, 0],
    "level": lambda: 1.0,
    "x": lambda: np.array([1.0, 2.0, 4.0]),
    "y": lambda: np.array([1.0, 3.0, 9.0]),
    "batches": lambda: LABELS,
    "labels": lambda: LABELS,
    "others": lambda: LABELS,
    "values": lambda: np.linspace(1, 0, 6),
    "harmonic_extension.values": lambda: [0.0, 1.0],
    "known": lambda: [0, 5],
    "u": lambda: X[:, 0],
    "results": lambda: good_affinity(),
    "summary": good_summary,
    "adata": good_adata,
    "read_points.path": saved_points,
    "read_labels.path": saved_table,
    "label": lambda: "kind",
    "load.path": saved_affinity,
    "save.path": lambda: folder() / "saved.npz",
    "Affinity": good_affinity,
    "datasets.Cells": lambda: sparrot.datasets.Cells(csr_array(X), np.arange(3), LABELS),
    "rows": lambda: np.array([0, 2]),
    "write_report.path": lambda: folder() / "report.html",
}
# Arguments that make a call fast, where their own default would be slow or unfit for few points.
SMALL: dict[str, dict[str, Any]] = {
    "knn": {"n_neighbors": 3},
    "KNN": {"n_neighbors": 3},
    "tsne": {"n_iter": 20, "early_exaggeration_iter": 5, "perplexity": 4},
    "sc.tsne": {"n_iter": 20, "early_exaggeration_iter": 5},
    "umap_layout": {"n_epochs": 5},
    "sc.umap": {"maxiter": 5},
    "summarize": {"each_side": 1, "perplexity": 4},
    "metrics.trustworthiness": {"n_neighbors": 3},
    "layout.mds_layout": {"max_iter": 20},
    "SpectralClustering": {"n_clusters": 2},
    "KNeighborsTransformer": {"n_neighbors": 3},
    "spectral.heat_time": {"perplexity": 4.0},
    "sc.neighbors": {"n_neighbors": 5, "use_rep": "X_pca"},
    "datasets.make_mixture": {"n_per_cluster": 5, "d": 3},
    "datasets.make_spiral": {"n": 20, "d": 4},
    "datasets.make_sphere": {"n": 20},
    "datasets.make_torus": {"n": 20},
    "geometry.diffusion_distances": {"t": 2.0},
}

# fmt: off
_NAMES: dict[str, tuple[str, ...]] = {
    "matrix": (
        "X", "W", "K", "C", "Y", "V", "A", "B", "L", "F", "kernel", "measures", "gradient",
        "hessian", "tangent", "curvature", "second_form",
    ),
    "vector": (
        "a", "b", "mu", "nu", "weights", "potential", "r", "g", "x", "y", "u", "values", "known",
        "batches", "labels", "others", "sources", "targets", "eps_grid", "min_neighbors", "rows",
    ),
    "number": (
        "eps", "perplexity", "tol", "bandwidth", "decay", "q", "alpha", "drop", "span", "level",
        "volume", "mass", "t", "lazy", "min_dist", "spread", "learning_rate", "radius",
        "repulsion_strength", "gamma",
        "max_memory", "p", "value", "laplacian", "scalar_curvature", "omega",
    ),
    "count": (
        "n_components", "k", "max_neighbors", "n_neighbors", "n_clusters", "max_clusters",
        "max_iter", "dimension", "n", "d", "n_per_cluster", "each_side", "n_eigenvalues",
        "n_epochs", "negative_sample_rate", "n_comps", "n_pcs", "maxiter", "sample", "gap", "first",
        "leaf_size",
    ),
    "choice": (
        "metric", "solver", "search", "kind", "mode", "assign", "components", "method", "series",
        "regularizer", "init", "reference", "algorithm",
    ),
    "flag": ("hollow", "copy", "header", "knn"),
    "thing": (
        "affinity", "to", "source", "adata", "summary", "results", "path", "random_state", "n_jobs",
        "progress", "neighbors", "checkpoint", "key", "array", "names", "use_rep", "columns",
        "layouts", "title", "load", "neighbors_key", "key_added", "layer", "init_pos", "noise",
        "radii", "metric_params", "metric_kwds", "label", "without", "rng", "transformer",
        "distances", "engine", "out",
    ),
    # What is passed on to another library: keywords, and what Matplotlib draws with.
    "free": ("arguments", "kwargs", "options", "ax", "axes", "size", "style", "name"),
}
# fmt: on
KINDS = {name: kind for kind, names in _NAMES.items() for name in names}

_NAN, _INF = X.copy(), X.copy()
_NAN[3, 1], _INF[3, 1] = np.nan, np.inf
_SPARSE_NAN = csr_array(np.where(np.abs(_NAN) <= 0.5, 0, _NAN))
HOSTILE: dict[str, dict[str, Callable[[], Any]]] = {
    "matrix": {
        "None": lambda: None,
        "a word": lambda: "points.csv",
        "bytes": lambda: b"abc",
        "a number": lambda: 3.0,
        "a generator": lambda: (row for row in X),
        "a dictionary": lambda: {"a": [1, 2], "b": [3, 4]},
        "a set": lambda: {1, 2, 3},
        "a function": lambda: len,
        "an object": object,
        "a list of dictionaries": lambda: [{"a": 1}, {"a": 2}],
        "a ragged list": lambda: [[1.0], [2.0, 3.0]],
        "nothing": lambda: np.zeros((0, 3)),
        "no columns": lambda: np.zeros((N, 0)),
        "one row": lambda: X[:1],
        "a vector": lambda: X[:, 0],
        "a cube": lambda: np.zeros((3, 3, 3)),
        "records": lambda: np.zeros((N, 2), dtype=[("a", float), ("b", float)]),
        "complex numbers": lambda: C + 1j,
        "complex numbers in a list": lambda: [[1j, 2.0], [3.0, 4.0]],
        "complex numbers in a sparse matrix": lambda: csr_array(C + 1j),
        "words": lambda: np.full((N, N), "a"),
        "dates": lambda: np.zeros((N, N), "M8[s]"),
        "huge integers": lambda: [[10**400, 1], [2, 3]],
        "None among numbers": lambda: [[None, 1.0], [2.0, 3.0]],
        "NaN": lambda: _NAN,
        "inf": lambda: _INF,
        "a masked entry": lambda: np.ma.masked_greater(C, 3),
        "an np.matrix": lambda: np.asmatrix(C),
        "a sparse vector": lambda: coo_array(np.arange(5.0)),
        "a sparse matrix with NaN": lambda: _SPARSE_NAN,
        "an empty sparse matrix": lambda: csr_array((N, N)),
        "a sparse data frame": lambda: pd.DataFrame.sparse.from_spmatrix(csr_array(C)),
        "a data frame with words": lambda: pd.DataFrame({"a": ["x"] * N, "b": range(N)}),
        "columns of one name": lambda: pd.DataFrame(X[:, :2], columns=["a", "a"]),
        "columns of mixed names": lambda: pd.DataFrame(X[:, :2], columns=["a", 1]),
        "missing values": lambda: pd.DataFrame({"a": pd.array([1, None] * 7, "Float64")}),
        "equal points": lambda: np.ones((N, 3)),
        "zeros": lambda: np.zeros((N, N)),
        "points at 1e200": lambda: 1e200 * X,
        "points at 1e-200": lambda: 1e-200 * X,
        "one point at 1e150": lambda: np.vstack([X[1:], np.full(3, 1e150)]),
        "entries of 1e300": lambda: 1e300 * C,
        "entries of 1e-310": lambda: 1e-310 * C,
        "negative entries": lambda: -C,
        "not symmetric": lambda: np.triu(C),
        "another size": lambda: C[:-1, :-1],
        "integers": lambda: (10 * C).astype(np.int8),
        "truth values": lambda: C > 2,
        "half precision": lambda: C.astype(np.float16),
        "single precision": lambda: C.astype(np.float32),
        "the other order": lambda: np.asfortranarray(C),
        "read only": lambda: _read_only(C),
        "a list": lambda: C.tolist(),
        "a disconnected graph": lambda: np.kron(np.eye(N // 2), [[0.0, 1.0], [1.0, 0.0]]),
        "a row of zeros": lambda: C * np.outer(np.arange(N) != 3, np.arange(N) != 3),
    },
    "vector": {
        "None": lambda: None,
        "a word": lambda: "a",
        "a word for each": lambda: ["a"] * N,
        "a dictionary": lambda: {"a": 1},
        "a generator": lambda: (x for x in [1.0] * N),
        "an object": object,
        "nothing": list,
        "too few": lambda: np.ones(3),
        "too many": lambda: np.ones(N + 1),
        "a matrix": lambda: np.ones((N, N)),
        "NaN": lambda: np.full(N, np.nan),
        "inf": lambda: np.full(N, np.inf),
        "complex numbers": lambda: np.ones(N) + 0j,
        "huge integers": lambda: [10**400] * N,
        "negative": lambda: -np.ones(N),
        "zeros": lambda: np.zeros(N),
        "1e300": lambda: np.full(N, 1e300),
        "1e-320": lambda: np.full(N, 1e-320),
        "a number": lambda: 3,
        "minus one": lambda: -1,
        "half": lambda: 0.5,
        "NaN alone": lambda: float("nan"),
        "a huge integer": lambda: 10**400,
        "records": lambda: np.zeros(N, dtype=[("a", float)]),
        "integers beyond": lambda: [N + 5],
        "truth values": lambda: np.arange(N) % 2 == 0,
    },
    "number": {
        "None": lambda: None,
        "a word": lambda: "a",
        "a number as a word": lambda: "1.0",
        "NaN": lambda: float("nan"),
        "inf": lambda: float("inf"),
        "minus inf": lambda: -float("inf"),
        "zero": lambda: 0.0,
        "negative": lambda: -1.0,
        "a huge integer": lambda: 10**400,
        "1e300": lambda: 1e300,
        "5e-324": lambda: 5e-324,
        "1e-30": lambda: 1e-30,
        "a truth value": lambda: True,
        "a complex number": lambda: 1 + 0j,
        "a list": lambda: [1.0],
        "an array": lambda: np.ones(2),
        "a dictionary": dict,
        "an object": object,
    },
    "count": {
        "None": lambda: None,
        "a word": lambda: "a",
        "zero": lambda: 0,
        "minus one": lambda: -1,
        "half": lambda: 0.5,
        "NaN": lambda: float("nan"),
        "inf": lambda: float("inf"),
        "a truth value": lambda: True,
        "a complex number": lambda: 1 + 0j,
        "a list": lambda: [1],
        "an object": object,
        "NumPy's": lambda: np.int64(2),
    },
    "choice": {
        "None": lambda: None,
        "another word": lambda: "no such thing",
        "no word": lambda: "",
        "a number": lambda: 3,
        "a list": lambda: ["a"],
        "an array": lambda: np.ones(3),
        "bytes": lambda: b"qot",
    },
    "flag": {
        "None": lambda: None,
        "a word": lambda: "yes",
        "a number": lambda: 1,
        "an array": lambda: np.ones(3),
        "NumPy's": lambda: np.True_,
    },
    "thing": {
        "None": lambda: None,
        "a number": lambda: 3,
        "a word": lambda: "no such thing",
        "no word": lambda: "",
        "an array": lambda: X,
        "a list": lambda: [1, 2],
        "a dictionary": dict,
        "an object": object,
        "a NUL byte": lambda: "a\0b",
        "bytes": lambda: b"abc",
        "half": lambda: 0.5,
        "minus seven": lambda: -7,
        "NaN": lambda: float("nan"),
        "a huge integer": lambda: 10**400,
        "a complex number": lambda: 1j,
        "a set": lambda: {1, 2},
        "empty data": lambda: anndata.AnnData(np.zeros((0, 0))),
        "a folder": folder,
    },
}  # fmt: skip


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def needed(name: str) -> dict[str, Any]:
    """Good values of the arguments that a function needs, and of those that make it fast."""
    short = name.rpartition(".")[2]
    arguments = dict(SMALL.get(name, {}))
    for parameter in parameters_of(name):
        variable = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if parameter.default is parameter.empty and not variable:
            key = f"{short}.{parameter.name}"
            arguments.setdefault(parameter.name, GOOD[key if key in GOOD else parameter.name]())
    return arguments


def arguments_of(name: str) -> dict[str, str]:
    """The arguments of a function that hostile values are tried for, and the kind of each."""
    kinds = {parameter.name: KINDS[parameter.name] for parameter in parameters_of(name)}
    return {parameter: kind for parameter, kind in kinds.items() if kind != "free"}


def all_cases() -> Iterator[tuple[str, str, str]]:
    """Every function, argument and hostile value."""
    for name in (*public_functions(), *public_methods()):
        if name not in EXEMPT:
            for parameter, kind in arguments_of(name).items():
                for value in HOSTILE[kind]:
                    yield name, parameter, value


def call(name: str, arguments: dict[str, Any]) -> Any:
    """Call a function, or fit an estimator; generators are run to their end."""
    result = _called(name)(**arguments)
    if name in _public_classes():
        return result.fit(X)
    return list(result) if inspect.isgenerator(result) else result


def run(name: str, parameter: str, value: str) -> str:
    """One case: "answered" or "refused"; anything else is an assertion that fails."""
    arguments = needed(name)
    kind = arguments_of(name)[parameter]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an np.matrix is made
        hostile = HOSTILE[kind][value]()
        before = hostile if inspect.isgenerator(hostile) else copy.deepcopy(hostile)
    arguments[parameter] = hostile
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sparrot.AffinityWarning)
        warnings.filterwarnings("ignore", "Mind that for 0 < p < 1")  # scikit-learn's, of its own
        refused = None
        try:
            with chdir(folder()):  # a word may name a file
                result = call(name, arguments)
        except SparrotError as error:
            refused = error
        except OSError as error:
            if parameter != "path":  # what the operating system says of that is good enough
                raise
            refused = error
    assert _same(hostile, before), "the argument was changed"
    if refused is not None:
        assert "\n" not in str(refused), f"an error of several lines: {refused}"
        return "refused"
    assert name in NAN_IS_AN_ANSWER or not _has_nan(result), f"a result with NaN: {result!r:.200}"
    return "answered"


def _same(value: Any, before: Any) -> bool:
    if issparse(value):
        return _same(value.data, before.data)
    if isinstance(value, np.ndarray):
        return value.tobytes() == before.tobytes()
    if isinstance(value, pd.DataFrame):
        return bool(value.equals(before))
    return type(value) is type(before)


def _has_nan(result: Any) -> bool:
    """Whether there is a NaN in the arrays of a result."""
    if issparse(result):
        return _has_nan(result.data)
    if isinstance(result, (float, np.ndarray)):
        array = np.asarray(result)
        return array.dtype.kind == "f" and bool(np.isnan(array).any())
    if isinstance(result, (list, tuple)):
        return any(map(_has_nan, result))
    if is_dataclass(result):
        return any(_has_nan(getattr(result, field.name)) for field in fields(result))
    if hasattr(result, "fit"):
        return any(_has_nan(value) for name, value in vars(result).items() if name.endswith("_"))
    return False
