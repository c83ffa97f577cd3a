"""Draw the flow of data between the rooms of the package, and list them, from the source itself.

python docs/make_flow.py

writes docs/figures/house.svg and the tree in CONTRIBUTING.md. The rooms and their order are those
of `tests/house.py`. In the figure an arrow leads from a room to one that imports it, unless other
arrows lead there as well; the tree has the first line of each docstring. A test compares both with
what this script makes.
"""

from __future__ import annotations

import ast
import re
import sys
from itertools import accumulate, combinations, pairwise
from pathlib import Path
from statistics import mean, median
from textwrap import fill

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from house import RANK, ROOMS, SOURCE, imports

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
FIGURE = Path(__file__).parent / "figures" / "house.svg"
FIRST = "cost"  # what stands before it in the flow may be imported anywhere
BLUE, GREEN, ORANGE, PURPLE = "#dcecf7", "#ddf1e9", "#fbeed5", "#f4e3ee"
WORDS = {
    "cost": (BLUE, "points or matrices to costs"),
    "ot": (BLUE, "costs to plan and certificate"),
    "affinity": (BLUE, "the public affinities"),
    "spectral": (GREEN, "operators, maps, clusters"),
    "geometry": (GREEN, "distances, measures, theory"),
    "layout": (GREEN, "t-SNE, UMAP, MDS"),
    "summary": (GREEN, "a short path of eps"),
    "metrics": (GREEN, "scores"),
    "datasets": (ORANGE, "data with a known answer"),
    "sc": (ORANGE, "scanpy and AnnData"),
    "io": (ORANGE, "points, affinities in files"),
    "plot": (PURPLE, "figures"),
    "report": (PURPLE, "one HTML page"),
    "paper": (PURPLE, "experiments and claims"),
    "cli": (PURPLE, "the command sparrot"),
}
DRAWN = [room for room in ROOMS if room in WORDS]
BOX, BEND, HEIGHT, GAP, ROW, MARGIN = 206, 24, 50, 22, 96, 24
SWEEPS = 60
OPENED = ("cost", "ot", "affinity")  # rooms of which the tree lists the modules
Node = str | tuple[str, str, int]  # a room, or where an arrow passes a layer


def reduced() -> list[tuple[str, str]]:
    """Arrows from rooms to those that import them, without those that follow from others."""
    found = imports()
    above: dict[str, set[str]] = {}  # all rooms from which arrows lead here
    arrows = []
    for room in DRAWN:  # in the order of the flow, so that those above are known
        direct = [r for r in DRAWN if r in found[room] and RANK[r] < RANK[room]]
        implied = set().union(*(above[r] for r in direct))
        above[room] = implied.union(direct)
        arrows += [(r, room) for r in direct if r not in implied]
    return arrows


def layered(arrows: list[tuple[str, str]]) -> tuple[list[list[Node]], list[list[Node]]]:
    """The rooms in layers, with bends where an arrow passes a layer; and arrows as paths of these.

    A room is as high as the rooms it imports allow; if it imports none, as low as it may be.
    """
    layer: dict[str, int] = {}
    for room in DRAWN:
        layer[room] = 1 + max((layer[a] for a, b in arrows if b == room), default=-1)
    for room in DRAWN[1:]:
        below = [layer[b] for a, b in arrows if a == room]
        if below and not any(b == room for _, b in arrows):
            layer[room] = min(below) - 1
    layers: list[list[Node]] = [[] for _ in range(1 + max(layer.values()))]
    for room in DRAWN:
        layers[layer[room]].append(room)
    paths: list[list[Node]] = []
    for a, b in arrows:
        bends: list[Node] = [(a, b, k) for k in range(layer[a] + 1, layer[b])]
        for bend, row in zip(bends, layers[layer[a] + 1 : layer[b]], strict=True):
            row.append(bend)
        paths.append([a, *bends, b])
    return layers, paths


def untangled(layers: list[list[Node]], paths: list[list[Node]]) -> list[list[Node]]:
    """Layers in which no exchange of two nodes saves a crossing, or way to go."""
    steps = [step for path in paths for step in pairwise(path)]
    row = {node: k for k, layer in enumerate(layers) for node in layer}
    least, exchanged = _tangle(layers, row, steps), True
    while exchanged:
        exchanged = False
        for layer in layers:
            for i, j in combinations(range(len(layer)), 2):
                layer[i], layer[j] = layer[j], layer[i]
                tangle = _tangle(layers, row, steps)
                if tangle < least:
                    least, exchanged = tangle, True
                else:
                    layer[i], layer[j] = layer[j], layer[i]
    return layers


def _tangle(
    layers: list[list[Node]], row: dict[Node, int], steps: list[tuple[Node, Node]]
) -> tuple[int, float]:
    """How many arrows cross, and how far they go to the side."""
    place = _places(layers)
    crossings = sum(
        row[a] == row[c] and (place[a] - place[c]) * (place[b] - place[d]) < 0
        for (a, b), (c, d) in combinations(steps, 2)
    )
    return crossings, sum((place[a] - place[b]) ** 2 for a, b in steps)


def _places(layers: list[list[Node]]) -> dict[Node, float]:
    """The center of each node, its layer packed and centered about zero."""
    places = {}
    for layer in layers:
        offsets = _offsets(layer)
        places |= {node: x - offsets[-1] / 2 for node, x in zip(layer, offsets, strict=True)}
    return places


def _offsets(layer: list[Node]) -> list[float]:
    """How far the nodes of a packed layer are from its first."""
    widths = [BOX if isinstance(node, str) else BEND for node in layer]
    return list(accumulate([(a + b) / 2 + GAP for a, b in pairwise(widths)], initial=0.0))


def straightened(layers: list[list[Node]], paths: list[list[Node]]) -> dict[Node, float]:
    """The center of each node, above or below one of its neighbors where there is room for that."""
    steps = [step for path in paths for step in pairwise(path)]
    places = _places(layers)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            offsets = _offsets(layer)
            wanted = []
            for node, offset in zip(layer, offsets, strict=True):
                ends = [places[b if a == node else a] for a, b in steps if node in (a, b)]
                wanted.append(median([*ends, places[node]]) - offset)
            for node, x, offset in zip(layer, _ascending(wanted), offsets, strict=True):
                places[node] = x + offset
    return places


def _ascending(numbers: list[float]) -> list[float]:
    """The nearest numbers that do not descend: runs that do are replaced by their mean."""
    runs: list[list[float]] = []
    for number in numbers:
        runs.append([number])
        while len(runs) > 1 and mean(runs[-2]) > mean(runs[-1]):
            last = runs.pop()
            runs[-1] += last
    return [mean(run) for run in runs for _ in run]


def drawn() -> str:
    """The picture as SVG."""
    arrows = reduced()
    layers, paths = layered(arrows)
    layers = untangled(layers, paths)
    place = straightened(layers, paths)
    left = min(place.values()) - BOX / 2 - MARGIN
    x = {node: round(place[node] - left) for node in place}
    width, top = max(x.values()) + BOX // 2 + MARGIN, MARGIN + 64
    height = top + ROW * (len(layers) - 1) + HEIGHT + MARGIN
    y = {node: top + ROW * k for k, layer in enumerate(layers) for node in layer}
    base = ROOMS[: ROOMS.index(FIRST)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif">',
        "<title>Data flow between the rooms of sparrot</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#66717d"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{width - 2 * MARGIN}" height="36" rx="6" '
        'fill="#f1f3f5"/>',
        f'<text x="{width / 2:g}" y="{MARGIN + 23}" text-anchor="middle" font-size="13" '
        f'fill="#1d2733">imported anywhere: {", ".join(base)}</text>',
        *(_arrow(path, paths, x, y) for path in paths),
        *(_box(room, x[room], y[room]) for room in DRAWN),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(room: str, x: int, y: int) -> str:
    color, words = WORDS[room]
    return (
        f'<rect x="{x - BOX / 2:g}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="6" fill="{color}" '
        f'stroke="#8b95a0"/>'
        f'<text x="{x:g}" y="{y + 21}" text-anchor="middle" font-size="15" font-weight="bold" '
        f'fill="#1d2733">{room}</text>'
        f'<text x="{x:g}" y="{y + 39}" text-anchor="middle" font-size="12.5" fill="#3d4854">'
        f"{words}</text>"
    )


def _arrow(
    path: list[Node], paths: list[list[Node]], x: dict[Node, int], y: dict[Node, int]
) -> str:
    """A smooth line from the lower edge of a box to the upper edge of another."""
    leaving = sorted((p for p in paths if p[0] == path[0]), key=lambda p: x[p[1]])
    coming = sorted((p for p in paths if p[-1] == path[-1]), key=lambda p: x[p[-2]])
    points = [(x[path[0]] + _port(leaving.index(path), len(leaving)), y[path[0]] + HEIGHT)]
    for bend in path[1:-1]:
        points += [(x[bend], y[bend]), (x[bend], y[bend] + HEIGHT)]
    points.append((x[path[-1]] + _port(coming.index(path), len(coming)), y[path[-1]] - 1))
    line = f"M{points[0][0]:g},{points[0][1]}"
    for (x0, y0), (x1, y1) in pairwise(points):
        half = (y0 + y1) / 2
        line += f" C{x0:g},{half:g} {x1:g},{half:g} {x1:g},{y1}"
    return (
        f'<path d="{line}" fill="none" stroke="#66717d" stroke-width="1.4" marker-end="url(#tip)"/>'
    )


def _port(k: int, n: int) -> float:
    """Where the k-th of n arrows meets the edge of a box, from its middle."""
    return (k - (n - 1) / 2) * min(36.0, 0.7 * BOX / n)


def contributing() -> str:
    """CONTRIBUTING.md, with the tree between its marks made anew."""
    lines = ["src/sparrot/", _branch("__init__.py(i)", SOURCE / "__init__.py", 1)]
    for room in ROOMS:
        folder = SOURCE / room
        if not folder.is_dir():
            lines.append(_branch(f"{room}.py", folder.with_suffix(".py"), 1))
            continue
        lines.append(_branch(f"{room}/", folder / "__init__.py", 1))
        inside = sorted(folder.glob("_[!_]*.py")) if room in OPENED else []
        lines += [_branch(path.name, path, 2) for path in inside]
    tree = "\n".join(["<!-- tree -->", "```text", *lines, "```", "<!-- end of tree -->"])
    text = CONTRIBUTING.read_text(encoding="utf-8")
    return re.sub("<!-- tree -->.*<!-- end of tree -->", lambda _: tree, text, flags=re.DOTALL)


def _branch(name: str, path: Path, depth: int) -> str:
    """A line of the tree, or two: a name, and the first line of the docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    words = text.partition("\n")[0].removesuffix(".")
    return fill(
        words, 100, initial_indent=f"{'  ' * depth + name:<21} ", subsequent_indent=22 * " "
    )


if __name__ == "__main__":
    FIGURE.write_text(drawn(), encoding="utf-8")
    CONTRIBUTING.write_text(contributing(), encoding="utf-8")
