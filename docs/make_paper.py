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
the paper against what we measure; where a claim does not hold in our run, it says so, and why.
`python docs/make_paper.py FOLDER` writes this page from the output of
`sparrot reproduce all --output FOLDER`.

| experiment | claims | hold |
| --- | --- | --- |
"""


def page(folder: Path) -> str:
    """The whole page."""
    results = [json.loads((folder / f"{name}.json").read_text()) for name in EXPERIMENTS]
    lines = [INTRODUCTION.rstrip()]
    for result in results:
        holding = sum(bool(claim["holds"]) for claim in result["claims"])
        lines.append(f"| {result['title']} | {len(result['claims'])} | {holding} |")
    for name, result in zip(EXPERIMENTS, results, strict=True):
        lines += ["", *section(name, result, folder)]
    return "\n".join(lines) + "\n"


def section(name: str, result: dict, folder: Path) -> list[str]:
    """Command, figures and claims of one experiment."""
    lines = [f"## {result['title']}", "", f"    sparrot reproduce {name}", ""]
    for figure in sorted(folder.glob(f"{name}.png")) + sorted(folder.glob(f"{name}-*.png")):
        if belongs(figure.stem, name):
            lines += [f"![{result['title']}](figures/paper/{small(figure)})", ""]
    lines += ["| claim | paper | ours | verdict |", "| --- | --- | --- | --- |"]
    for claim in result["claims"]:
        verdict = claim["verdict"] + (f": {claim['reason']}" if claim["reason"] else "")
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
