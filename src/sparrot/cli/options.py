"""Options that commands share, each said once."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

SYMMETRIC = ("qot", "eot", "tsallis", "knn", "gaussian", "epanechnikov")
KINDS = (*SYMMETRIC, "magic")
POINTS = ".npy, .npz, .csv, .tsv, .parquet, .h5ad or .mtx"


def add_command(commands: Any, name: str, help_: str, description: str, *examples: str) -> Any:
    """A command with examples of its use; what it does not know is its own complaint."""
    lines = "\n".join(f"  sparrot {name} {example}".rstrip() for example in examples)
    parser = commands.add_parser(
        name,
        help=help_,
        description=description,
        epilog=f"example{'s' * (len(examples) > 1)}:\n{lines}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(complain=parser.error)
    return parser


def add_input(parser: Any, more: str = "", array: str = "X") -> None:
    """The file, which array of it, and how much of that."""
    parser.add_argument("path", type=Path, metavar="FILE", help=f"points: {POINTS}{more}")
    parser.add_argument(
        "--array",
        metavar="NAME",
        help=f"which array of a .npz or .h5ad file, as in obsm/X_pca (default: {array})",
    )
    parser.add_argument(
        "--pca",
        type=int,
        metavar="N",
        help="reduce to N principal components first: faster, but it costs robustness where the "
        "strength of noise varies between points",
    )


def add_stored(parser: Any) -> None:
    """Which affinity, where a file has some."""
    parser.add_argument(
        "--affinity",
        metavar="KEY",
        help="take the affinity that a .h5ad file holds under this key of uns (`sparrot affinity` "
        "writes 'sparrot'), and make none",
    )


def add_scale(parser: Any, default: str = "1") -> None:
    """One of eps and perplexity."""
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument(
        "--eps",
        type=number_or_word,
        metavar="EPS",
        help="regularization relative to the mean cost, or 'connected' for the smallest that "
        f"connects the graph (default: {default})",
    )
    scale.add_argument(
        "--perplexity", type=float, metavar="P", help="instead: mean effective neighbors a row"
    )


def add_cost(parser: Any, threads: str = "all cores") -> None:
    """The metric, and threads."""
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="sqeuclidean (default), cosine, precomputed, or any of scikit-learn's",
    )
    parser.add_argument(
        "--jobs", dest="n_jobs", type=int, metavar="N", help=f"threads (default: {threads})"
    )


def add_tolerance(parser: Any) -> None:
    """When a solve is done, or given up."""
    parser.add_argument("--tol", type=float, help="largest error of a row sum (default: 1e-8)")
    parser.add_argument("--max-iter", type=int, metavar="N", help="most steps of the solver")


def add_search(parser: Any, kind: str = "") -> None:
    """Which pairs to look at."""
    parser.add_argument(
        "--search",
        choices=("exact", "approximate", "auto"),
        help=f"{kind}look at all pairs (default) or, for the largest sets, at likely ones",
    )


def add_affinity(
    parser: Any,
    kinds: tuple[str, ...] = SYMMETRIC,
    default: str = "1, for eot --perplexity 30",
    threads: str = "all cores",
) -> None:
    """All that an affinity can be asked for; what was not given stays None."""
    group = parser.add_argument_group("the affinity")
    group.add_argument("--kind", choices=kinds, help="which affinity (default: qot)")
    add_scale(group, f"{default}; for gaussian and epanechnikov it sets the bandwidth")
    add_cost(group, threads)
    group.add_argument(
        "--neighbors", dest="k", type=int, metavar="K", help="knn and magic: how many"
    )
    group.add_argument("--q", type=float, help="tsallis: from 0 (qot) to 1 (eot), default 0.5")
    group.add_argument(
        "--drop",
        type=float,
        metavar="MASS",
        help="eot: sparse, without entries that make up at most this mass of a row; its sum is "
        "then off by that, whatever --tol",
    )
    add_search(group, "qot: ")
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="qot: save what is found, and go on from it after an interruption, or with another "
        "eps; the file stays, delete it when done",
    )
    add_tolerance(group)


def add_output(parser: Any, kinds: str, figure: str) -> None:
    """Where results go, and how much is said."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=f"{kinds}, by its ending; without it: only the summary",
    )
    group.add_argument("--plot", type=Path, metavar="FILE", help=f"{figure}: .png, .pdf or .svg")
    add_talk(group)


def add_talk(parser: Any) -> None:
    """JSON, less, or more."""
    parser.add_argument("--json", action="store_true", help="the summary as JSON on stdout")
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    talk.add_argument("-v", "--verbose", action="count", default=0, help="log more; -vv: most")


def number_or_word(text: str) -> float | str:
    """A number where the text is one.

    Examples
    --------
    >>> number_or_word("0.5"), number_or_word("connected")
    (0.5, 'connected')
    """
    try:
        return float(text)
    except ValueError:
        return text
