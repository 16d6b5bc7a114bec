# SPDX-License-Identifier: Apache-2.0
"""Bring bayou to a Python process of the server that does not have it: the function that the process runs contains the package."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SUFFIX: Final = ".py"


@cache
def packed() -> bytes:
    """Return the modules of bayou as a ZIP file. The same version of bayou gives the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(_modules("bayou", files("bayou")), key=lambda each: each[0]):
            archive.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _modules(folder: str, place: Any) -> Iterator[tuple[str, Any]]:
    for each in place.iterdir():
        if each.is_dir():
            yield from _modules(f"{folder}/{each.name}", each)
        elif each.name.endswith(_SUFFIX):
            yield f"{folder}/{each.name}", each


def batch_function(package: bytes, facts: Mapping[str, Any]) -> Callable[[Any, int], None]:
    """Return the function for `foreachBatch`. It needs nothing of this module, because the server's Python may not have bayou.

    Args:
        package: the ZIP file of `packed`.
        facts: the attributes of a `BatchWriter`, as plain values.
    """
    writer = f"{__package__}.batches"
    install = installer()

    def write_batch(frame: Any, number: int) -> None:
        import importlib  # noqa: PLC0415  (the process has none of this module's imports)

        install(package)
        importlib.import_module("bayou").enable(frame.sparkSession)
        importlib.import_module(writer).BatchWriter(**facts).write(frame, number)

    return write_batch


def installer() -> Callable[[bytes], None]:
    """Return a function that lets its process import bayou from the ZIP file of `packed`. It needs nothing of this module."""

    def install(package: bytes) -> None:
        import importlib.abc  # noqa: PLC0415  (the process has none of this module's imports)
        import importlib.util  # noqa: PLC0415
        import io  # noqa: PLC0415
        import sys  # noqa: PLC0415
        import zipfile  # noqa: PLC0415

        class Packed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
            """Imports modules from the package in memory, so that no file of it is on the server."""

            sources: Mapping[str, bytes] = {}

            def place(self, name: str) -> str:
                folder = name.replace(".", "/")
                return f"{folder}/__init__.py" if f"{folder}/__init__.py" in self.sources else f"{folder}.py"

            def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
                del path, target
                known = self.place(name) in self.sources
                return importlib.util.spec_from_loader(name, self) if known else None

            def is_package(self, name: str) -> bool:
                return self.place(name).endswith("/__init__.py")

            def get_source(self, name: str) -> str:
                return self.sources[self.place(name)].decode()

        if not any(type(each).__name__ == "Packed" for each in sys.meta_path):
            finder = Packed()
            with zipfile.ZipFile(io.BytesIO(package)) as archive:
                finder.sources = {name: archive.read(name) for name in archive.namelist()}
            sys.meta_path.insert(0, finder)

    return install
