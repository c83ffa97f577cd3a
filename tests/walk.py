"""What a call runs through: the files of the package, and the deepest stack of its own frames.

python tests/walk.py

prints the walk of `sparrot.qot` on 4,000 points, which CONTRIBUTING.md describes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import sparrot

SOURCE = Path(sparrot.__file__).parent
Place = tuple[str, str]  # file and function
INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")  # no frames of their own from Python 3.12 on


@dataclass
class Walk:
    """What a call ran through.

    Attributes
    ----------
    stacks : the frames of the package, outermost first, at each of its calls; each stack once, in
        the order in which they were met.
    """

    stacks: dict[tuple[Place, ...], None] = field(default_factory=dict)

    @property
    def functions(self) -> dict[str, list[str]]:
        """The functions of each file, both in the order in which they were entered."""
        found: dict[str, list[str]] = {}
        for file, function in dict.fromkeys(stack[-1] for stack in self.stacks):
            found.setdefault(file, []).append(function)
        return found

    @property
    def deepest(self) -> tuple[Place, ...]:
        """The deepest stack."""
        return max(self.stacks, key=len)

    def passes(self, steps: list[Place]) -> bool:
        """Whether some stack has these frames in this order, be there others between."""
        return any(_is_part(steps, stack) for stack in self.stacks)

    def enter(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take note of a call; this is a profiler of Python."""
        place = place_of(frame.f_code)
        if event != "call" or place is None:
            return
        stack = [place]
        running = sys._getframe(1)  # this frame, or the caller of a compiled loop, which has none
        above = frame.f_back if running is frame else running
        while above is not None:
            place = place_of(above.f_code)
            if place is not None:
                stack.append(place)
            above = above.f_back
        self.stacks[tuple(reversed(stack))] = None


def _is_part(steps: list[Place], stack: tuple[Place, ...]) -> bool:
    rest = iter(stack)
    return all(step in rest for step in steps)


def place_of(code: CodeType) -> Place | None:
    """The file and function of a piece of code, None if it is not the package's."""
    if code.co_name in INLINED:
        return None
    file = _file(code.co_filename)
    return None if file is None else (file, code.co_qualname.replace(".<locals>", ""))


@cache
def _file(name: str) -> str | None:
    path = Path(name)
    return path.relative_to(SOURCE).as_posix() if SOURCE in path.parents else None


def walk(call: Callable[[], Any]) -> Walk:
    """Run a call twice, and watch the second time, when all is imported and compiled.

    The call must do its work on one thread, where a frame stands on those that wait for it. What is
    compiled has no frames; the file of the compiled loops counts if its Python code runs.
    """
    call()
    found = Walk()
    before = sys.getprofile()
    sys.setprofile(found.enter)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def qot_of_4000_points() -> Any:
    """The call whose walk is described in CONTRIBUTING.md."""
    return sparrot.qot(np.random.default_rng(0).standard_normal((4000, 50)), n_jobs=1)


if __name__ == "__main__":
    found = walk(qot_of_4000_points)
    files = [f"{file}: {', '.join(functions)}" for file, functions in found.functions.items()]
    frames = [f"{file}: {function}" for file, function in found.deepest]
    text = [f"{len(files)} files", *files, "", f"{len(frames)} frames", *frames]
    sys.stdout.write("\n".join(text) + "\n")
