"""All kinds of affinity by name, in one table: what makes them, default scales, what they take.

To add one, write the function and its estimator in one module and add a line to `KINDS`: spectral
methods, layouts, scanpy users' functions and the command line know it from then on. The table names
functions and loads them when they are used, so that help and completion need not wait for them;
what works by this table, and needs them, is in `sparrot.affinity._registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparrot.affinity._estimator import AffinityEstimator
    from sparrot.affinity._result import Affinity

AUTO = "auto"  # a floor that is chosen by `Scale.floor`, an eps by `Scale.relative_eps`


def _by_perplexity(n: int) -> dict[str, Any]:
    """The default scale of transport, which is a perplexity unless points are very few."""
    from sparrot.ot import Scale

    scale = Scale.default(n)
    return {"eps": scale.eps} if scale.perplexity is None else {"perplexity": scale.perplexity}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of affinity.

    Attributes
    ----------
    module : where the function and the estimator are.
    function_name, estimator_name : what they are called there.
    scales : the arguments that say how many neighbors a point has; at most one is given.
    default_scale : which of these a layout (also `sparrot tsne`) and `sparrot.sc.neighbors` take
        for n points where none is given (but scanpy's 15 neighbors where `n_neighbors` is a scale).
        The function has a default of its own: `qot(X)` is the paper's.
    eps : the eps of the other commands and of spectral estimators that build an affinity by its
        name; None for the default of the function.
    options : further defaults of these.
    floor : the `min_neighbors` of these, of all commands, and of spectral estimators that build an
        affinity by its name; None where there is none.
    is_monotone : whether points have more neighbors at a larger scale, so that `sparrot.match` can
        find a perplexity or bandwidth.
    symmetric : whether the matrix is.
    transport : whether it is a plan of regularized transport, with a potential, a certificate and
        rows for new points.

    Examples
    --------
    >>> KINDS["knn"].parameters
    ('n_neighbors', 'metric', 'neighbors', 'n_jobs', 'engine', 'out')
    """

    module: str
    function_name: str
    estimator_name: str
    scales: tuple[str, ...]
    default_scale: Callable[[int], dict[str, Any]] = lambda n: {}
    eps: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    floor: str | None = None
    is_monotone: bool = True
    symmetric: bool = True
    transport: bool = False

    @property
    def function(self) -> Callable[..., Affinity]:
        """What builds it."""
        function: Callable[..., Affinity] = getattr(import_module(self.module), self.function_name)
        return function

    @property
    def estimator(self) -> type[AffinityEstimator]:
        """The same as a class of scikit-learn."""
        estimator: type[AffinityEstimator] = getattr(
            import_module(self.module), self.estimator_name
        )
        return estimator

    def unless(self, given: Collection[str]) -> dict[str, Any]:
        """The eps and the floor of commands and estimators, unless a scale or a floor is given.

        Examples
        --------
        >>> KINDS["qot"].unless(["perplexity"]), KINDS["qot"].unless([])
        ({'min_neighbors': 'auto'}, {'eps': 'auto', 'min_neighbors': 'auto'})
        """
        own = {
            "eps": None if any(name in given for name in self.scales) else self.eps,
            "min_neighbors": None if "min_neighbors" in given else self.floor,
        }
        return {name: value for name, value in own.items() if value is not None}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The arguments of the function, but for the points."""
        return tuple(signature(self.function).parameters)[1:]


_TRANSPORT, _GRAPHS = "sparrot.affinity._transport", "sparrot.affinity._graphs"
_EPS = ("eps", "perplexity")
KINDS = {
    "qot": Kind(
        _TRANSPORT,
        "qot",
        "QOT",
        (*_EPS, "n_neighbors"),
        _by_perplexity,
        eps=AUTO,
        floor=AUTO,
        transport=True,
    ),
    "eot": Kind(
        _TRANSPORT, "eot", "EOT", _EPS, _by_perplexity, options=(("drop", 1e-3),), transport=True
    ),
    "tsallis": Kind(_TRANSPORT, "tsallis", "Tsallis", _EPS, _by_perplexity, AUTO, transport=True),
    "knn": Kind(_GRAPHS, "knn", "KNN", ("n_neighbors",)),
    "gaussian": Kind(_GRAPHS, "gaussian", "Gaussian", ("bandwidth",)),
    # Its neighbors are all points both where the kernel is narrow and where it is wide.
    "gaussian_l2": Kind(_GRAPHS, "gaussian_l2", "GaussianL2", ("bandwidth",), is_monotone=False),
    "epanechnikov": Kind(_GRAPHS, "epanechnikov", "Epanechnikov", ("bandwidth", "eps")),
    "magic": Kind(_GRAPHS, "magic", "MAGIC", ("n_neighbors",), symmetric=False),
}


def kinds(*, transport: bool = False, symmetric: bool = False) -> tuple[str, ...]:
    """The names of all kinds; of those of transport, or of the symmetric ones.

    Examples
    --------
    >>> kinds(transport=True)
    ('qot', 'eot', 'tsallis')
    """
    return tuple(
        name
        for name, kind in KINDS.items()
        if (kind.transport or not transport) and (kind.symmetric or not symmetric)
    )
