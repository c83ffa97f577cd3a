"""Options that several commands share.

The `dest` of an option is the name of the argument in Python, so that errors about an argument can
name the flag.
"""

from __future__ import annotations

from argparse import Action, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sparrot.affinity import kinds
from sparrot.io import FORMATS, formats_holding, formats_taking

# Metrics that the shell completes; scikit-learn has more.
METRICS = (
    "sqeuclidean",
    "cosine",
    "precomputed",
    "euclidean",
    "manhattan",
    "chebyshev",
    "correlation",
    "braycurtis",
    "canberra",
    "hamming",
)
_EPS = "auto: 1, or the median cost where outliers make the mean more than three times that"
READING = ("array", "header", "names", "label", "without")  # arguments of `sparrot.read_points`
# Flags for which Python has more names than one, depending on the kind of affinity.
OTHER_NAMES = {"eps": "bandwidth", "dask": "engine", "check": "X", "path": "X"}


def either(names: Iterable[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> either([".npy", ".csv", ".tsv"])
    '.npy, .csv or .tsv'
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def targets(*results: str) -> str:
    """What a file for such results may end in.

    Examples
    --------
    >>> targets("affinity")
    '.npz or .h5ad (which keeps what it has)'
    """
    kept = " (which keeps what it has)"
    return either(name + kept * FORMATS[name].keeps for name in formats_holding(*results))


def points() -> str:
    """What a file of points may end in."""
    plain = [name for name in FORMATS if not name.endswith(".gz")]
    zipped = [name for name in plain if f"{name}.gz" in FORMATS]
    return f"{either(plain)} ({either(zipped)} also with .gz)"


def add_command(commands: Any, name: str, help_: str, description: str, *examples: str) -> Any:
    """A command with examples; the parsed options hold its parser."""
    lines = "\n".join(f"  sparrot {name} {example}".rstrip() for example in examples)
    parser = commands.add_parser(
        name,
        help=help_,
        description=description,
        epilog=f"example{'s' * (len(examples) > 1)}:\n{lines}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(parser=parser)
    return parser


def add_input(parser: Any, more: str = "", *, labeled: bool = True) -> None:
    """The file, which array of it, and whether to reduce that; labels are seen where `labeled`."""
    parser.add_argument("path", type=Path, metavar="FILE", help=f"points: {points()}{more}")
    parser.add_argument(
        "--array",
        metavar="NAME",
        help=f"which array of a {either(formats_taking('array'))} file, as in obsm/X_pca (default: "
        "X; of a .h5ad file whose X has more than 50 columns obsm/X_pca, if it is there)",
    )
    add_text(parser, labeled=labeled)
    add_preparation(parser)


def add_preparation(parser: Any, whose: str = "") -> None:
    """What is done to points before anything else."""
    parser.add_argument(
        "--standardize",
        action="store_const",
        const=True,
        help=f"{whose}bring each column to mean 0 and variance 1 first, so that units do not "
        "matter",
    )
    parser.add_argument(
        "--pca",
        type=int,
        metavar="N",
        help=f"{whose}reduce to N principal components first (after --standardize): faster",
    )


def add_text(parser: Any, *, labeled: bool) -> None:
    """What the first line and column of a text file are, and which column is no feature.

    Where labels are not seen, as in the colors of a figure, no remedy suggests to give them.
    """
    for flag, what in {"--header": "line is a header", "--names": "column is row names"}.items():
        parser.add_argument(
            flag,
            type=_yes_or_no,
            metavar="yes|no",
            help=f"whether the first {what}, of a text file (default: found out)",
        )
    label = parser.add_argument(
        "--label",
        action=_Once,
        metavar="NAME",
        help="a column of labels, of a table or of obs in a .h5ad file: no part of the points; "
        "colors the figures of embed and tsne and the report, and orders that of affinity",
    )
    label.suggested = labeled
    parser.add_argument(
        "--without",
        action="append",
        metavar="NAME",
        help="another column of a table that is no part of the points; may be given several times",
    )


class _Once(Action):
    """Keeps a value, of which there can be one."""

    def __call__(self, parser: Any, namespace: Any, values: Any, flag: Any = None) -> None:
        """Keep it, or complain of the second."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"argument {flag}: was given twice; --without leaves out further columns")
        setattr(namespace, self.dest, values)


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ArgumentTypeError(f"must be yes or no, got {text!r}")
    return text == "yes"


def add_source(parser: Any, *, colored: bool = False) -> None:
    """Points or an affinity; and where the figure is colored, a table of labels for these."""
    affinities = either(formats_holding("affinity"))
    add_input(parser, f"; or what `sparrot affinity` wrote to {affinities}", labeled=colored)
    if colored:
        parser.add_argument(
            "--labels-in",
            type=Path,
            metavar="FILE",
            help="the table with the column that --label names, one row for each point, in their "
            "order: for affinities and arrays, which have no columns",
        )
    add_stored(parser)


def add_stored(parser: Any) -> None:
    """Which of the affinities in a file."""
    parser.add_argument(
        "--affinity",
        dest="key",
        metavar="KEY",
        help="use the affinity that a .h5ad file holds under this key of uns (`sparrot affinity` "
        "writes 'sparrot') instead of making one",
    )


def add_components(parser: Any, **limits: Any) -> None:
    """How many coordinates."""
    parser.add_argument(
        "--components",
        dest="n_components",
        type=int,
        default=2,
        help="coordinates (default: 2)",
        **limits,
    )


def add_scale(parser: Any, default: str = _EPS) -> Any:
    """One of eps and perplexity; the group of these."""
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument(
        "--eps",
        type=number_or_word,
        metavar="EPS",
        help="regularization relative to the mean cost, or 'connected' for the smallest that "
        f"connects the graph (default: {default})",
    )
    scale.add_argument(
        "--perplexity",
        type=float,
        metavar="P",
        help="instead of eps: the mean perplexity of a row, k if it has k equal weights",
    )
    return scale


def add_floor(parser: Any, kind: str = "") -> None:
    """The floor on the neighbors of every point."""
    parser.add_argument(
        "--min-neighbors",
        type=float,
        metavar="K",
        help=f"{kind}every point has at least K effective neighbors, so that outliers do not split "
        "off from the rest (default: 5, but at most half the perplexity or half of the other "
        "points, and none with --eps connected, or with --neighbors, which is a floor itself); 0 "
        "for none",
    )


def add_cost(parser: Any, threads: str = "all cores") -> None:
    """The metric, and threads."""
    metric = parser.add_argument(
        "--metric",
        metavar="NAME",
        help="what pairs cost: sqeuclidean (default), which is half the squared distance, cosine, "
        "precomputed, or any distance of scikit-learn's, as euclidean, which gives another graph",
    )
    metric.completer = lambda **_: METRICS
    add_jobs(parser, f"threads (default: {threads})")


def add_jobs(parser: Any, help_: str) -> None:
    """How much runs at a time."""
    parser.add_argument("--jobs", dest="n_jobs", type=int, metavar="N", help=help_)


def add_solver(parser: Any, kind: str = "") -> None:
    """Which pairs to look at, and when a solve is done or given up."""
    parser.add_argument(
        "--search",
        choices=("exact", "approximate", "auto"),
        help=f"{kind}look at all pairs (exact, the default), or only at likely ones, for very "
        "large sets",
    )
    parser.add_argument("--tol", type=float, help="largest error of a row sum (default: 1e-8)")
    parser.add_argument("--max-iter", type=int, metavar="N", help="at most N steps of the solver")


def add_qot(parser: Any) -> None:
    """All that can be asked of a QOT affinity at several eps."""
    add_scale(parser).add_argument(
        "--neighbors",
        "--n-neighbors",
        dest="n_neighbors",
        type=int,
        metavar="K",
        help="instead of eps: the effective number of neighbors of every point",
    )
    add_floor(parser)
    add_cost(parser)
    add_solver(parser)


def add_affinity(
    parser: Any,
    *,
    symmetric: bool = True,
    default: str = f"{_EPS}; for eot --perplexity 30",
    threads: str = "all cores",
) -> None:
    """All that can be asked of an affinity; what was not given stays None."""
    group = parser.add_argument_group("the affinity")
    offered = kinds(symmetric=symmetric)
    kind = group.add_argument(
        "--kind",
        metavar="KIND",
        help=f"qot (default), {', '.join(offered[1:-1])} or {offered[-1]}",
    )
    kind.completer = lambda **_: offered
    add_scale(group, f"{default}; for gaussian and epanechnikov it sets the bandwidth")
    add_cost(group, threads)
    group.add_argument(
        "--neighbors",
        "--n-neighbors",
        dest="n_neighbors",
        type=int,
        metavar="K",
        help="knn, magic: the number of nearest neighbors; qot: the effective number of neighbors "
        "of every point, instead of eps",
    )
    add_floor(group, "qot: ")
    group.add_argument("--q", type=float, help="tsallis: from 0 (qot) to 1 (eot), default 0.5")
    group.add_argument(
        "--drop",
        type=float,
        metavar="MASS",
        help="eot: make it sparse by dropping the smallest entries of each row, up to this mass; "
        "row sums are then short by as much, whatever --tol",
    )
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="qot: save intermediate results to FILE, and continue from it after an interruption "
        "or with another eps; delete it when you are done",
    )
    group.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="qot, knn: compute on the workers of a Dask cluster, tcp://host:port, or local:N for "
        "N processes of this machine",
    )
    add_solver(group, "qot: ")


def add_output(parser: Any, figure: str, files: str = "") -> None:
    """Where results go, and how much is printed."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=f"{files or targets('table')}, chosen by the ending; without -o, only the summary is "
        "printed",
    )
    group.add_argument("--plot", type=Path, metavar="FILE", help=f"{figure}: .png, .pdf or .svg")
    add_verbosity(group)


def add_folder(parser: Any, what: str) -> None:
    """The folder where several files go."""
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("out"),
        metavar="DIR",
        help=f"where {what} (default: out)",
    )


def add_verbosity(parser: Any) -> None:
    """JSON, less, or more."""
    parser.add_argument("--json", action="store_true", help="the summary as JSON on stdout")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    amount.add_argument(
        "-v", "--verbose", action="count", default=0, help="print the log; -vv: all of it"
    )


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
