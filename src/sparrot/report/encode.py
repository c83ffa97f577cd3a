"""Arrays and text in a form that can stand inside a page."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np

_TYPES = {"f4": "<f4", "u1": "<u1", "u2": "<u2", "u4": "<u4"}
# What could end a script element, begin a comment in it, or end a line of JavaScript.
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def encode_array(array: Any, kind: str) -> dict[str, str]:
    """Numbers as base64 of little-endian bytes, rows first.

    Examples
    --------
    >>> encode_array([1, 2], "u2")
    {'type': 'u2', 'base64': 'AQACAA=='}
    """
    data = np.ascontiguousarray(array, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "base64": b64encode(data).decode("ascii")}


def encode_json(value: Any) -> str:
    """JSON that is safe inside a script element, whatever the strings in it say.

    Examples
    --------
    >>> encode_json("</script><b>")
    '"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")  # half of a pair is no character
    return text.translate(_ESCAPED)
