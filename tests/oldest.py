"""The oldest versions that pyproject.toml allows, as constraints for pip: `make test-oldest`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def oldest() -> dict[str, str]:
    """The lower bound of each dependency, and of what the extra `all` brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    names = everything.partition("[")[2].rstrip("]").split(",")
    wanted = project["dependencies"] + [one for name in names for one in extras[name]]
    return dict(re.findall(r"^([\w-]+)>=([\d.]+)", "\n".join(wanted), re.MULTILINE))


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in oldest().items()))
