"""The report as one HTML page: style, script and content in one file.

The content security policy of the page allows that one script and style (by their hashes) and no
address at all: the page cannot reach a network, and text from the data cannot run.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from sparrot._files import whole_file
from sparrot.report._content import page_content
from sparrot.summary import Summary

_SCRIPTS = ("arrays", "grid", "webgl", "canvas", "colors", "charts", "stage", "page")
# What could end a script element, begin a comment in it, or end a line of JavaScript.
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


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
    columns : further choices of color: a mapping from names to n entries, or a data frame. Numbers
        get a color bar; categorical columns, text and up to 30 distinct integers get a legend.
        Missing entries are gray.
    layouts : further layouts by name, (n, 2) each, which do not move with eps. One with coordinates
        that are not finite is left out, and the page says so.
    title : of the page.
    load : Python lines that define `X`, and `names`, `columns` and `layouts` where they are given;
        the page shows them before the lines that make it again.

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


def encode_json(value: Any) -> str:
    """JSON that is safe inside a script element, whatever the strings in it say.

    Examples
    --------
    >>> encode_json("</script><b>")
    '"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no character
    return text.translate(_ESCAPED)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (files("sparrot.report") / "page" / name).read_text(encoding="utf-8")
