"""Write docs/paper.md and its figures from what `sparrot reproduce all --output FOLDER` left.

python docs/make_paper.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image

from sparrot.experiments.names import EXPERIMENTS

DOCS = Path(__file__).parent
FIGURES = DOCS / "figures" / "paper"
WIDTH = 1400  # pixels of a figure, at most
INTRODUCTION = """# The paper's figures and claims

Every experiment of Zhang, Mordant, Matsumoto and Schiebinger. The table of each holds sentences of
the paper against what we measure. The verdict is by the criterion in the same cell, and so depends
on where that draws the line; where a claim does not hold in our run, the cell says why.
`python docs/make_paper.py FOLDER` writes this page from what
`sparrot reproduce all --output FOLDER` leaves there.

What to know of the last four experiments. No threshold was moved after a result was seen, but some
choices were made with results in view. Digits: three sentences of two halves each were first judged
as wholes, and none of the three held; their halves are now judged apart, by the same thresholds.
Single cells and batch effects: values were first clipped at ten standard deviations, and in batch
effects scaled to ten thousand reads; the paper says neither, and both were dropped. In batch
effects the claim about principal components was added when the first runs had shown no batch
effect; since there is none to overcome, the overlap of batches by QOT, which meets its criterion by
0.01, counts as not tested.
In single cells a claim on the spread of perplexities was dropped, since the paper only draws it.
The paper's own cells (dentate gyrus) are not here: both experiments use other cells, and say
nothing about the paper's figures of its own.

| experiment | hold | do not hold | not tested |
| --- | --- | --- | --- |
"""
HEAD = """| claim | paper | ours | verdict |
| --- | --- | --- | --- |"""


def page(folder: Path) -> str:
    """The whole page, as Markdown."""
    found = {name: result(folder, name) for name in EXPERIMENTS}
    lines = [INTRODUCTION.rstrip()]
    for name, said in found.items():
        verdicts = [claim["holds"] for claim in said["claims"]]
        counts = " | ".join(str(verdicts.count(v)) for v in (True, False, None))
        lines.append(f"| [{said['title']}](#{name}) | {counts} |")
    for name, said in found.items():
        lines += ["", *section(name, said, folder)]
    return "\n".join(lines) + "\n"


def result(folder: Path, name: str) -> dict:
    """What an experiment has left, or that it has left nothing."""
    path = folder / f"{name}.json"
    if not path.exists():
        return {"title": f"{name} (not run)", "claims": []}
    return json.loads(path.read_text())


def section(name: str, said: dict, folder: Path) -> list[str]:
    """Command, figures and claims of one experiment."""
    lines = [f"({name})=", f"## {said['title']}", "", f"    sparrot reproduce {name}", ""]
    for figure in sorted(folder.glob(f"{name}.png")) + sorted(folder.glob(f"{name}-*.png")):
        if belongs(figure.stem, name):
            lines += [f"![{said['title']}](figures/paper/{small(figure)})", ""]
    lines += HEAD.splitlines()
    for claim in said["claims"]:
        verdict = f"**{claim['verdict']}** ({claim['criterion']})"
        verdict += f". {claim['reason']}" if claim["reason"] else ""
        cells = (claim["sentence"], claim["paper"], claim["ours"], verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def belongs(stem: str, name: str) -> bool:
    """Whether no experiment with a longer name has drawn it, and it is no quick version."""
    owner = max((other for other in EXPERIMENTS if stem.startswith(other)), key=len)
    return owner == name and "quick" not in stem


def small(figure: Path) -> str:
    """Copy a figure, no wider than a page, in a palette of 256 colours."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with Image.open(figure) as image:
        image = image.convert("RGB")
        image.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
        image.quantize(256).save(FIGURES / figure.name, optimize=True)
    return figure.name


if __name__ == "__main__":
    (DOCS / "paper.md").write_text(page(Path(sys.argv[1])))
