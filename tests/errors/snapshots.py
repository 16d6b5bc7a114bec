# SPDX-License-Identifier: Apache-2.0
"""The files that hold the texts of errors: what they should hold, and how they differ from it."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.errors import mistakes
from tests.errors.catalogue import Catalogue
from tests.errors.rendered import rendered

FOLDER = Path(__file__).parent
COMMAND = "make error-texts"


def wanted(on_spark: Mapping[str, str]) -> dict[str, str]:
    """The content of each file by its path under this folder; `on_spark` has the one that a session of Spark is needed for."""
    return Catalogue().texts() | rendered() | on_spark


def stored() -> dict[str, str]:
    """The same as it is stored."""
    return {str(file.relative_to(FOLDER)): file.read_text(encoding="utf-8") for file in sorted(FOLDER.rglob("*.txt"))}


def write(*, with_spark: bool) -> None:
    """Store the texts as they are now, and delete the files that no text belongs to any more."""
    texts = wanted({mistakes.FILE: _on_spark()} if with_spark else {})
    for name in stored().keys() - texts.keys() - {mistakes.FILE}:
        (FOLDER / name).unlink()
    for name, text in texts.items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")


def _on_spark() -> str:
    from bayou.testing.session import enabled_session

    with tempfile.TemporaryDirectory() as warehouse, enabled_session({"spark.sql.warehouse.dir": warehouse}) as spark:
        return mistakes.rendered(spark)


def difference(name: str, before: str, after: str, command: str = COMMAND) -> str:
    """How a file differs from what it should hold, with the command that stores it; empty where it does not."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"stored/{name}", f"now/{name}", lineterm="")
    shown = "\n".join(lines)
    return f"{shown}\n\nIf the new texts are meant, store them with `{command}`, and commit them." if shown else ""
