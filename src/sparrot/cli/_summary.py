"""The summary at the end of a command: facts for programs, lines for people."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import sparrot
from sparrot.affinity import AUTO, KINDS
from sparrot.cli._session import Session
from sparrot.errors import counted

if TYPE_CHECKING:
    from sparrot.cli._input import Source
    from sparrot.summary import Summary


def print_summary(
    session: Session,
    source: Source,
    options: Namespace,
    facts: dict[str, Any] | None = None,
    lines: dict[str, str] | None = None,
) -> None:
    """The affinity, what a command adds to it, and the files that were written."""
    affinity = source.affinity
    all_facts, all_lines = affinity_facts(affinity), affinity_lines(affinity)
    if source.shape is not None:
        all_lines["points"] += whereabouts(affinity.metric, source.shape[1], options)
        all_facts |= {"array": options.array, "standardized": bool(options.standardize)}
        if affinity.eps is not None:
            all_lines["affinity"] += why_so_small(affinity.relative_eps, options)
        if "bandwidth" in KINDS[options.kind or "qot"].scales:  # which --eps has set
            eps = 1.0 if options.eps is None else options.eps
            all_facts |= {"eps": eps * affinity.mean_cost, "relative_eps": eps}
            all_lines["affinity"] += f", eps = {eps:.4g} x mean cost"
    if getattr(options, "drop", None) is not None:
        all_lines["certificate"] += f"; rows lack what --drop {options.drop:g} left out"
    all_facts = files_facts(options) | all_facts | (facts or {})
    session.finish(all_facts, all_lines | (lines or {}) | files_lines(options))


def _has_no_scale(affinity: sparrot.Affinity) -> bool:
    """Whether there is no eps, or one that is not relative to a cost."""
    return affinity.eps is None or affinity.metric == "kernel"


def why_so_small(relative_eps: float, options: Namespace) -> str:
    """Why a default eps is not 1, if it is not: outliers inflate the mean cost.

    Examples
    --------
    >>> asked = {"command": "embed", "kind": "qot", "perplexity": None, "n_neighbors": None}
    >>> why_so_small(0.01, Namespace(eps=None, **asked))
    ' (1 x the median cost: outliers inflate the mean)'
    >>> why_so_small(0.01, Namespace(eps=0.01, **asked))
    ''
    """
    kind = KINDS[getattr(options, "kind", None) or "qot"]
    given = [name for name in kind.scales if getattr(options, name, None) is not None]
    is_auto = options.eps == AUTO
    if options.command != "tsne":  # which has a perplexity by default
        is_auto |= kind.unless(given).get("eps") == AUTO
    if not is_auto or relative_eps == 1:
        return ""
    return " (1 x the median cost: outliers inflate the mean)"


def whereabouts(metric: str, p: int, options: Namespace) -> str:
    """How points are given: in how many dimensions, or by their costs; and which array that is.

    Examples
    --------
    >>> whereabouts("cosine", 50, Namespace(array="obsm/X_pca"))
    ' in 50 dimensions, from obsm/X_pca'
    >>> whereabouts("cosine", 3, Namespace(array=None, standardize=True, pca=3, label="kind"))
    ' in 3 dimensions, standardized, principal components, without the labels kind'
    >>> whereabouts("", 3, Namespace(array=None, label="kind", without=["kind", "day"]))
    ' in 3 dimensions, without the labels kind, without day'
    """
    text = " by their costs" if metric == "precomputed" else f" in {counted(p, 'dimension')}"
    if options.array is not None:
        text += f", from {options.array}"
    if getattr(options, "standardize", None):
        text += ", standardized"
    if getattr(options, "pca", None) is not None:
        text += ", principal components"
    elsewhere = getattr(options, "labels_in", None) is not None
    if getattr(options, "label", None) is not None and options.array is None and not elsewhere:
        text += f", without the labels {options.label}"
    label = getattr(options, "label", None)
    left_out = ", ".join(name for name in getattr(options, "without", None) or () if name != label)
    return text + (f", without {left_out}" if left_out else "")


def files_facts(options: Namespace) -> dict[str, Any]:
    """The files that a command read and wrote."""
    targets = (options.output, getattr(options, "plot", None))
    written = [str(target) for target in targets if target is not None]
    return {"input": str(options.path), "written": written}


def files_lines(options: Namespace) -> dict[str, str]:
    """The same for people."""
    written = ", ".join(files_facts(options)["written"])
    return {"written": written or "nothing: -o FILE keeps the result"}


def affinity_facts(affinity: sparrot.Affinity) -> dict[str, Any]:
    """What is known about an affinity.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> facts = affinity_facts(sparrot.knn(np.arange(4.0)[:, None], 1))
    >>> facts["n"], facts["neighbors"], facts["components"], facts["certificate"]
    (4, 1.5, 1, None)
    """
    certificate = affinity.certificate
    return {
        "n": affinity.matrix.shape[0],
        "kind": affinity.kind,
        "metric": affinity.metric,
        "eps": affinity.eps,
        "relative_eps": None if _has_no_scale(affinity) else affinity.relative_eps,
        "mean_cost": affinity.mean_cost,
        "neighbors": affinity.mean_neighbors,
        "perplexity": affinity.perplexity,
        "effective_neighbors": effective_neighbors(affinity.matrix),
        "min_neighbors": least_neighbors(affinity.min_neighbors),
        "components": affinity.n_connected_components,
        "certificate": None if certificate is None else asdict(certificate),
        "solver": affinity.solver,
        "n_iter": affinity.n_iter,
        "n_solves": affinity.n_solves,
    }


def affinity_lines(affinity: sparrot.Affinity) -> dict[str, str]:
    """The same for people.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> affinity_lines(sparrot.knn(np.arange(4.0)[:, None], 1))["neighbors"]
    '1.5 a row, effectively 1.5 (perplexity 1.5)'
    """
    from sparrot.ot import certificate_in_words

    lines = {"points": f"{affinity.matrix.shape[0]:,}"}
    lines["affinity"] = f"{affinity.kind}{_cost_line(affinity.metric)}"
    if not _has_no_scale(affinity):
        lines["affinity"] += f", eps = {affinity.relative_eps:.4g} x mean cost"
    lines["neighbors"] = neighbors_line(
        affinity.mean_neighbors,
        affinity.perplexity,
        affinity.min_neighbors,
        effective_neighbors(affinity.matrix),
    )
    lines["components"] = f"{affinity.n_connected_components}"
    if affinity.certificate is not None:
        has_floor = affinity.min_neighbors is not None
        lines["certificate"] = certificate_in_words(affinity.certificate, has_floor)
        lines[""] = certificate_meaning(has_floor)
    return lines


def _cost_line(metric: str) -> str:
    """What pairs cost, where that is another metric than the default.

    Examples
    --------
    >>> _cost_line("sqeuclidean"), _cost_line("cosine")
    ('', ', cost cosine')
    >>> _cost_line("euclidean")
    ', cost euclidean (the distance, by default half its square)'
    """
    if metric in ("sqeuclidean", "precomputed", "kernel"):
        return ""
    default = " (the distance, by default half its square)" if metric == "euclidean" else ""
    return f", cost {metric}{default}"


def least_neighbors(floors: Any) -> float | None:
    """The smallest floor of all points; None without a floor.

    Examples
    --------
    >>> import numpy as np
    >>> least_neighbors(np.array([5.0, 8.0])), least_neighbors(None)
    (5.0, None)
    """
    return None if floors is None else float(floors.min())


def effective_neighbors(W: Any) -> float:
    """The mean of `1 / sum_j p_ij^2`, of which floors speak, with `p` the rows of W as shares.

    Examples
    --------
    >>> import numpy as np
    >>> effective_neighbors(np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    2.0
    """
    import numpy as np
    from scipy.sparse import csr_array

    W = csr_array(W)
    return float((W.sum(axis=1) ** 2 / np.maximum(W.power(2).sum(axis=1), 1e-300)).mean())


def neighbors_line(neighbors: float, perplexity: float, floors: Any, effective: float) -> str:
    """How many neighbors a point has, on average, effectively, and at least.

    Examples
    --------
    >>> neighbors_line(40.5, 30.0, None, 28.5)
    '40.5 a row, effectively 28.5 (perplexity 30.0)'
    >>> import numpy as np
    >>> neighbors_line(35.2, 20.0, np.array([15.0]), 16.0)
    '35.2 a row, effectively 16.0, at least 15 of every point (perplexity 20.0)'
    """
    least = least_neighbors(floors)
    floor = "" if least is None else f", at least {least:g} of every point"
    return (
        f"{neighbors:.1f} a row, effectively {effective:.1f}{floor} (perplexity {perplexity:.1f})"
    )


def path_facts(summary: Summary) -> dict[str, Any]:
    """What is known about the chosen eps of a path."""
    step = summary.steps[summary.chosen]
    return {
        "n": summary.shape[0],
        "metric": summary.metric,
        "mean_cost": summary.mean_cost,
        "relative_eps": step.relative_eps,
        "neighbors": float(step.neighbor_counts.mean()),
        "perplexity": float(step.perplexity.mean()),
        "effective_neighbors": float(step.effective_neighbors.mean()),
        "min_neighbors": least_neighbors(summary.min_neighbors),
        "components": step.n_connected_components,
        "certificate": asdict(step.certificate),
    }


def path_lines(summary: Summary, options: Namespace) -> dict[str, str]:
    """The same for people."""
    from sparrot.ot import certificate_in_words

    facts, has_floor = path_facts(summary), summary.min_neighbors is not None
    eps = facts["relative_eps"]
    return {
        "points": f"{facts['n']:,}{whereabouts(summary.metric, summary.shape[1], options)}",
        "affinity": f"qot{_cost_line(summary.metric)}, eps = {eps:.4g} x mean cost"
        f"{why_so_small(eps, options)}",
        "neighbors": neighbors_line(
            facts["neighbors"],
            facts["perplexity"],
            summary.min_neighbors,
            facts["effective_neighbors"],
        ),
        "components": f"{facts['components']}",
        "certificate": certificate_in_words(summary.steps[summary.chosen].certificate, has_floor),
        "": certificate_meaning(has_floor),
    }


def certificate_meaning(has_floor: bool) -> str:
    """What the numbers of a certificate are, in their order.

    Examples
    --------
    >>> certificate_meaning(False)
    '(largest errors of row sums and of pairs left out: all are zero at the optimum)'
    """
    floor = ", of the floor and its multipliers," if has_floor else ""
    return f"(largest errors of row sums{floor} and of pairs left out: all are zero at the optimum)"
