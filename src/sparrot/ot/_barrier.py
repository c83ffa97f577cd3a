r"""The central path of the problem with floors, for rows with hardly more neighbors than these.

A row of two neighbors with a floor of two has equal weights, whatever :math:`u_i` and
:math:`e_i / 4` are as long as their difference stays and no third neighbor joins. Where there are
many such rows the dual of `sparrot.ot._floor` is flat between kinks, and Newton's method crawls
from one kink to the next. For :math:`\mu > 0` the equations

.. math:: d_{ij} W_{ij} - (u_i + u_j - C_{ij}) = z_{ij}, \quad
          \sum_j W_{ij} + g_i = 1, \quad |W_i|^2 + t_i = 1/k_i, \quad
          W_{ij} z_{ij} = g_i v_i = e_i t_i / 4 = \mu

in positive W, z, g, v, t and e are smooth, and their solution tends to that of the problem with
:math:`\mu`. Here :math:`d_{ij} = \varepsilon + (e_i + e_j) / 2`, and :math:`g_i` is the mass of the
ghost of a row with a ceiling :math:`r_i` and stiffness :math:`\sigma_i`:
:math:`g_i / \sigma_i - (u_i - r_i) = v_i`.

Each step solves their linearization twice, for a prediction at :math:`\mu = 0` and for a correction
(Mehrotra). All changes but those of u and e are eliminated, which leaves the system of Newton's
method with :math:`1 / (d + z/W)` over all pairs in the place of 1/d over the positive ones. The
number of steps hardly depends on the number of points. The errors of a dual point fall like the
root of :math:`\mu`, where pairs are on the verge of carrying mass, so that Newton has to finish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from sparrot._types import BoolArray, FloatArray
from sparrot.engine import Threads
from sparrot.ot._newton import conjugate_gradients
from sparrot.ot._screening import Support

_FIRST = 0.1  # mu of the first point, as a share of the median d
_INSIDE = 0.1  # share of 1/k that the first t has at least
_MOST_STEPS = 100
_TO_THE_BOUNDARY = 0.99  # share of the way that a step may take
_STUCK, _TOO_SHORT = 5, 1e-2  # steps of so little length, after which it is given up
_PREDICTED, _CORRECTED = 1e-3, 1e-5  # errors by which the two solves are as precise as they need be
_LEAST, _LARGEST = 1e-4, 0.5  # factor on mu in one step
_BLOCK = 16_384  # rows of a product at a time
_SINGULAR = 1e-14  # share of a 2 x 2 determinant below which it is rounding


@dataclass(frozen=True, slots=True)
class _Point:
    """A point near the path, or a step; W and z have an entry for each pair, others for rows."""

    u: FloatArray
    W: FloatArray
    z: FloatArray
    g: FloatArray
    v: FloatArray
    t: FloatArray
    e: FloatArray

    def moved(self, step: _Point, length: float) -> _Point:
        """The point that a step of some length leads to."""
        return _Point(
            *(
                getattr(self, field.name) + length * getattr(step, field.name)
                for field in fields(self)
            )
        )

    def farthest(self, step: _Point) -> float:
        """The length at which the first number vanishes, but no more than one."""
        length = 1.0
        for field in fields(self)[1:]:
            here, change = getattr(self, field.name), getattr(step, field.name)
            falls = change < 0
            length = min(length, float((here[falls] / -change[falls]).min(initial=np.inf)))
        return length

    @property
    def gap(self) -> float:
        """The mean of what should be mu."""
        total = float(self.W @ self.z) / 2 + float(self.g @ self.v) + float(self.e @ self.t) / 4
        return total / (len(self.W) / 2 + 2 * len(self.u))


class CentralPath:
    """The path for rows with floors k over the pairs of a support, with ghosts as a dual has them.

    Parameters
    ----------
    support : the pairs.
    eps : regularization.
    k : the floors.
    ceiling, stiffness : of the ghosts.
    threads : those that compute.
    held : rows whose u and e stay as they are, and whose own equations do not count.
    """

    def __init__(
        self,
        support: Support,
        eps: float,
        k: FloatArray,
        ceiling: FloatArray,
        stiffness: FloatArray,
        threads: Threads,
        held: BoolArray | None = None,
    ) -> None:
        self._support, self._threads = support, threads
        self._free = np.ones(len(k)) if held is None else np.where(held, 0.0, 1.0)
        rows = np.arange(len(k), dtype=np.int32)
        self._i, self._j = np.repeat(rows, support.counts), support.indices
        self._C, self._eps, self._k = support.cost, eps, k
        self._r, self._soft = ceiling, 1 / stiffness
        self._point: _Point | None = None  # where it was left

    def follow(
        self, x: FloatArray, error: Callable[[FloatArray], float], enough: float
    ) -> tuple[FloatArray, float]:
        """From near x = (u, e) on, until the error of (u, e) is small enough.

        If it was followed before, it goes on from where it was left, unless that led nowhere. The
        best of these, and its error.
        """
        point, short = self._first(x) if self._point is None else self._point, 0
        best, least = x, error(x)
        for _ in range(_MOST_STEPS):
            here = np.stack([point.u, point.e])
            if (found := error(here)) < least:
                best, least = here, found
            if least <= enough or short == _STUCK:
                break
            step = self._step(point)
            length = _TO_THE_BOUNDARY * point.farthest(step)
            point = point.moved(step, length)
            short = short + 1 if length < _TOO_SHORT else 0
        lost = short == _STUCK or not np.isfinite(found)
        self._point = None if lost else point
        return best, least

    def _first(self, x: FloatArray) -> _Point:
        """A point that has the right z and v, with u and e that are not too small."""
        u, e = x
        e = np.maximum(e, self._eps * self._free)
        s, d = self._sums(u) - self._C, self._eps + self._sums(e) / 2
        mu = _FIRST * float(np.median(d))
        W = (s + np.sqrt(s * s + 4 * mu * d)) / (2 * d)
        over = u - self._r
        g = (over + np.sqrt(over * over + 4 * mu * self._soft)) / (2 * self._soft)
        t = np.maximum(1 / self._k - self._of_rows(W * W), _INSIDE / self._k) * self._free
        return _Point(u, W, d * W - s, g, self._soft * g - over, t, e)

    def _sums(self, x: FloatArray) -> FloatArray:
        """Those of the two points of each pair."""
        total = x[self._i]
        total += x[self._j]
        return total

    def _of_rows(self, entries: FloatArray) -> FloatArray:
        """The sums of entries over each row."""
        return np.bincount(self._i, entries, len(self._k)).astype(np.float64)

    def _step(self, p: _Point) -> _Point:
        """To a smaller mu, which the prediction at mu = 0 tells, with its curvature corrected."""
        system = self._system(p)
        ahead = self._solved(p, system, 0.0, None, _PREDICTED)
        share = (p.moved(ahead, p.farthest(ahead)).gap / p.gap) ** 3
        mu = float(np.clip(share, _LEAST, _LARGEST)) * p.gap
        return self._solved(p, system, mu, ahead, _CORRECTED)

    def _system(self, p: _Point) -> tuple[Any, ...]:
        """The linear system in (u, e) at a point: pairs, ghosts, its map and its preconditioner."""
        d = self._eps + self._sums(p.e) / 2
        h, ghost = 1 / (d + p.z / p.W), 1 / (self._soft + p.v / p.g)
        slack = self._over_e(p.t / 4, p)
        wh = p.W * h
        a = self._of_rows(h) + ghost
        b, q = -self._of_rows(wh) / 2, self._of_rows(p.W * wh) / 4 + slack
        det = np.maximum(a * q - b * b, _SINGULAR * a * q)
        inverse, coupling = np.stack([q, a]) / det, b / det
        product, extra = partial(self._product, p.W, h), np.stack([ghost, slack])

        def precondition(r: FloatArray) -> FloatArray:
            return self._free * (inverse * r - coupling * r[::-1])

        return d, h, ghost, product, extra, precondition

    def _over_e(self, numbers: FloatArray | float, p: _Point) -> FloatArray:
        """Numbers divided by e, or zero for rows that are held."""
        free = self._free > 0
        return np.divide(numbers, p.e, out=np.zeros_like(p.e), where=free)

    def _product(self, W: FloatArray, h: FloatArray, x: FloatArray) -> FloatArray:
        """The part of the pairs in a product with the system."""
        from sparrot._kernels import floor_product_rows

        s, out = self._support, np.empty_like(x)
        rows = partial(floor_product_rows, s.indptr, s.indices, s.counts, W, h, x, out)
        self._threads.blocks(rows, len(self._k), _BLOCK)
        return out

    def _solved(
        self, p: _Point, system: tuple[Any, ...], mu: float, ahead: _Point | None, error: float
    ) -> _Point:
        """The step to mu; with a prediction what its changes multiply to is taken into account."""
        d, h, ghost, product, extra, precondition = system
        pairs, ghosts, rows = (
            (mu, mu, 4 * mu)
            if ahead is None
            else (mu - ahead.W * ahead.z, mu - ahead.g * ahead.v, 4 * mu - ahead.e * ahead.t)
        )
        s = self._sums(p.u) - self._C
        W = h * (s - d * p.W + pairs / p.W)  # of the changes what does not depend on u and e
        g = ghost * (p.u - self._r - self._soft * p.g + ghosts / p.g)
        t = self._over_e(rows, p) - p.t
        off = 1 - self._of_rows(p.W + W) - p.g - g
        short = self._of_rows(p.W * (p.W + 2 * W)) + p.t + t - 1 / self._k
        r = np.stack([off, short / 4])
        du, de = conjugate_gradients(product, extra, precondition, r, error)
        W = W + h * (self._sums(du) - p.W * self._sums(de) / 2)
        g = g + ghost * du
        return _Point(
            u=du,
            W=W,
            z=pairs / p.W - p.z - p.z / p.W * W,
            g=g,
            v=ghosts / p.g - p.v - p.v / p.g * g,
            t=t - self._over_e(p.t, p) * de,
            e=de,
        )
