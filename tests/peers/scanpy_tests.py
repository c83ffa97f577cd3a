"""Scanpy's own tests of all that reads a graph, with `sparrot.sc.neighbors` for `sc.pp.neighbors`.

    make peers SCANPY=path/to/scanpy

takes a checkout of scanpy's source; it should be of the version that is installed, which a checkout
does not tell. The environment is that of `make test`. Of another version of scanpy:

    pip install '.[scanpy,plot]' 'scanpy==1.10.*' 'pynndescent<0.6' 'numpy<2.4'
    pip install pytest pytest-timeout
    python tests/peers/scanpy_tests.py path/to/scanpy

The graph that comes with its test data is replaced by ours as well. What a test asks of numbers
that belong to another graph we cannot give: `EXCEPTIONS` has these tests, each with the reason; one
that passes is an error, and so is one that fails in another way.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import sparrot

FILES = ("neighbors_key_added", "ingest", "embedding", "clustering", "embedding_density", "paga")
_IMAGE = "compares an image of the groups of scanpy's own graph"
EXCEPTIONS = {  # beginning of a test's name: why it cannot pass
    "test_ingest_map_embedding_umap": "asks for method='umap' by name, and our weights are not its",
    r"test_paga_plots\[(dense-|sparse-)?(-paga|continuous)": _IMAGE,
    "test_paga_(pie|path)": _IMAGE,
}
# Options of pandas that 3.1 deprecates, and anndata 0.13 sets; scanpy makes errors of warnings.
_NOT_OURS = ("future.infer_string", "mode.chained_assignment")
ELSEWHERE = {"test_paga_compare": "reads a graph of scanpy that it fetches from the network"}


class OurGraphs:
    """Puts our graphs in the place of scanpy's, and expects the exceptions to fail."""

    def pytest_sessionstart(self) -> None:
        import scanpy as sc  # its tests want to be the first to import it

        reduced = sc.datasets.pbmc68k_reduced

        def with_our_graph() -> "sc.AnnData":
            adata = reduced()
            sparrot.sc.neighbors(adata, 15, use_rep="X_pca")
            return adata

        sc.pp.neighbors = sparrot.sc.neighbors
        sc.datasets.pbmc68k_reduced = with_our_graph

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        refused = (AssertionError, sparrot.InvalidInputError)
        for item in items:
            for name, reason in EXCEPTIONS.items():
                if re.match(name, item.name):
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=True, raises=refused))
            if item.name in ELSEWHERE:
                item.add_marker(pytest.mark.skip(ELSEWHERE[item.name]))

    @pytest.fixture
    def add_nunit_attachment(self) -> Callable[[str, str], None]:
        """Of pytest-nunit, by which the tests of scanpy 1.10 show images."""
        return lambda path, description: None


def main(checkout: Path, *options: str) -> int:
    """Run the tests; returns what pytest does."""
    os.chdir(checkout)
    with tempfile.TemporaryDirectory() as folder:  # src/ itself would bring another scanpy
        (Path(folder) / "testing").symlink_to(Path("src/testing").resolve())
        sys.path.insert(0, folder)
        files = [f"tests/test_{name}.py" for name in FILES]
        quiet = ["-q", "-rsxXfE", "-o", f"cache_dir={folder}/cache"]
        quiet += [f"-Wignore:The '{name}' option is deprecated" for name in _NOT_OURS]
        return pytest.main([*files, *quiet, *options], [OurGraphs()])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
