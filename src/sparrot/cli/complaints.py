"""What went wrong, for those who typed flags: one line, an exit code, and the remedy as a flag."""

from __future__ import annotations

import json
import re
import sys
import traceback
from argparse import Namespace
from pathlib import Path

from sparrot.errors import NotConvergedError, SparrotError

FAULT, BAD_INPUT, NOT_CONVERGED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143
EXIT_CODES = (
    "0 fine, 2 bad input, 3 not converged, 130 interrupted, 143 terminated; "
    "1 is a fault of sparrot itself"
)

# Arguments of the functions, and how they are given here.
FLAGS = {
    "array": "--array",
    "pca": "--pca",
    "key": "--affinity",
    "each_side": "--steps",
    "span": "--span",
    "n_components": "--components",
    "n_clusters": "--clusters",
    "n_jobs": "--jobs",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "eps": "--eps",
    "perplexity": "--perplexity",
    "metric": "--metric",
    "drop": "--drop",
    "k": "--neighbors",
    "q": "--q",
    "search": "--search",
    "checkpoint": "--checkpoint",
    "kind": "--kind",
}
# Remedies that only Python has, and what there is instead.
_ELSEWHERE = {
    r"\. The best iterate is in `\.result` of this error": "",
    r" with solver='active-set' or 'auto'": "",
    r", solver='auto'": "",
    r", components='largest',? or components='each'": "",
    r"; sparrot\.load reads it": "; `sparrot embed`, `cluster`, `tsne` and `info` take it",
    r"; anything else can be passed as an array": "; write it as one of these",
    r" or None(?=, got)": "",
    r"; None is all cores, 1 is one": "; without it: all cores",
    r"; None is the solver's own limit": "; without it: the solver's own limit",
    r", or to another value of hollow": "",
    r", or max_clusters is too small: give n_clusters": ": give --clusters",
}
_NAMES = "|".join(FLAGS)
_GIVEN = re.compile(rf"(?<![\w`./-])({_NAMES})=(?:'([^']*)'|([\w.+-]*))")
_REQUIRED = re.compile(rf"(?<![^\s(])({_NAMES})(?= must\b| is a factor| is for)")
_ALONE = re.compile(
    r"(?<![\w`./'-])(each_side|n_components|n_clusters|n_jobs|max_iter|tol)(?![\w'=])"
)


def in_flags(message: str) -> str:
    """The same with flags for arguments of Python functions.

    Examples
    --------
    >>> in_flags("n_jobs must be a nonzero integer or None, got 0; None is all cores, 1 is one")
    '--jobs must be a nonzero integer, got 0; without it: all cores'
    >>> in_flags("raise max_iter or tol, or take eps='connected'")
    'raise --max-iter or --tol, or take --eps connected'
    >>> in_flags("which array of a.npz? It has X, Y; name a matrix by array=")
    'which array of a.npz? It has X, Y; name a matrix by --array'
    """
    for pattern, instead in _ELSEWHERE.items():
        message = re.sub(pattern, instead, message)
    message = _GIVEN.sub(lambda m: f"{FLAGS[m[1]]} {m[2] or m[3]}".rstrip(), message)
    for argument in (_REQUIRED, _ALONE):
        message = argument.sub(lambda m: FLAGS[m[1]], message)
    return message


def judge(error: BaseException) -> tuple[int, str]:
    """The exit code of an error, and what to say."""
    said = in_flags(" ".join(str(error).split())) or type(error).__name__
    if isinstance(error, NotConvergedError):
        return NOT_CONVERGED, said
    if isinstance(error, Terminated):
        return TERMINATED, "terminated; no file was left half written"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted; no file was left half written"
    if isinstance(error, (SparrotError, MemoryError)):
        return BAD_INPUT, said
    if isinstance(error, OSError):
        return BAD_INPUT, f"{error.filename}: {error.strerror}" if error.filename else said
    return FAULT, (
        f"{type(error).__name__}: {said}; this is a fault of sparrot: please report it with what "
        "the same command says with -vv"
    )


def complain(error: BaseException, options: Namespace) -> int:
    """One line on stderr, after the traceback with -vv; for programs, the same on stdout."""
    code, said = judge(error)
    if code in (INTERRUPTED, TERMINATED):
        said += _held(getattr(options, "checkpoint", None))
    if getattr(options, "verbose", 0) >= 2:
        traceback.print_exception(error)
    print(f"sparrot: {said}", file=sys.stderr)
    if getattr(options, "json", False):
        print(json.dumps({"command": options.command, "error": said, "exit_code": code}))
    return code


def _held(checkpoint: Path | None) -> str:
    """What is not lost by an interruption."""
    if checkpoint is None:
        return ""
    if not checkpoint.exists():
        return f"; nothing was found yet that {checkpoint} could hold"
    return f"; {checkpoint} holds what was found, and the same command goes on from it"


class Terminated(KeyboardInterrupt):
    """Somebody asked this process to end."""
