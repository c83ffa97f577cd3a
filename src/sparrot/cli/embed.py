"""`sparrot embed`: coordinates by eigenvectors of an affinity."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import sparrot
from sparrot.cli._options import add_affinity, add_command, add_components, add_output, add_source
from sparrot.cli._session import Session
from sparrot.errors import InvalidInputError


def add_parser(commands: Any) -> None:
    """What can be asked."""
    parser = add_command(
        commands,
        "embed",
        "coordinates by eigenvectors of the affinity",
        "Laplacian eigenmaps or a diffusion map, of points or of an affinity. Of a graph in\n"
        "pieces the largest is mapped, and the other points have no coordinates.",
        "points.npy --components 3 -o coordinates.csv",
        "affinity.npz --method diffusion --time 3 -o coordinates.npy --plot picture.png",
    )
    add_source(parser, colored=True)
    add_components(parser, metavar="N")
    parser.add_argument(
        "--method",
        choices=("eigenmaps", "diffusion"),
        default="eigenmaps",
        help="which coordinates (default: eigenmaps)",
    )
    time = parser.add_argument(
        "--time", dest="t", type=int, metavar="T", help="diffusion: steps of the walk (default: 1)"
    )
    time.suggested = False  # 'multiscale' is for Python alone
    parser.add_argument(
        "--pieces",
        dest="components",
        choices=("largest", "each"),
        default="largest",
        help="of a graph in pieces: map the largest, and leave the other points without "
        "coordinates (the default), or map each on its own",
    )
    add_affinity(parser)
    add_output(parser, "scatter of the first two coordinates")


def run(options: Namespace, session: Session) -> None:
    """Embed, write, draw, and print the eigenvalues."""
    import numpy as np

    from sparrot.affinity import leave_pieces_to_caller
    from sparrot.cli._input import read_affinity
    from sparrot.cli._output import TABLES, check_targets, coordinates, draw_layout, write_results
    from sparrot.cli._summary import print_summary

    check_targets(options, TABLES)
    model = _model(options)
    with leave_pieces_to_caller():
        source = read_affinity(options, session)
    session.stage("eigenvectors")
    Y = model.fit_transform(source.affinity)
    name = {"eigenmaps": "eigenmap coordinate", "diffusion": "diffusion component"}[options.method]
    table = coordinates(Y, options.method)
    labels, label, title = source.labels, options.label, ""
    lines: dict[str, str] = {}
    pieces = np.bincount(model.component_labels_)
    if options.components == "largest" and len(pieces) > 1:
        title = f"largest of {len(pieces)} pieces: {pieces[0]:,} of {pieces.sum():,} points"
    if options.components == "each" and len(pieces) > 1:
        title = "every piece has coordinates of its own"
        lines["pieces"] = f"{title}: they lie upon each other, and cannot be compared"
        if labels is None:
            labels, label = model.component_labels_ + 1, "piece"
    write_results(options, table, lambda: draw_layout(Y, name, labels, label, title))
    values = model.eigenvalues_.tolist()
    facts = {"method": options.method, "components_kept": Y.shape[1], "eigenvalues": values}
    line = ", ".join(map(_shown, values[:6])) + (", ..." if len(values) > 6 else "")
    print_summary(session, source, options, facts, {"eigenvalues": line} | lines)


def _model(options: Namespace) -> Any:
    from sparrot._validation import as_steps

    graph = {"affinity": "precomputed", "components": options.components}
    if options.method == "diffusion":
        t = 1 if options.t is None else as_steps(options.t)
        return sparrot.DiffusionMap(options.n_components, t=t, **graph)
    if options.t is not None:
        raise InvalidInputError(
            "is for diffusion maps; eigenmaps have none",
            parameter="t",
            value=options.t,
            remedy="take {method='diffusion'}",
        )
    return sparrot.Eigenmaps(options.n_components, **graph)


def _shown(eigenvalue: float) -> str:
    """An eigenvalue with four digits, or those of its distance from one.

    Examples
    --------
    >>> _shown(0.98765), _shown(0.999997), _shown(1.0)
    ('0.9877', '1 - 3.0e-06', '1')
    """
    rest = 1 - eigenvalue
    return f"1 - {rest:.1e}" if 1e-12 < rest < 5e-4 else f"{eigenvalue:.4g}"
