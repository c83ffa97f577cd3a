"""Pairs of points with their costs, and the symmetric sparse matrix that they make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array, csr_matrix

from sparrot._types import BoolArray, FloatArray, IntArray
from sparrot.engine import Threads
from sparrot.ot._link import Link

PAIR_BYTES = 80  # of one candidate pair at the peak, all copies counted
_ROWS = 4096  # rows of a block


def number_of_pairs(n: int, hollow: bool) -> int:
    """Pairs i < j of n points and, without the hollow constraint, each point with itself."""
    return n * (n - 1) // 2 if hollow else n * (n + 1) // 2


def compressed(counts: IntArray, indices: IntArray, data: FloatArray, n_columns: int) -> csr_array:
    """A CSR matrix from the number of entries in each row; int32 indices wherever they suffice."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    dtype = np.int32 if indptr[-1] < 2**31 else np.int64
    indices = indices.astype(dtype, copy=False)
    return csr_array((data, indices, indptr.astype(dtype)), shape=(len(counts), n_columns))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs `i <= j`, each at most once, with their exact costs."""

    i: IntArray
    j: IntArray
    cost: FloatArray

    def __len__(self) -> int:
        """How many."""
        return len(self.i)

    def where(self, keep: BoolArray) -> Pairs:
        """Those for which `keep` is true."""
        return Pairs(self.i[keep], self.j[keep], self.cost[keep])

    def below(self, r: FloatArray) -> BoolArray:
        """For each pair, whether `C_ij < r_i + r_j`."""
        under: BoolArray = self.cost < r[self.i] + r[self.j]
        return under

    @staticmethod
    def join(parts: list[Pairs]) -> Pairs:
        """All pairs of several disjoint lists."""
        return Pairs(
            np.concatenate([part.i for part in parts]),
            np.concatenate([part.j for part in parts]),
            np.concatenate([part.cost for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Support:
    """A set of pairs as a symmetric CSR matrix of costs, rows ascending."""

    pairs: Pairs
    indptr: IntArray
    indices: IntArray
    cost: FloatArray

    @staticmethod
    def of(pairs: Pairs, n: int) -> Support:
        """Sort the pairs into both triangles: by rows in linear time, then within each row."""
        from sparrot._kernels import mirror

        upper = coo_array((pairs.cost, (pairs.i, pairs.j)), shape=(n, n)).tocsr()
        n_entries = 2 * len(pairs) - np.count_nonzero(pairs.i == pairs.j)
        indptr = np.empty(n + 1, np.int64)
        indices = np.empty(n_entries, np.int32)
        cost = np.empty(n_entries)
        up = upper.indptr.astype(np.int64)
        mirror(up, upper.indices.astype(np.int32), upper.data, indptr, indices, cost)
        i = np.repeat(np.arange(n, dtype=np.int32), np.diff(up))
        return Support(Pairs(i, upper.indices, upper.data), indptr, indices, cost)

    def levels(
        self, rows: IntArray, u: FloatArray, link: Link, mass: float, threads: Threads
    ) -> FloatArray:
        """Levels of some rows over their pairs here: bounds on their levels over all pairs.

        Infinite for a row without any.
        """
        from sparrot._kernels import support_levels

        v = np.empty(len(rows))

        def block(start: int, stop: int) -> None:
            support_levels(
                self.indptr, self.indices, self.cost, u, mass, link.factor, link.power,
                rows[start:stop], v[start:stop],
            )  # fmt: skip

        threads.run(block, len(rows), _ROWS)
        return v


def entries_at(matrix: csr_array, pairs: Pairs) -> FloatArray:
    """The entries of a sparse matrix at some pairs, zero where it has none."""
    if len(pairs) == 0:  # SciPy would return a matrix
        return np.zeros(0)
    return np.asarray(csr_matrix(matrix)[pairs.i, pairs.j], dtype=np.float64).ravel()
