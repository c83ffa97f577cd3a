"""The hot loops: arrays in, arrays out, compiled on first use and cached.

Every kernel releases the GIL and works on a range of rows, so that the engine can run row blocks
side by side; each row is summed by one thread, always in the same order. Arrays to work in come
from outside, for kernels that allocate take much longer to compile. Nothing here knows what the
arrays mean beyond its docstring. This module is imported only when a problem is large enough
to need it.
"""

from __future__ import annotations

import functools
import logging
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils, config, event
from numba.extending import intrinsic

LOG = logging.getLogger(__name__)
Array = Any  # numba infers the types; annotations here would only repeat the docstrings

_CHUNK = 64  # columns tested at once by the vector unit
_HOST = binding.get_host_cpu_features()
_LANES = 16 if _HOST.get("avx512f") else 8 if _HOST.get("avx2") else 4  # of a vector of float32
GROUP = 4 if _LANES == 8 else 8  # rows whose products with a panel fit in the registers
PANEL = 2 * _LANES  # columns that are multiplied at once
_SUMS = 4  # that a sum is made of, so that no addition waits for the one before
_PATIENCE = 20_000  # looks at what another thread has done: tens of microseconds
# Whether it multiplies four bytes a lane at once, unless Numba is told to compile for another.
_TARGET: Any = config
HAS_BYTES = (
    _LANES == 16
    and bool(_HOST.get("avx512vnni"))
    and bool(_TARGET.ENABLE_AVX)
    and _TARGET.CPU_NAME is None
    and _TARGET.CPU_FEATURES is None
)


class _FirstUse(event.Listener):
    """Logs, once, that a kernel is compiled: it is why the first call of a kind takes longer.

    As a warning, so that it is seen on stderr where nobody has set up a log.
    """

    def __init__(self) -> None:
        self._is_told = False

    def on_start(self, event: Any) -> None:
        """A function of anybody is compiled."""
        ours = event.data["dispatcher"].py_func.__module__ == __name__
        if ours and not self._is_told:
            self._is_told = True
            LOG.warning(
                "compiling for the first call of its kind: a few seconds, once on this machine"
            )

    def on_end(self, event: Any) -> None:
        """It was compiled."""


event.register("numba:compile", _FirstUse())


@njit(nogil=True, cache=True)
def _none_above(g: Array, b: Array, start: int, t: float) -> bool:
    """Whether no `g[j] + b[j] > t` in the chunk of columns from `start` on, unless it is cut short.

    The number of turns is a constant, which is what lets the vector unit do it.
    """
    if start + _CHUNK > len(g):
        return False
    g, b = g[start : start + _CHUNK], b[start : start + _CHUNK]
    hits = np.int32(0)
    for j in range(_CHUNK):
        hits += np.int32(g[j] + b[j] > t)
    return hits == 0


@njit(nogil=True, cache=True)
def find_hits(G: Array, b: Array, t: Array, rows: Array, columns: Array) -> int:
    """List the entries with `G[i, j] + b[j] > t[i]`, row by row, columns ascending.

    Returns their number; where it is more than the lists can take, the rest is not written.
    """
    room = len(rows)
    count = 0
    for i in range(G.shape[0]):
        g = G[i]
        for start in range(0, len(g), _CHUNK):
            if _none_above(g, b, start, t[i]):
                continue
            for j in range(start, min(start + _CHUNK, len(g))):
                if g[j] + b[j] > t[i]:
                    if count < room:
                        rows[count] = i
                        columns[count] = j
                    count += 1
    return count


def _write_group(
    typing: Any, place: Any, A: Any, rows: Any, t: Any, panels: Any, found: Any
) -> Any:
    """Multiply a group of rows with a panel of columns; tell which entries are above `t` of a row.

    `place` is (first row, number of rows, panel, number of coordinates). A panel has the numbers
    that are added to the products of its columns, then each coordinate of all of them. The entries
    of each row go to `found` as bits; returned are those of any row. All sums are in registers.

    Coordinates are float32, or int32 for four of 8 bits: with signs in A, without in the panels.
    """
    number = A.dtype
    if number not in (types.float32, types.int32):
        raise TypeError("needs coordinates of 32 bits")
    kinds = number, types.int32, number, number, types.int64
    dimensions = 2, 1, 1, 1, 1
    expected = [types.Array(kind, d, "C") for kind, d in zip(kinds, dimensions, strict=True)]
    if [array.copy(readonly=False) for array in (A, rows, t, panels, found)] != expected:
        raise TypeError("needs numbers and indices of 32 bits, and bits of 64, in C order")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, n_rows, panel, size = cgutils.unpack_tuple(builder, arguments[0], 4)
        a_of, rows_of, t_of, panel_of, found_of = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[1:], arguments[1:], strict=True)
        )
        short, long = ir.IntType(32), ir.IntType(64)
        is_float = number == types.float32
        vector = ir.VectorType(ir.FloatType() if is_float else short, _LANES)
        nothing, lanes = ir.Constant(vector, ir.Undefined), ir.VectorType(short, _LANES)

        def whole(number: int) -> Any:
            return ir.Constant(long, number)

        def each(number: Any) -> Any:
            alone = builder.insert_element(nothing, number, ir.Constant(short, 0))
            return builder.shuffle_vector(alone, nothing, ir.Constant(lanes, [0] * _LANES))

        def of_panel(k: Any) -> list[Any]:
            start = builder.gep(panel_start, [builder.mul(k, whole(PANEL))])
            places = (builder.gep(start, [whole(lane)]) for lane in range(0, PANEL, _LANES))
            return [
                builder.load(builder.bitcast(place, vector.as_pointer()), align=4)
                for place in places
            ]

        def added(total: Any, a: Any, column: Any) -> Any:
            if is_float:
                product = builder.fmul(a, column, flags=("contract",))
                return builder.fadd(total, product, flags=("contract",))
            kind = ir.FunctionType(vector, [vector] * 3)
            name = f"llvm.x86.avx512.vpdpbusd.{32 * _LANES}"
            multiply = cgutils.get_or_insert_function(builder.module, kind, name)
            return builder.call(multiply, [total, column, a])

        panel_size = builder.mul(builder.add(size, whole(1)), whole(PANEL))
        panel_start = builder.gep(panel_of, [builder.mul(panel, panel_size)])
        last = builder.sub(n_rows, whole(1))
        places = [builder.add(first, whole(r)) for r in range(GROUP)]
        places = [builder.select(builder.icmp_signed("<", i, last), i, last) for i in places]
        own = [builder.zext(builder.load(builder.gep(rows_of, [i])), long) for i in places]
        row_starts = [builder.gep(a_of, [builder.mul(i, size)]) for i in own]
        start, before = of_panel(whole(0)), builder.block
        loop, after = (builder.append_basic_block(name) for name in ("coordinates", "bits"))
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(long)
        sums = [[builder.phi(vector) for _ in start] for _ in row_starts]
        next_k = builder.add(k, whole(1))
        columns, totals = of_panel(next_k), []
        for row, sums_of_row in zip(row_starts, sums, strict=True):
            a = each(builder.load(builder.gep(row, [k])))
            pairs = zip(sums_of_row, columns, strict=True)
            totals.append([added(total, a, column) for total, column in pairs])
        for phi, initial, following in [(k, whole(0), next_k)] + [
            (sums[r][v], start[v], totals[r][v]) for r in range(GROUP) for v in range(len(start))
        ]:
            phi.add_incoming(initial, before)
            phi.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", next_k, size), loop, after)
        builder.position_at_end(after)
        any_row = whole(0)
        compare = builder.fcmp_ordered if is_float else builder.icmp_signed
        for r, i in enumerate(places):
            limit, bits = each(builder.load(builder.gep(t_of, [i]))), whole(0)
            for v, total in enumerate(totals[r]):
                above = compare(">", total, limit)
                some = builder.zext(builder.bitcast(above, ir.IntType(_LANES)), long)
                bits = builder.or_(bits, builder.shl(some, whole(v * _LANES)))
            builder.store(bits, builder.gep(found_of, [whole(r)]))
            any_row = builder.or_(any_row, bits)
        return any_row

    return types.int64(place, A, rows, t, panels, found), codegen


def _write_lowest(typing: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


_group_above: Array = intrinsic(_write_group)
_lowest: Array = intrinsic(_write_lowest)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def list_above(
    A: Array,
    rows: Array,
    t: Array,
    B: Array,
    columns: Array,
    b: Array,
    Z: Array,
    z_t: Array,
    Y: Array,
    y_b: Array,
    panels: Array,
    found: Array,
    out_i: Array,
    out_j: Array,
) -> int:
    """List the places i, j with `A[rows[i]] . B[columns[j]] + b[j] > t[i]`.

    In float32, or in int32 by four coordinates of 8 bits each, in B without signs. And of these
    only those that have the same by Z and Y with `z_t` and `y_b` in float32, where these have any
    columns. The columns of a row are listed in ascending order. Returns the number of entries;
    where there may be more than the lists can take, a number that is enough, and the lists are of
    no use. `b` has a number for each column of all panels. As many columns are looked at together
    as `panels` has room for; `found` has room for the bits of a group of rows.
    """
    size, room, kept = A.shape[1], len(out_i), 0
    at_once = len(panels) // (size + 1) // PANEL * PANEL
    for first in range(0, len(b), at_once):
        last = min(first + at_once, len(b))
        for j in range(first, last):
            place = (j - first) // PANEL * PANEL * (size + 1) + j % PANEL
            panels[place] = b[j]
            y = B[columns[min(j, len(columns) - 1)]]
            for k in range(size):
                place += PANEL
                panels[place] = y[k]
        count = kept
        for i in range(0, len(rows), GROUP):
            for panel in range((last - first) // PANEL):
                if _group_above((i, len(rows), panel, size), A, rows, t, panels, found) == 0:
                    continue
                for r in range(min(GROUP, len(rows) - i)):
                    bits = found[r]
                    while bits != 0:
                        if count < room:
                            out_i[count] = i + r
                            out_j[count] = first + panel * PANEL + _lowest(bits)
                        count += 1
                        bits &= bits - 1
        if Z.shape[1] == 0 or count > room:
            kept = count
            continue
        for k in range(kept, count):
            i, j = out_i[k], out_j[k]
            z, y = Z[rows[i]], Y[columns[j]]
            total = y_b[j]
            for c in range(len(z)):
                total += z[c] * y[c]
            out_i[kept] = i
            out_j[kept] = j
            kept += total > z_t[i]
    return kept


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _between(low: Array, high: Array, b: int, low_2: Array, high_2: Array, j: int) -> Any:
    """The squared distance between the box b of some and the box j of others."""
    total = np.float32(0)
    for c in range(low.shape[1]):
        d = max(max(low[b, c] - high_2[j, c], low_2[j, c] - high[b, c]), np.float32(0))
        total += d * d
    return total


@njit(nogil=True, cache=True)
def within_boxes(
    low: Array,
    high: Array,
    r: Array,
    error: Array,
    leaf_low: Array,
    leaf_high: Array,
    leaf_u: Array,
    leaf_error: Array,
    y: Array,
    u: Array,
    y_error: Array,
    wider: float,
    size: int,
    first: int,
    near: Array,
    out: Array,
) -> int:
    """List the points y from `first` on that are near one of the boxes `low`, `high`.

    Near means `r + u > d^2 / 2`, with the distance d shortened by the errors of both and by the
    factor `wider`. The points are in boxes themselves, `size` to each. `near` has a place for each
    of the boxes to work in. Returns the number of points.
    """
    count = 0
    for leaf in range(first // size, len(leaf_u)):
        for b in range(len(r)):
            t = np.sqrt(2 * max(r[b] + leaf_u[leaf], 0.0)) + error[b] + leaf_error[leaf]
            d = _between(low, high, b, leaf_low, leaf_high, leaf)
            near[b] = not d > wider * t * t
        for j in range(max(leaf * size, first), min((leaf + 1) * size, len(y))):
            for b in range(len(r)):
                if near[b]:
                    t = np.sqrt(2 * max(r[b] + u[j], 0.0)) + error[b] + y_error[j]
                    if not _between(low, high, b, y, y, j) > wider * t * t:
                        out[count] = j
                        count += 1
                        break
    return count


@njit(nogil=True, cache=True)
def row_kth(Q: Array, b: Array, heap: Array, out: Array) -> None:
    """Set `out[i]` to the k-th largest of `Q[i, j] + b[j]` over the columns j.

    A heap of k places holds the k largest so far, the smallest of them on top.
    """
    k = len(heap)
    for i in range(Q.shape[0]):
        q = Q[i]
        for place in range(k):
            heap[place] = -np.inf
        for start in range(0, len(q), _CHUNK):
            if _none_above(q, b, start, heap[0]):
                continue
            for j in range(start, min(start + _CHUNK, len(q))):
                new = q[j] + b[j]
                if new <= heap[0]:
                    continue
                place = 0
                while True:  # sift down
                    child = 2 * place + 1
                    if child + 1 < k and heap[child + 1] < heap[child]:
                        child += 1
                    if child >= k or heap[child] >= new:
                        break
                    heap[place] = heap[child]
                    place = child
                heap[place] = new
        out[i] = heap[0]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def pair_costs(X: Array, i: Array, Y: Array, j: Array, factor: float, out: Array) -> None:
    """Set `out[k] = factor * |X[i[k]] - Y[j[k]]|^2`, in float64 whatever the type of X and Y."""
    for k in range(len(i)):
        total = 0.0
        for c in range(X.shape[1]):
            d = np.float64(X[i[k], c]) - np.float64(Y[j[k], c])
            total += d * d
        out[k] = factor * total


@njit(nogil=True, cache=True)
def _c_transform(s: Array, count: int, mass: float, factor: float, power: float) -> float:
    """Solve `sum_k g([v + s_k]_+) = mass` over the first `count` scores, g(t) = (factor t)^power.

    Newton from the right on a convex increasing function: monotone, and finite if power is 1. The
    scores that stay positive are moved to the front.
    """
    top = s[0]
    for k in range(1, count):
        top = max(top, s[k])
    v = mass ** (1 / power) / factor - top
    for _ in range(200):
        total = 0.0
        slope = 0.0
        kept = 0
        for k in range(count):
            if s[k] + v > 0:
                s[kept] = s[k]
                kept += 1
                if power == 1.0:
                    total += s[k]
                else:
                    g = (factor * (s[k] + v)) ** (power - 1)
                    slope += power * factor * g
                    total += factor * (s[k] + v) * g
        if kept == 0:  # rounding: the largest score alone carries the mass
            break
        count = kept
        lower = (mass / factor - total) / count if power == 1.0 else v - (total - mass) / slope
        if lower >= v:
            break
        v = lower
    return v


@njit(nogil=True, cache=True)
def c_transform_support(
    indptr: Array,
    indices: Array,
    cost: Array,
    u: Array,
    mass: float,
    factor: float,
    power: float,
    rows: Array,
    s: Array,
    v: Array,
) -> None:
    """Solve `sum_j g([v_k + u_j - cost_ij]_+) = mass` over the pairs of each row i = rows[k].

    A row without pairs gets infinity. `s` has room for the longest row.
    """
    for k in range(len(rows)):
        i = rows[k]
        count = indptr[i + 1] - indptr[i]
        for a in range(count):
            s[a] = u[indices[indptr[i] + a]] - cost[indptr[i] + a]
        v[k] = _c_transform(s, count, mass, factor, power) if count else np.inf


@njit(nogil=True, cache=True)
def mirror_rows(
    up: Array,
    ui: Array,
    uc: Array,
    indptr: Array,
    below: Array,
    indices: Array,
    cost: Array,
    first: int,
    last: int,
) -> None:
    """Unfold the upper triangle (CSR, rows ascending): rows first..last-1 of the symmetric matrix.

    They come out ascending without a sort: the mirrored part of a row precedes its own. `below`
    says where the mirrored part of each row begins, and afterwards where it ends.
    """
    for i in range(last):
        own = indptr[i + 1] - (up[i + 1] - up[i])
        for k in range(up[i], up[i + 1]):
            j = ui[k]
            if i >= first:
                indices[own] = j
                cost[own] = uc[k]
                own += 1
            if first <= j < last and j != i:
                indices[below[j]] = i
                cost[below[j]] = uc[k]
                below[j] += 1


@njit(nogil=True, cache=True)
def residual_rows(
    indptr: Array,
    indices: Array,
    cost: Array,
    u: Array,
    mass: Array,
    integral: Array,
    degree: Array,
    active: Array,
    start: int,
    stop: int,
) -> None:
    """For rows start..stop: sum, half of the squares and number of the positive `u_i + u_j - C_ij`.

    Their columns go to the front of the row's slots in `active`.
    """
    for i in range(start, stop):
        total = 0.0
        squares = 0.0
        k = indptr[i]
        for e in range(indptr[i], indptr[i + 1]):
            score = max(u[i] + u[indices[e]] - cost[e], 0.0)
            total += score
            squares += score * score
            active[k] = indices[e]  # overwritten by the next one unless it counts; no branch
            k += score > 0
        mass[i] = total
        integral[i] = squares / 2
        degree[i] = k - indptr[i]


@njit(nogil=True, cache=True)
def weighted_residual_rows(
    indptr: Array,
    indices: Array,
    cost: Array,
    u: Array,
    weights: Array,
    mass: Array,
    integral: Array,
    slope: Array,
    degree: Array,
    active: Array,
    start: int,
    stop: int,
) -> None:
    """As `residual_rows`, with sums in which column j counts w_j times; their number is `slope`."""
    for i in range(start, stop):
        total = 0.0
        squares = 0.0
        weight = 0.0
        k = indptr[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            score = u[i] + u[j] - cost[e]
            if score > 0:
                total += weights[j] * score
                squares += weights[j] * score * score
                weight += weights[j]
                active[k] = j
                k += 1
        mass[i] = total
        integral[i] = squares / 2
        slope[i] = weight
        degree[i] = k - indptr[i]


@njit(nogil=True, cache=True)
def adjacency_rows(
    indptr: Array, active: Array, degree: Array, x: Array, out: Array, start: int, stop: int
) -> None:
    """For rows start..stop: `out_i = sum of x_j` over the active columns of row i."""
    for i in range(start, stop):
        total = 0.0
        for e in range(indptr[i], indptr[i] + degree[i]):
            total += x[active[e]]
        out[i] = total


@njit(nogil=True, cache=True)
def power_rows(
    indptr: Array,
    indices: Array,
    cost: Array,
    u: Array,
    factor: float,
    power: float,
    mass: Array,
    integral: Array,
    slope: Array,
    degree: Array,
    active: Array,
    weight: Array,
    start: int,
    stop: int,
) -> None:
    """As `residual_rows` for `g(s) = (factor s)^power`: sums of g, its integral and slope.

    The slopes of the positive scores go to `weight`, their columns to `active`.
    """
    for i in range(start, stop):
        total = 0.0
        area = 0.0
        steep = 0.0
        k = indptr[i]
        for e in range(indptr[i], indptr[i + 1]):
            score = u[i] + u[indices[e]] - cost[e]
            if score > 0:
                t = factor * score
                g = t ** (power - 1)
                total += t * g
                area += t * t * g / (factor * (power + 1))
                active[k] = indices[e]
                weight[k] = power * factor * g
                steep += weight[k]
                k += 1
        mass[i] = total
        integral[i] = area
        slope[i] = steep
        degree[i] = k - indptr[i]


@njit(nogil=True, cache=True)
def weighted_rows(
    indptr: Array,
    active: Array,
    weight: Array,
    degree: Array,
    x: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """For rows start..stop: `out_i = sum of weight_ij x_j` over the active columns of row i."""
    for i in range(start, stop):
        total = 0.0
        for e in range(indptr[i], indptr[i] + degree[i]):
            total += weight[e] * x[active[e]]
        out[i] = total


@njit(nogil=True, cache=True)
def score_rows(
    indptr: Array,
    indices: Array,
    cost: Array,
    u: Array,
    starts: Array,
    columns: Array,
    scores: Array,
    start: int,
    stop: int,
) -> None:
    """Write the positive scores `u_i + u_j - C_ij` of rows start..stop, and their columns."""
    for i in range(start, stop):
        k = starts[i]
        for e in range(indptr[i], indptr[i + 1]):
            score = u[i] + u[indices[e]] - cost[e]
            if score > 0:
                columns[k] = indices[e]
                scores[k] = score
                k += 1


@njit(nogil=True, cache=True)
def second_neighbors(
    indptr: Array,
    indices: Array,
    known_ptr: Array,
    known: Array,
    X: Array,
    r: Array,
    factor: float,
    start: int,
    stop: int,
    seen: Array,
    rows: Array,
    columns: Array,
    costs: Array,
) -> int:
    """List the pairs i < l, start <= i < stop, that share a neighbor in the graph `indices`.

    Only those with `r_i + r_l > C_il = factor |x_i - x_l|^2` that are not in the graph `known`;
    returns their number, of which no more are written than there is room for. `seen` is the last
    row, from one on, that met a point: zeros at first.
    """
    count = 0
    for i in range(start, stop):
        for e in range(known_ptr[i], known_ptr[i + 1]):
            seen[known[e]] = i + 1
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for f in range(indptr[j], indptr[j + 1]):
                k = indices[f]
                if k <= i or seen[k] == i + 1:
                    continue
                seen[k] = i + 1
                cost = 0.0
                for c in range(X.shape[1]):
                    d = np.float64(X[i, c]) - np.float64(X[k, c])
                    cost += d * d
                cost *= factor
                if cost < r[i] + r[k]:
                    if count < len(rows):
                        rows[count] = i
                        columns[count] = k
                        costs[count] = cost
                    count += 1
    return count


def _write_three_terms(
    typing: Any, place: Any, ends: Any, indices: Any, data: Any, X: Any, Y: Any, abc: Any
) -> Any:
    """Set `y = a sum_k data[k] X[indices[k], p : p + 4] + b x + c y` for one row of M.

    Here x and y are the columns p..p+3 of row i of X and Y, `place` is (i, p, number of columns)
    and `ends` are the first k and the end of the row. Numba does not vectorize sums of four
    columns, so that this is written for the vector unit. Every fourth k goes to the same of four
    sums, which are added in the end.
    """
    whole, real = types.Array(types.int32, 1, "C"), types.Array(types.float64, 1, "C")
    block = types.Array(types.float64, 2, "C")
    if [array.copy(readonly=False) for array in (indices, data, X, Y)] != [
        whole,
        real,
        block,
        block,
    ]:
        raise TypeError("needs indices of 32 bits, and numbers of 64 in C order")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, first, columns = cgutils.unpack_tuple(builder, arguments[0], 3)
        begin, end = cgutils.unpack_tuple(builder, arguments[1], 2)
        a, b, c = cgutils.unpack_tuple(builder, arguments[6], 3)
        j_of, w_of, x_of, y_of = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[2:6], arguments[2:6], strict=True)
        )
        four, long = ir.VectorType(ir.DoubleType(), 4), ir.IntType(64)
        nothing = ir.Constant(four, ir.Undefined)
        one, step = ir.Constant(long, 1), ir.Constant(long, _SUMS)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)

        def each(number: Any) -> Any:
            alone = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(alone, nothing, lanes)

        def columns_of(array: Any, i: Any) -> Any:
            start = builder.gep(array, [builder.add(builder.mul(i, columns), first)])
            return builder.bitcast(start, four.as_pointer())

        def plus(total: Any, factor: Any, vector: Any) -> Any:
            product = builder.fmul(each(factor), vector, flags=("contract",))
            return builder.fadd(total, product, flags=("contract",))

        def add(k: Any, total: Any) -> None:
            j = builder.zext(builder.load(builder.gep(j_of, [k])), long)
            x = builder.load(columns_of(x_of, j), align=8)
            w = builder.load(builder.gep(w_of, [k]))
            builder.store(plus(builder.load(total), w, x), total)

        zero = ir.Constant(four, [0.0] * 4)
        totals = [cgutils.alloca_once_value(builder, zero) for _ in range(_SUMS)]
        rest = builder.sub(end, builder.srem(builder.sub(end, begin), step))
        with cgutils.for_range_slice(builder, begin, rest, step, long) as (k, _):
            for s, total in enumerate(totals):
                add(builder.add(k, ir.Constant(long, s)), total)
        with cgutils.for_range_slice(builder, rest, end, one, long) as (k, _):
            add(k, totals[0])
        total = functools.reduce(builder.fadd, map(builder.load, totals))
        y = columns_of(y_of, row)
        out = builder.fmul(each(a), total)
        out = plus(out, b, builder.load(columns_of(x_of, row), align=8))
        builder.store(plus(out, c, builder.load(y, align=8)), y, align=8)
        return context.get_dummy_value()

    return types.void(place, ends, indices, data, X, Y, abc), codegen


_three_terms_of_four: Array = intrinsic(_write_three_terms)


def _write_read(typing: Any, numbers: Any, k: Any) -> Any:
    """Read `numbers[k]`, which other threads change, before all that comes after it."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(builder.gep(data, [arguments[1]]), "acquire", 8)

    return types.int64(types.Array(types.int64, 1, "C"), types.int64), codegen


def _write_count(typing: Any, numbers: Any, k: Any) -> Any:
    """Add one to `numbers[k]` after all that came before it, and return what it was."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), one, "seq_cst")

    return types.int64(types.Array(types.int64, 1, "C"), types.int64), codegen


_read: Array = intrinsic(_write_read)
_count: Array = intrinsic(_write_count)


@njit(nogil=True, cache=True)
def three_term_rows(
    indptr: Array,
    indices: Array,
    data: Array,
    X: Array,
    Y: Array,
    steps: Array,
    ends: Array,
    counts: Array,
    part: int,
) -> int:
    """Replace Y by `a M X + b X + c Y`, then X by the same of Y, and so on, for M in CSR.

    Each row of `steps` is a, b and c. All threads that call this share the work: each takes the
    next part of it, a piece `ends[p]..ends[p + 1] - 1` of the rows in one step, until there are
    none; a part waits for all of the step before. `counts` has the number of parts that were taken,
    and from 1 on those of each step that are done. Returns -1 when all is done; or the part that it
    had when others were waited for too long, which the next call goes on with. The first call has
    part -1. X and Y are in C order and have a multiple of four columns; the indices are of 32 bits.
    """
    pieces, columns = len(ends) - 1, X.shape[1]
    while True:
        if part < 0:
            part = _count(counts, 0)
        step = min(part // pieces, len(steps))
        patience = _PATIENCE
        while step and _read(counts, step) < pieces:
            patience -= 1
            if patience == 0:
                return part
        if step == len(steps):
            return -1
        A, B = (X, Y) if step % 2 == 0 else (Y, X)
        abc = (steps[step, 0], steps[step, 1], steps[step, 2])
        piece = part % pieces
        for i in range(ends[piece], ends[piece + 1]):
            row = (np.int64(indptr[i]), np.int64(indptr[i + 1]))
            for p in range(0, columns, 4):
                _three_terms_of_four((i, p, columns), row, indices, data, A, B, abc)
        _count(counts, step + 1)
        part = -1


@njit(nogil=True, cache=True)
def floor_rows(
    indptr: Array,
    indices: Array,
    cost: Array,
    u: Array,
    e: Array,
    eps: float,
    sums: Array,
    degree: Array,
    active: Array,
    w: Array,
    h: Array,
    start: int,
    stop: int,
) -> None:
    """For rows start..stop of a plan `w = s / d` with `d = eps + (e_i + e_j) / 2`, `h = 1 / d`.

    Sets the columns of `sums` to the sums of w, w^2, s w, h, w h and w^2 h. The columns, w and h of
    the positive scores go to the front of the row's slots in `active`, `w` and `h`.
    """
    for i in range(start, stop):
        total, squares, value, a, b, q = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        k = indptr[i]
        for x in range(indptr[i], indptr[i + 1]):
            j = indices[x]
            s = u[i] + u[j] - cost[x]
            if s > 0:
                g = 1 / (eps + (e[i] + e[j]) / 2)
                p = s * g
                total += p
                squares += p * p
                value += s * p
                a += g
                b += p * g
                q += p * p * g
                active[k] = j
                w[k] = p
                h[k] = g
                k += 1
        sums[0, i] = total
        sums[1, i] = squares
        sums[2, i] = value
        sums[3, i] = a
        sums[4, i] = b
        sums[5, i] = q
        degree[i] = k - indptr[i]


@njit(nogil=True, cache=True)
def floor_product_rows(
    indptr: Array,
    active: Array,
    degree: Array,
    w: Array,
    h: Array,
    p: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """For rows start..stop, `t = h (x_i + x_j - w (y_i + y_j) / 2)`: sums of t and of -w t / 2."""
    x, y = p[0], p[1]
    for i in range(start, stop):
        first, second = 0.0, 0.0
        for k in range(indptr[i], indptr[i] + degree[i]):
            j = active[k]
            t = h[k] * (x[i] + x[j] - w[k] * (y[i] + y[j]) / 2)
            first += t
            second += w[k] * t
        out[0, i] = first
        out[1, i] = -second / 2


@njit(nogil=True, cache=True)
def _floor_level(s: Array, c: Array, n: int, half: float) -> tuple[float, float]:
    """The v with `sum w = 1` for `w_j = [v + s_j]_+ / (c_j + half)`, and the sum of the squares.

    Newton from the right, which is monotone.
    """
    v = np.inf
    for a in range(n):
        v = min(v, c[a] + half - s[a])
    squares = 0.0
    for _ in range(200):
        weight, total, squares = 0.0, 1.0, 0.0
        for a in range(n):
            if v + s[a] > 0:
                g = 1 / (c[a] + half)
                weight += g
                total -= s[a] * g
                squares += (v + s[a]) * (v + s[a]) * g * g
        if weight == 0 or total / weight >= v:
            break
        v = total / weight
    return v, squares


@njit(nogil=True, cache=True)
def floor_transform_rows(
    indptr: Array,
    indices: Array,
    cost: Array,
    u: Array,
    e: Array,
    eps: float,
    floor: Array,
    near: Array,
    precision: float,
    rows: Array,
    s: Array,
    c: Array,
    v: Array,
    f: Array,
) -> None:
    """For rows[k] the v and f >= 0 with `sum w = 1` and `sum w^2 <= 1 / floor[k]`.

    Here `w_j = [v + u_j - cost_j]_+ / (eps + (f + e_j) / 2)` over the pairs of the row, and the
    bound is met with equality, to a precision in its logarithm, where f > 0. A row without pairs,
    or with too few for its floor, gets infinity. `near` are guesses of f; `s` and `c` have room for
    the longest row.
    """
    for k in range(len(rows)):
        i = rows[k]
        n = indptr[i + 1] - indptr[i]
        for a in range(n):
            j = indices[indptr[i] + a]
            s[a] = u[j] - cost[indptr[i] + a]
            c[a] = eps + e[j] / 2
        v[k] = np.inf
        f[k] = 0.0
        if n < floor[k]:
            continue
        low, high, y_low, y_high = 0.0, np.inf, 0.0, 0.0
        half = 0.0  # f / 2
        for turn in range(100):
            v[k], squares = _floor_level(s, c, n, half)
            f[k] = 2 * half
            y = np.log(floor[k] * squares)
            narrow = high < np.inf and high - low <= 1e-14 * high
            if abs(y) <= precision or (turn == 0 and y < 0) or narrow:
                break
            if y > 0:
                low, y_low = half, y
            else:
                high, y_high = half, y
            if high == np.inf:
                half = max(near[k] / 2, eps * y) if turn == 0 else 2 * half * max(1.0, y)
                continue
            part = y_low / (y_low - y_high)
            part = min(max(part, 0.02), 0.98) if turn % 4 else 0.5
            half = low * (high / low) ** part if low > 0 else part * high
