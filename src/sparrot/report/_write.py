"""The report: a summary and the user's own columns on one page that needs nothing else.

Everything is inside the page: style, script and numbers. Its content security policy allows that
one script (by its hash) and no address at all, so that the page cannot reach a network, and text
from the data cannot run.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from sparrot._files import whole_file
from sparrot.report._content import encode_json, page_content
from sparrot.summary import Summary

_SCRIPTS = ("arrays", "grid", "webgl", "canvas", "colors", "charts", "stage", "page")


def write_report(
    path: str | os.PathLike[str],
    summary: Summary,
    *,
    names: Sequence[Any] | None = None,
    columns: Any = None,
    layouts: Mapping[str, Any] | None = None,
    title: str = "sparrot report",
    load: Sequence[str] = (),
) -> None:
    """Write the report of a summary as one self-contained HTML file, whole or not at all.

    Parameters
    ----------
    path : where to.
    summary : as `sparrot.summarize` returns it.
    names : n names, shown under the cursor; row numbers if not given.
    columns : what else points may be colored by: a mapping from names to n entries, or a data
        frame. Numbers get a color bar; categorical columns, text and up to 30 different integers
        get a legend. Entries that are missing are gray.
    layouts : other layouts by name, (n, 2) each, which do not move with eps. One with coordinates
        that are not finite is left out, and the page says so.
    title : of the page.
    load : the Python lines that define `X`, and `names`, `columns` and `layouts` where they are
        given; they open the lines on the page that reproduce it.

    Examples
    --------
    >>> import tempfile, numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> path = tempfile.mkdtemp() + "/report.html"
    >>> sparrot.report.write_report(path, sparrot.summarize(X), columns={"norm": X[:, 0] ** 2})
    >>> with open(path, encoding="utf-8") as page:
    ...     page.readline()
    '<!doctype html>\\n'
    """
    page = render(summary, names=names, columns=columns, layouts=layouts, title=title, load=load)
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def render(
    summary: Summary,
    *,
    names: Sequence[Any] | None = None,
    columns: Any = None,
    layouts: Mapping[str, Any] | None = None,
    title: str = "sparrot report",
    load: Sequence[str] = (),
) -> str:
    """The page that `write_report` writes, with the same parameters.

    Examples
    --------
    >>> import numpy as np, sparrot
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> "<title>a &lt; b</title>" in render(sparrot.summarize(X), title="a < b")
    True
    """
    content = page_content(
        summary, names, {} if columns is None else columns, layouts or {}, title, load
    )
    style = _read("page.css")
    script = '(() => {\n"use strict";\n' + "".join(_read(f"{s}.js") for s in _SCRIPTS) + "})();"
    parts = {
        "policy": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}",
        "title": escape(title),
        "style": style,
        "script": script,
        "data": encode_json(content),
    }
    return re.sub("@([a-z]+)@", lambda found: parts[found[1]], _read("page.html"))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (files("sparrot.report") / "page" / name).read_text(encoding="utf-8")
