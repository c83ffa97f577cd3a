"""The result of every affinity: a matrix that can defend itself; and its effective neighbors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from sparrot._eigensolver import leading_eigenpairs
from sparrot._types import FloatArray, IntArray, PointArray
from sparrot._validation import as_affinity, as_count, as_nonnegative, as_points_for
from sparrot.cost import require_tiles
from sparrot.engine import Rows, Run, Side, row_blocks
from sparrot.errors import InvalidInputError, NotConvergedError
from sparrot.ot import (
    Certificate,
    Solution,
    errors_in_words,
    marginal_error,
    number_of_pairs,
    perplexities,
)

_RESIDUAL = 1e-8  # of the second eigenvector, at most
_SEED = 1  # of the rows that a check may be of: other ones than solvers start with


def perplexity(W: Any) -> FloatArray:
    r"""Effective number of neighbors of each row: the exponential of its entropy.

    .. math:: \exp\Bigl(-\sum_j p_{ij} \log p_{ij}\Bigr), \qquad p_{ij} = W_{ij} / \sum_k W_{ik}

    A row with k equal entries has perplexity k.

    Parameters
    ----------
    W : nonnegative matrix, dense or sparse, or an `Affinity`; rows need not sum to one.

    Examples
    --------
    >>> perplexity(np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 2.0], [1.0, 1.0, 1.0]]))
    array([2., 1., 3.])
    """
    W = as_nonnegative(W)
    empty = np.flatnonzero(~(np.asarray(W.sum(axis=1)).ravel() > 0))
    if len(empty):
        raise InvalidInputError(
            f"has no positive entry in row {empty[0]}, so that row has no perplexity",
            parameter="W",
            remedy="drop such points",
        )
    return perplexities(W)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Affinity:
    """An affinity with what is known about it.

    Attributes
    ----------
    kind : `"qot"`, `"eot"`, `"tsallis"`, `"projection"`, `"knn"`, `"gaussian"`, ...
    matrix : (n, n) affinity: a float64 `scipy.sparse.csr_array`, or an array where it is dense.
    mean_cost : `N^-2 sum_ij C_ij`, in the units of the cost C of the data as given.
    metric : the cost: the name that was asked for, or `"kernel"` for `project`.
    potential : (n,) dual potential u in the units of C, so that W can be recomputed by hand:
        `[u_i + u_j - C_ij]_+ / eps` for QOT, `exp((u_i + u_j - C_ij) / eps)` for EOT, `exp_q` of
        the same for Tsallis; None for kernels and graphs without one.
    eps : the regularization in the units of C; `relative_eps` is what the user gives.
    row_eps : (n,) with `min_neighbors`, what each row adds to eps, in the units of C: the plan is
        `[u_i + u_j - C_ij]_+ / (eps + (row_eps_i + row_eps_j) / 2)`; None without.
    min_neighbors : (n,) the effective neighbors that each row has at least; None without a floor.
    q : 0 for QOT, 1 for EOT, and between for Tsallis.
    shift : in the units of C, so that with scores `s_ij = u_i + u_j + 2 shift - C_ij` the plan is
        `[(1 - q) s_ij / eps]_+^(1 / (1 - q))`, and `exp(s_ij / eps)` at q = 1. Zero for QOT and
        EOT, `eps / (2 (1 - q))` for Tsallis.
    certificate : marginal error and violation: why this is the optimum.
    history : the marginal error before each Newton step (or round of projections), last solve; with
        a floor, the largest of the errors of its certificate.
    hollow : whether the diagonal is constrained to zero.
    weights : (n,) the weights w of the points, to which the rows of the matrix sum: it is
        `w_i w_j [u_i + u_j - C_ij]_+ / eps`, and means are weighted too; None for equal weights.
    solver : the solver that ran.
    n_solves : how many problems were solved to find eps.
    drop : for a sparse EOT matrix, the mass that a row may have lost: entries below `drop / n` were
        left out; None if none were.
    """

    kind: str
    matrix: Any
    mean_cost: float
    metric: str
    potential: FloatArray | None = None
    eps: float | None = None
    q: float = 0.0
    certificate: Certificate | None = None
    history: tuple[float, ...] = ()
    hollow: bool = True
    solver: str = ""
    n_solves: int = 1
    row_eps: FloatArray | None = None
    min_neighbors: FloatArray | None = None
    shift: float = 0.0
    weights: FloatArray | None = None
    drop: float | None = None

    @property
    def n_iter(self) -> int:
        """Newton steps (or rounds of projections) of the last solve, on all points."""
        return len(self.history)

    @property
    def relative_eps(self) -> float:
        """The regularization relative to the mean cost; NaN if there is none, or no cost."""
        if self.eps is None or self.metric == "kernel":
            return float("nan")
        return self.eps / self.mean_cost

    @property
    def mean_neighbors(self) -> float:
        """Mean number of nonzero entries a row."""
        return float(csr_array(self.matrix).nnz / self.matrix.shape[0])

    @property
    def n_connected_components(self) -> int:
        """Number of connected components of the graph."""
        return int(
            connected_components(csr_array(self.matrix), directed=False, return_labels=False)
        )

    @property
    def perplexity(self) -> float:
        """The mean of `sparrot.perplexity`, never less than that of effective neighbors."""
        return float(perplexity(self.matrix).mean())

    @property
    def spectral_gap(self) -> float:
        r"""One minus the second largest eigenvalue of :math:`S = D^{-1/2} W D^{-1/2}`.

        Zero for a graph in pieces; the larger, the faster a random walk mixes. The largest
        eigenvalue of a connected graph is 1, with the vector :math:`D^{1/2} 1`, which the solver is
        told to leave out: it cannot be taken for the second.
        """
        if self.n_connected_components > 1:
            return 0.0
        W = as_affinity(self.matrix)
        degree = W.sum(axis=1)
        scale = diags_array(degree**-0.5)
        known = np.sqrt(degree / degree.sum())[:, None]
        with Run() as run:
            second = leading_eigenpairs(scale @ W @ scale, 1, run, tol=_RESIDUAL, known=known)
        gap = 1 - float(second.values[0])
        if second.residuals[0] > _RESIDUAL:
            raise NotConvergedError(
                f"the second eigenvalue has a residual of {second.residuals[0]:.1e}, above "
                f"{_RESIDUAL:.0e}: others are too near",
                gap,
                remedy="ask {sparrot.eigenpairs} for two pairs with a larger {tol}",
            )
        return gap

    def check(self, X: Any, *, sample: int | None = None, engine: Any = None) -> Certificate:
        """Recompute the certificate by brute force over all pairs, from the data alone.

        Costs O(n^2 p) time and, in tiles, little memory.
        The violation here is the largest difference, in the units of C, between a score, or zero if
        it is negative, and the score that the entry of the matrix implies, over *all* pairs: a
        wrong entry shows as well as a missing one. For EOT it is eps times the largest difference
        of entries, up to `eps drop / n` with `drop`. Rounding leaves about 1e-14 of the
        largest cost or potential.

        No code is shared with the solvers: costs are SciPy's distances (as for them, scikit-learn's
        for metrics other than `"sqeuclidean"` and `"cosine"`), and the plan is written out anew.

        Parameters
        ----------
        X : what the affinity was made from; with an engine all that `sparrot.qot` takes.
        sample : hold only so many random rows (always the same) against all points, for O(n p)
            time a row. Then `missed_rows` bounds, at 95 % confidence, the share of rows whose
            violation is larger than that of any of these; sums and floors are still those of all.
        engine : as for `sparrot.qot`: a Dask cluster whose workers compute the costs.

        Examples
        --------
        >>> import numpy as np, sparrot
        >>> X = np.random.default_rng(0).standard_normal((50, 3))
        >>> sparrot.qot(X).check(X).violation < 1e-12
        True
        >>> few = sparrot.qot(X).check(X, sample=10)
        >>> few.exact, few.pairs_checked, round(few.missed_rows, 2)
        (False, 445, 0.26)
        """
        if self.potential is None or self.eps is None:
            raise InvalidInputError(
                f"a {self.kind} affinity solves no problem, so there is nothing to check",
                remedy="check one of qot, eot, tsallis or project",
            )
        n = self.matrix.shape[0]
        n_rows = n if sample is None else min(n, as_count(sample, "sample"))
        violation = self._largest_discrepancy(X, n_rows, engine)
        sums = np.asarray(self.matrix.sum(axis=1)).ravel()
        if self.weights is not None:
            with np.errstate(divide="ignore"):  # weights of zero are refused with the violation
                sums = sums / self.weights
        certificate = Certificate(
            marginal_error=float(np.abs(sums - 1).max()),
            violation=violation,
            pairs_checked=number_of_pairs(n, self.hollow)
            - number_of_pairs(n - n_rows, self.hollow),
            exact=n_rows == n,
            missed_rows=0.0 if n_rows == n else 1 - 0.05 ** (1 / n_rows),
        )
        if self.row_eps is None and self.min_neighbors is None:
            return certificate
        if self.row_eps is None or self.min_neighbors is None:  # one proves nothing about the other
            return replace(certificate, floor_violation=np.inf, complementarity=np.inf)
        W = csr_array(self.matrix)
        spare = 1 - self.min_neighbors * np.asarray(W.multiply(W).sum(axis=1)).ravel()
        unused = self.row_eps / (self.eps + self.row_eps)
        possible = bool((self.row_eps >= 0).all() and (self.min_neighbors >= 1).all())
        return replace(
            certificate,
            floor_violation=float(np.maximum(0, -spare).max()),
            complementarity=float(np.maximum(0, np.minimum(unused, spare)).max())
            if possible
            else np.inf,
        )

    def _largest_discrepancy(self, X: Any, n_rows: int, engine: Any) -> float:
        """The violation that `check` finds in some rows, or in all."""
        n = self.matrix.shape[0]
        with Run(engine=engine) as run:
            points = run.hold(as_points_for(engine, X, self.metric))
            if len(points) != n:
                raise InvalidInputError(
                    f"must be the {n} rows that were fitted, got {len(points)}",
                    parameter="X",
                    remedy="pass the points it was made from",
                )
            if not self._is_possible():
                return np.inf
            left, right = self._sides(_points_or_costs(points, self.metric))
            if n_rows < n:
                left = left.part(np.sort(np.random.default_rng(_SEED).permutation(n)[:n_rows]))
            claim, size = self._claim().discrepancies, row_blocks(n, n)[0].stop
            _, found = run.tiles(claim, left, right, size, _largest_of_all)
            return float(np.max(np.concatenate(list(found))))  # NumPy's, which keeps a NaN

    def _discrepancy(self, C: FloatArray, row: int) -> float:
        """The violation that `check` finds in a row, given its costs with all points."""
        if not self._is_possible():
            return np.inf
        left, right = self._sides(None)
        return float(self._claim().discrepancy(C, left.part(slice(row, row + 1)), right)[0])

    def _claim(self) -> _Claim:
        assert self.eps is not None
        return _Claim(self.metric, self.eps, self.q, self.hollow)

    def _sides(self, points: Any) -> tuple[Side, Side]:
        """All points, with their entries and with what these follow from; and without entries."""
        assert self.potential is not None
        every: IntArray = np.arange(self.matrix.shape[0], dtype=np.int32)
        own = self.potential + self.shift, self.row_eps, self.weights
        right = Side(points, every, every, values=(None, *own))
        return replace(right, values=(self.matrix, *own)), right

    def _is_possible(self) -> bool:
        """Whether there is such a problem, and such a potential."""
        assert self.potential is not None
        assert self.eps is not None
        w = np.ones(1) if self.weights is None else self.weights
        possible = 0 < self.eps < np.inf and 0 <= self.q <= 1
        u = self.potential + self.shift
        return bool(possible and np.isfinite(u).all() and ((w > 0) & (w < np.inf)).all())

    def __repr__(self) -> str:
        """One line with what matters."""
        facts = [f"{self.matrix.shape[0]} points", f"{self.mean_neighbors:.1f} neighbors a row"]
        if self.eps is not None and self.metric != "kernel":
            facts.append(f"eps = {self.relative_eps:.3g} x mean cost")
        if self.min_neighbors is not None:
            least, most = self.min_neighbors.min(), self.min_neighbors.max()
            facts.append(f"at least {least:g}" + (f" to {most:g}" if most > least else ""))
        if self.certificate is not None:
            facts.append(errors_in_words(self.certificate, self.min_neighbors is not None))
            if self.certificate.claimed:
                facts.append("as its file claims")
        return f"<{self.kind} affinity: {', '.join(facts)}>"


def _implied(W: FloatArray, q: float) -> FloatArray:
    """The scores of which entries of a plan are powers; at q = 1 the entries themselves.

    Those of entries too small for a normal number are alike: they are not known.
    """
    if q == 1:
        return W
    return np.copysign(np.maximum(np.abs(W), np.finfo(np.float64).tiny) ** (1 - q), W)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What `check` holds against the data: that entries follow from potentials and costs."""

    metric: str
    eps: float
    q: float
    hollow: bool

    def discrepancies(self, left: Side, right: Side) -> FloatArray:
        """For each of some rows the largest discrepancy of an entry among some columns."""
        found = []
        for rows in left.parts(row_blocks(len(left), len(right))[0].stop):
            C = _costs_anew(rows.cost[rows.rows], right.cost, self.metric, self.q)
            found.append(self.discrepancy(C, rows, right))
        return np.concatenate(found)

    def discrepancy(self, C: FloatArray, left: Side, right: Side) -> FloatArray:
        """The same, given the costs."""
        (W, u, e, w), (_, v, f, m) = left.values, right.values
        place = left.names - right.names[0]
        twins = np.flatnonzero((place >= 0) & (place < len(right)))
        own = twins, place[twins]
        if self.metric not in ("precomputed", "kernel"):
            C[own] = 0.0
        q, scale = self.q, self.eps if self.q == 1 else self.eps / (1 - self.q)
        if e is not None:
            scale = self.eps + (e[:, None] + f) / 2
        scores = (u[:, None] + v - C) / scale
        if self.hollow:  # of a far point its own would overflow
            scores[own] = -np.inf
        expected = np.exp(scores) if q == 1 else np.maximum(scores, 0) ** (1 / (1 - q))
        block = W[:, right.names[0] : right.names[-1] + 1]
        block = block.toarray() if hasattr(block, "toarray") else block
        if w is not None:
            block = block / w[:, None] / m
        largest: FloatArray = (scale * np.abs(_implied(expected, q) - _implied(block, q))).max(1)
        return largest


def _largest_of_all(left: Side, found: list[FloatArray]) -> FloatArray:
    """Of each row, over all groups of columns."""
    largest: FloatArray = np.max(found, axis=0)
    return largest


def _points_or_costs(X: Any, metric: str) -> Any:
    """Points to compute costs of, or the matrix of these, where it must be had."""
    if isinstance(X, Rows):
        require_tiles(metric)
    if metric in ("sqeuclidean", "precomputed", "kernel"):
        return X
    if metric == "cosine":
        return X.mapped(_shortened) if isinstance(X, Rows) else _shortened(X)
    try:
        D = np.asarray(pairwise_distances(X, metric=metric), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"has no distances of the metric {metric!r} ({error})",
            parameter="X",
            remedy="pass the points it was made from",
        ) from error
    return (D + D.T) / 2


def _shortened(X: PointArray) -> FloatArray:
    """Points of the same directions whose squares do not overflow."""
    shortened: FloatArray = X / np.abs(X).max(axis=1, keepdims=True).astype(np.float64)
    return shortened


def _costs_anew(X: PointArray, Y: PointArray, metric: str, q: float) -> FloatArray:
    """Costs of points X with points Y, in the units of the data, by no code of `cost`.

    Those of a kernel K are minus its q-logarithm, which but for a number is -K at q = 0.
    """
    if metric in ("sqeuclidean", "cosine"):
        C: FloatArray = cdist(X, Y, metric)
        return C / 2 if metric == "sqeuclidean" else C
    return _minus_log(X.astype(np.float64), q) if metric == "kernel" else X.astype(np.float64)


def _minus_log(K: FloatArray, q: float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        if q == 0:
            return -K
        return -np.log(K) if q == 1 else (1 - K ** (1 - q)) / (1 - q)


def require_affinity(affinity: Any) -> None:
    """Raise for what is no affinity."""
    if not isinstance(affinity, Affinity):
        raise InvalidInputError(
            f"must be a sparrot.Affinity, got {type(affinity).__name__}",
            parameter="affinity",
            value=affinity,
            remedy="for an estimator pass its result_",
        )


def affinity_of(
    solution: Solution,
    kind: str,
    metric: str,
    n_solves: int = 1,
    weights: FloatArray | None = None,
) -> Affinity:
    """From a solution in units of the mean cost, and of the mean weight, to those of the data."""
    problem, certificate = solution.problem, solution.certificate
    unit, regularizer, mean_weight = problem.cost.unit, problem.regularizer, 1.0
    mean_cost = problem.cost.mean()
    if weights is not None:
        mean_weight = float(weights.mean())
        mean_cost = unit * problem.cost.mean_under(weights)
    with np.errstate(over="ignore"):
        potential = unit * (solution.u - regularizer.shift)
        row_eps = None if solution.e is None else unit * solution.e
        eps, shift = unit * regularizer.eps * mean_weight, unit * regularizer.shift
    _require_finite(eps, shift, potential, row_eps)
    floor = None if problem.floor is None else problem.floor.copy()
    for vector in (potential, row_eps, floor, weights):
        if vector is not None:
            vector.flags.writeable = False
    return Affinity(
        kind=kind,
        matrix=solution.plan if weights is None else solution.plan * mean_weight,
        mean_cost=mean_cost,
        metric=metric,
        potential=potential,
        eps=eps,
        q=regularizer.q,
        shift=shift,
        certificate=replace(
            certificate,
            marginal_error=marginal_error(solution.plan, problem.weights),
            violation=unit * certificate.violation,
        ),
        history=solution.history,
        hollow=problem.hollow,
        solver=solution.method,
        n_solves=n_solves,
        row_eps=row_eps,
        min_neighbors=floor,
        weights=weights,
        drop=getattr(regularizer, "drop", None),
    )


def _require_finite(*values: Any) -> None:
    """Raise if a number of the solution overflows in the units of the data."""
    for value in values:
        if value is not None and not np.isfinite(value).all():
            raise InvalidInputError(
                "eps or the potential is infinite, or not a number, in the units of the costs",
                remedy=["rescale the points", "take an {eps} that is less extreme"],
            )
