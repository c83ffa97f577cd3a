"""Claims of the paper as a table of text: the sentence, the paper, ours, the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sparrot.paper import Claim

_COLUMNS = {"claim": 40, "paper": 16, "ours": 34, "verdict": 13}


def table(claims: Sequence[Claim]) -> Iterator[str]:
    """The lines of the table claim | paper | ours | verdict."""
    yield from _row(dict(zip(_COLUMNS, _COLUMNS, strict=True)))
    yield "-+-".join("-" * width for width in _COLUMNS.values())
    for claim in claims:
        sentence = f'"{claim.sentence}"'
        yield from _row(
            {
                "claim": sentence,
                "paper": claim.paper,
                "ours": claim.ours,
                "verdict": claim.verdict,
            }
        )
        note = f"counts as: {claim.criterion}" + (f"; note: {claim.reason}" if claim.reason else "")
        yield from textwrap.wrap(note, 110, initial_indent="  ", subsequent_indent="  ")
        yield ""


def _row(cells: dict[str, str]) -> Iterator[str]:
    wrapped = [textwrap.wrap(cells[key], width) or [""] for key, width in _COLUMNS.items()]
    for k in range(max(map(len, wrapped))):
        lines = [lines[k] if k < len(lines) else "" for lines in wrapped]
        padded = [line.ljust(width) for line, width in zip(lines, _COLUMNS.values(), strict=True)]
        yield " | ".join(padded).rstrip()
