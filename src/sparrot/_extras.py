"""Optional packages, imported when used; the error names the extra that brings each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sparrot.errors import MissingExtraError


def load_extra(module: str, extra: str) -> Any:
    """Import an optional module, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module.partition('.')[0]}, which is not installed",
            remedy=f"install the extra {extra!r}, as in: pip install 'sparrot[{extra}]'",
        ) from error
