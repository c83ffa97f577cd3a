"""Write docs/paper.md and its figures from what `sparrot reproduce all --output FOLDER` left.

python docs/make_paper.py FOLDER

The text is that of `_templates/paper.md`, where a paragraph in braces stands for what is stored:
`{counts}` of all verdicts, and the digest of the code that ran; `{experiment NAME}`, its title,
command, and set-up, which is the docstring of its module; `{figure NAME}`, followed by its caption;
`{claims NAME}`, the table.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from PIL import Image

from sparrot.paper import EXPERIMENTS
from sparrot.paper._work import code_digest

DOCS = Path(__file__).parent
FIGURES = DOCS / "figures" / "paper"
WIDTH, HEIGHT = 1400, 2000  # pixels of a figure, at most
TEMPLATE = (DOCS / "_templates" / "paper.md").read_text().strip().split("\n\n")
HEADS = {
    "counts": "| experiment | hold | do not hold | not tested |\n| --- | --- | --- | --- |",
    "claims": "| claim | paper | ours | verdict |\n| --- | --- | --- | --- |",
}


def page(folder: Path) -> str:
    """The whole page, as Markdown."""
    found = {name: stored_result(folder, name) for name in EXPERIMENTS}
    return "\n\n".join(part for text in TEMPLATE for part in filled(text, found, folder)) + "\n"


def stored_result(folder: Path, name: str) -> dict:
    """What an experiment has written, or that it has not run."""
    path = folder / f"{name}.json"
    if not path.exists():
        return {"title": f"{name} (not run)", "claims": []}
    return json.loads(path.read_text())


def filled(text: str, found: dict[str, dict], folder: Path) -> Iterator[str]:
    """What a paragraph of the template stands for; nothing for a figure that is not there."""
    mark = re.match(r"\{(\w+) ?([\w-]*)\}\n?", text)
    if mark is None:
        yield text
        return
    kind, name = mark.groups()
    if kind == "counts":
        yield table_of_counts(found)
        yield sentences_in_words(found)
        yield code_in_words(found)
    elif kind == "experiment":
        yield f"({name})=\n## {found[name]['title']}"
        yield f"`sparrot reproduce {name}`"
        yield setup(name)
    elif kind == "claims":
        yield table_of_claims(found[name]["claims"])
    elif (folder / f"{name}.png").exists():
        yield f"![{name}](figures/paper/{small(folder / f'{name}.png')})"
        yield text[mark.end() :]


def table_of_counts(found: dict[str, dict]) -> str:
    """How many claims of each experiment, and of all, hold, do not hold, and are not tested."""
    verdicts = {
        f"[{result['title']}](#{name})": [claim["holds"] for claim in result["claims"]]
        for name, result in found.items()
    }
    verdicts["all"] = [holds for one in verdicts.values() for holds in one]
    rows = [
        f"| {title} | {one.count(True)} | {one.count(False)} | {one.count(None)} |"
        for title, one in verdicts.items()
    ]
    return "\n".join([HEADS["counts"], *rows])


def sentences_in_words(found: dict[str, dict]) -> str:
    """How many different sentences these are, by their worst verdict."""
    verdicts: dict[str, set] = {}
    for result in found.values():
        for claim in result["claims"]:
            verdicts.setdefault(claim["sentence"], set()).add(claim["holds"])
    fail = sum(False in of for of in verdicts.values())
    hold = sum(True in of and False not in of for of in verdicts.values())
    return (
        f"These are {len(verdicts)} sentences: {hold} hold in every set-up in which they were "
        f"tested, {fail} fail in at least one."
    )


def code_in_words(found: dict[str, dict]) -> str:
    """Which code all this is from: on the page, and a warning if it is not that of today."""
    digests = {result["code"][:12] for result in found.values() if "code" in result}
    if digests != {code_digest()[:12]}:
        sys.stderr.write("the numbers are not all from the code as it is now\n")
    names = " and ".join(f"`{digest}`" for digest in sorted(digests))
    return f"Digest of the code that computed all numbers (texts and drawing left out): {names}."


def table_of_claims(claims: list[dict]) -> str:
    """Sentence, published number, ours, and the verdict with its criterion and reason."""
    rows = []
    for claim in claims:
        verdict = f"**{claim['verdict']}** ({claim['criterion']})"
        verdict += f". {capitalized(claim['reason'])}" if claim["reason"] else ""
        cells = (claim["sentence"], claim["paper"], claim["ours"], verdict)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([HEADS["claims"], *rows])


def capitalized(text: str) -> str:
    """With a capital, unless it begins with a symbol such as v_2 or k-NN."""
    return text[0].upper() + text[1:] if text.split()[0].isalpha() else text


def setup(name: str) -> str:
    """The docstring of the experiment's module, with its mathematics as Markdown has it."""
    text = import_module(f"sparrot.paper.{name.replace('-', '_')}").__doc__.strip()
    return re.sub(r":math:`([^`]*)`", lambda match: f"${' '.join(match[1].split())}$", text)


def small(figure: Path) -> str:
    """Copy a figure, no larger than a page; a palette would merge the colors of small groups."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with Image.open(figure) as image:
        image = image.convert("RGB")
        image.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        image.save(FIGURES / figure.name, optimize=True)
    return figure.name


def main(arguments: list[str]) -> None:
    """Write the page, and only then remove the figures that it does not show."""
    folder = Path(*arguments)
    if len(arguments) != 1 or not any((folder / f"{name}.json").exists() for name in EXPERIMENTS):
        sys.exit(
            "usage: python docs/make_paper.py FOLDER, with the results that "
            "`sparrot reproduce all --output FOLDER` has left there"
        )
    text = page(folder)
    (DOCS / "paper.md").write_text(text)
    for figure in FIGURES.glob("*.png"):
        if f"(figures/paper/{figure.name})" not in text:
            figure.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
