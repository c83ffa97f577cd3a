r"""Leading eigenpairs of the random walk on an affinity, also of one in pieces.

:math:`S = D^{-1/2} W D^{-1/2}` is symmetric with eigenvalues in [-1, 1], and similar to the walk
:math:`P = D^{-1} W`: if :math:`S v = \lambda v` then :math:`\psi = D^{-1/2} v` has
:math:`P \psi = \lambda \psi`. The leading pairs are those of *largest* :math:`\lambda`, the
smoothest functions on the graph; the eigenvalues of largest size may be negative, and their
functions are the roughest.

Each connected component has an eigenvalue 1 of its own, so S is solved component by component:
no solver has to tell equal eigenvalues apart, and every vector lives on one component. Points that
the walk hardly ever leaves have an eigenvalue next to 1: if a step leaves m of n points with
probability p, it is about :math:`1 - p\, n / (n - m)`. Where m is small, the graph is one piece in
name only, and the leading eigenvectors tell a few outliers from everything else instead of clusters
from each other. A unit vector v lives on about :math:`1 / \sum_i v_i^4` points, its participation
number: m if m entries are of the same size and the others vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sparrot._eigensolver import SOLVERS, EigenPairs, leading_eigenpairs
from sparrot._types import BoolArray, FloatArray, IntArray
from sparrot._validation import as_affinity, as_choice, as_count, as_generator, as_tolerance
from sparrot.affinity import (
    EACH_PIECE,
    KEEP_LARGEST,
    LARGER,
    complete_pieces,
    in_pieces,
    n_large_pieces,
    small_size,
    ways_to_connect,
)
from sparrot.engine import Run
from sparrot.errors import AffinityWarning, InvalidInputError, NotConvergedError, counted, warn
from sparrot.ot import is_connected
from sparrot.spectral._operators import degrees, scaled

COMPONENTS = ("warn", "largest", "each", "error")
_NEAR = 1e-3  # distance of an eigenvalue from one
_NAMED = 10  # points in a message


def components_by_size(W: Any) -> IntArray:
    """The connected component of each point, numbered by size, the largest 0.

    Examples
    --------
    >>> import numpy as np
    >>> components_by_size(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    array([1, 0, 0])
    """
    W = csr_array(W)
    if is_connected(W):
        return np.zeros(W.shape[0], np.int64)
    labels = connected_components(W, directed=False)[1]
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[labels]


def announce_pieces(W: Any, labels: IntArray, components: str, floors: Any = None) -> None:
    """Warn of several components of W, or refuse them, if `components` is "warn" or "error".

    `floors` are those on the neighbors of every point, if the affinity has any.
    """
    if not labels.any() or components not in ("warn", "error"):
        return
    complete = complete_pieces(W, labels, floors)
    found = in_pieces(labels, floors, complete=complete, by_components=True)
    assert found is not None
    if components == "error":
        raise InvalidInputError(found.problem, remedy=found.remedies)
    warn(found)


def announce_complete(W: Any, labels: IntArray, floors: Any = None) -> None:
    """Warn of several components that are nearly complete graphs, where each is to be mapped."""
    complete = complete_pieces(W, labels, floors) if labels.any() else None
    if complete is not None:
        problem = f"the graph has {labels.max() + 1} components, and {complete[0]}"
        warn(AffinityWarning(problem, remedy=complete[1]))


def announce_rest(W: Any, labels: IntArray, fate: str, floors: Any = None) -> None:
    """Warn of points outside the largest component of W, which get NaN or the like."""
    rest = np.flatnonzero(labels)
    if not len(rest):
        return
    problem = (
        f"{len(rest)} of {len(labels)} points are outside the largest of {labels.max() + 1} "
        f"components and get {fate}"
    )
    complete = complete_pieces(W, labels, floors)
    if complete is not None:
        problem, remedy = f"{problem}; {complete[0]}", complete[1]
        warn(AffinityWarning(problem, value=rest, remedy=[*remedy, f"to keep them, {EACH_PIECE}"]))
        return
    clusters = n_large_pieces(labels, floors) > 1
    remedy = ways_to_connect(floors, clusters=clusters)
    remedy.insert(0 if clusters else len(remedy), EACH_PIECE)
    remedy[0] = f"to keep them, {remedy[0]}"
    warn(AffinityWarning(problem, value=rest, remedy=remedy))


def participation(vectors: FloatArray) -> FloatArray:
    """On how many points each column lives, if its squares sum to one.

    Examples
    --------
    >>> participation(np.array([[0.5, 0.8], [0.5, 0.6], [0.5, 0.0], [0.5, 0.0]])).round(2)
    array([4.  , 1.85])
    """
    return 1 / np.square(np.square(vectors)).sum(axis=0)


def nearly_separate(
    values: FloatArray,
    vectors: FloatArray,
    among: BoolArray,
    floors: Any = None,
    most: float = np.inf,
) -> tuple[int, IntArray]:
    """How many pairs within 1e-3 of one live on few points, as `small_size` has it; and on which.

    Only pairs `among` these matter, and the trivial one must not be one of them. Vectors that
    live on `most` points or more are passed over. A point belongs to a vector if its entry is at
    least half as large as the largest.

    Examples
    --------
    >>> far = np.zeros((100, 1))
    >>> far[[7, 9]] = 2**-0.5
    >>> nearly_separate(np.array([0.9995]), far, np.array([True]))
    (1, array([7, 9]))
    >>> nearly_separate(np.array([0.99]), far, np.array([True]))
    (0, array([], dtype=int64))
    """
    few = min(small_size(len(vectors), floors), most)
    near = np.flatnonzero(among & (values >= 1 - _NEAR))
    found = near[participation(vectors[:, near]) < few]
    size = np.abs(vectors[:, found])
    return len(found), np.flatnonzero((2 * size >= size.max(axis=0)).any(axis=1))


def announce_nearly_separate(
    count: int,
    points: IntArray,
    n: int,
    *,
    floors: Any = None,
    connected: bool = True,
    names: Sequence[Any] | None = None,
) -> None:
    """Warn of what `nearly_separate` found.

    Parameters
    ----------
    count, points : the pairs, and the points that they belong to.
    n : number of all points.
    floors : on the neighbors of every point, if the affinity has any.
    connected : False if pairs of other components are among them, with the eigenvalue 1.
    names : of the points; their numbers if None.
    """
    if not count:
        return
    named = ", ".join(str(i if names is None else names[i]) for i in points[:_NAMED])
    drop = "drop these points, and by {components='largest'} what falls off then"
    floor, larger = ways_to_connect(floors)
    warn(
        AffinityWarning(
            f"{count} of the leading eigenvalues {'is' if count == 1 else 'are'} within {_NEAR:g} "
            f"of one and belong{'s' * (count == 1)} to {len(points)} of {n} points "
            f"({named}{', ...' if len(points) > _NAMED else ''}): the graph is "
            f"{'one piece in name only' if connected else 'in pieces'}, and spectral methods find "
            "these points instead of clusters",
            value=points,
            remedy=[floor, LARGER, drop] if connected else [floor, larger, KEEP_LARGEST],
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Leading eigenpairs of an affinity.

    Attributes
    ----------
    values : (k,) eigenvalues, descending.
    vectors : (n, k) orthonormal eigenvectors of `D^(-1/2) W D^(-1/2)`; the entry of largest size
        of each is positive.
    residuals : (k,) `|S v - lambda v|`.
    owners : (k,) the component that each pair lives on; its vector is zero elsewhere.
    labels : (n,) the component of each point, the largest being 0.
    degrees : (n,) row sums of W.
    solver : the solver that found the pairs of the last component; `"components"` if none was
        needed.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    owners: IntArray
    labels: IntArray
    degrees: FloatArray
    solver: str

    @property
    def n_connected_components(self) -> int:
        """Number of connected components of the graph."""
        return int(self.labels.max()) + 1

    @property
    def gaps(self) -> FloatArray:
        """(k - 1,) differences between neighboring eigenvalues."""
        return self.values[:-1] - self.values[1:]

    @property
    def functions(self) -> FloatArray:
        """(n, k) eigenvectors of the walk, `D^(-1/2) v`, with mean square one over its measure.

        The first of a connected graph is the constant 1.
        """
        return self.vectors * np.sqrt(self.degrees.sum() / self.degrees)[:, None]

    @property
    def participation(self) -> FloatArray:
        """(k,) on how many points each vector lives: `1 / sum(v^4)`.

        An eigenvalue next to 1 that belongs to few points tells of outliers that hardly anything
        joins to the rest, and not of clusters.
        """
        return participation(self.vectors)

    @property
    def nontrivial(self) -> BoolArray:
        """(k,) False for the first pair of each component, whose function is constant on it."""
        nontrivial = np.ones(len(self.owners), bool)
        nontrivial[np.unique(self.owners, return_index=True)[1]] = False
        return nontrivial

    def __repr__(self) -> str:
        """One line with what matters."""
        return (
            f"<{len(self.values)} eigenpairs of {len(self.labels)} points by {self.solver}: "
            f"{self.values[0]:.4g} to {self.values[-1]:.4g}, residual {self.residuals.max():.1e}, "
            f"{counted(self.n_connected_components, 'component')}>"
        )


def eigenpairs(
    W: Any,
    k: int,
    *,
    components: str = "warn",
    solver: str = "auto",
    tol: float = 1e-8,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Spectrum:
    """The k algebraically largest eigenvalues of `S = D^(-1/2) W D^(-1/2)` and their vectors.

    Parameters
    ----------
    W : (n, n) affinity: an `Affinity`, or a symmetric nonnegative matrix, sparse or dense.
    k : number of pairs, less than n; the trivial one (eigenvalue 1) is the first.
    components : what to do with a graph in pieces, where the eigenvalue 1 occurs once for each.
        "each" takes the leading pairs of all pieces together; "warn" does the same with a warning,
        and also warns where the graph is one piece in name only: of eigenvalues within 1e-3 of one
        that belong to few points. These are fewer than 1 %, or than twice the smallest piece that
        there can be (k + 1 points with a floor of k neighbors, else two) if that is less than 5 %,
        or two. "largest" takes the pairs of the largest component alone, with vectors that are zero
        elsewhere; "error" refuses.
    solver : "dense", "lanczos", "arpack", "lobpcg"; "auto" is LAPACK for small n, else
        the others one after the other until the residuals meet `tol`. The pairs of a component with
        hardly more points than pairs are always found by the dense one.
    tol : largest residual `|S v - lambda v|`. The error of an eigenvalue is at most its square over
        the distance to the other eigenvalues.
    random_state : seed of the start.
    n_jobs : threads; the result does not depend on them.

    Raises
    ------
    NotConvergedError : no solver met `tol`; `result` holds the best pairs.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> pairs = eigenpairs(ring, 3)
    >>> pairs.values.round(6), pairs.vectors.shape
    (array([1. , 0.5, 0.5]), (6, 3))
    """
    components = as_choice(components, "components", COMPONENTS)
    solver = as_choice(solver, "solver", SOLVERS)
    tol = as_tolerance(tol, "residual")
    as_generator(random_state)  # raises if it is no seed
    floors = getattr(W, "min_neighbors", None)  # of an Affinity
    W = as_affinity(W)
    n = W.shape[0]
    k = as_count(k, "k", n - 1)
    degree = degrees(W)
    labels = components_by_size(W)
    announce_pieces(W, labels, components, floors)
    kept = int(labels.max()) + 1
    if components == "largest":
        _require_at_most(int((labels == 0).sum()), k)
        kept = 1
    S = scaled(W, degree**-0.5, degree**-0.5)
    trivial = 1 < kept and k <= kept  # eigenvalue 1 again and again, with vectors that are known
    parts = []
    with Run(n_jobs) as run:
        for c in range(k if trivial else kept):
            points = np.flatnonzero(labels == c)
            pairs = _trivial_pair(degree[points])
            others = min(k - kept + 1, len(points)) - 1
            if not trivial and others:
                more = leading_eigenpairs(
                    S if len(points) == n else S[points][:, points],
                    others,
                    run,
                    tol=tol,
                    solver=solver,
                    seed=random_state,
                    known=pairs.vectors,
                )
                pairs = _joined(pairs, more)
            parts.append((points, pairs))
    spectrum = _merged(parts, k, labels, degree)
    worst = spectrum.residuals.max()
    if worst > tol:
        raise NotConvergedError(
            f"the eigenpairs have residuals up to {worst:.1e}, above tol={tol:.1e}: some of the "
            "eigenvalues are too near to each other",
            spectrum,
            remedy=["ask for fewer pairs", "raise {tol}"],
        )
    if components == "warn":
        found = nearly_separate(spectrum.values, spectrum.vectors, spectrum.nontrivial, floors)
        announce_nearly_separate(*found, n, floors=floors)
    return spectrum


def _require_at_most(largest: int, k: int) -> None:
    """Raise unless the largest component has k points."""
    if k > largest:
        raise InvalidInputError(
            f"must be at most {largest}, the size of the largest component, got {k}",
            parameter="k",
            value=k,
        )


def _trivial_pair(degree: FloatArray) -> EigenPairs:
    """Eigenvalue 1 with `v = D^(1/2) 1`, on a component with these degrees."""
    v = np.sqrt(degree / degree.sum())
    return EigenPairs(np.ones(1), v[:, None], np.zeros(1), "components")


def _joined(first: EigenPairs, others: EigenPairs) -> EigenPairs:
    """Both, by the solver of the others."""
    return EigenPairs(
        np.append(first.values, others.values),
        np.hstack([first.vectors, others.vectors]),
        np.append(first.residuals, others.residuals),
        others.solver,
    )


def _merged(
    parts: list[tuple[IntArray, EigenPairs]], k: int, labels: IntArray, degree: FloatArray
) -> Spectrum:
    """The k leading of the pairs of all parts, each extended by zero from its points."""
    owners = np.concatenate([np.full(len(pairs.values), c) for c, (_, pairs) in enumerate(parts)])
    values = np.concatenate([pairs.values for _, pairs in parts])
    residuals = np.concatenate([pairs.residuals for _, pairs in parts])
    order = np.argsort(-np.minimum(values, 1.0).round(12), kind="stable")[:k]  # trivial ones first
    vectors, first = np.zeros((len(labels), len(order))), 0
    for points, pairs in parts:
        columns = np.flatnonzero((first <= order) & (order < first + len(pairs.values)))
        rows = slice(None) if len(points) == len(labels) else points[:, None]
        vectors[rows, columns] = pairs.vectors[:, order[columns] - first]
        first += len(pairs.values)
    solver = parts[-1][1].solver
    return Spectrum(values[order], vectors, residuals[order], owners[order], labels, degree, solver)
