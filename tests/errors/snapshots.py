# SPDX-License-Identifier: Apache-2.0
"""The files that hold the texts of errors: what they should hold, and how they differ from it."""

from __future__ import annotations

import difflib
from pathlib import Path

from tests.errors.catalogue import Catalogue
from tests.errors.rendered import rendered

FOLDER = Path(__file__).parent
COMMAND = "make error-texts"


def wanted() -> dict[str, str]:
    """The content of each file by its path under this folder."""
    return Catalogue().texts() | rendered()


def stored() -> dict[str, str]:
    """The same as it is stored."""
    return {str(file.relative_to(FOLDER)): file.read_text(encoding="utf-8") for file in sorted(FOLDER.rglob("*.txt"))}


def write() -> None:
    """Store the texts as they are now, and delete the files that no text belongs to any more."""
    texts = wanted()
    for name in stored().keys() - texts.keys():
        (FOLDER / name).unlink()
    for name, text in texts.items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")


def difference(name: str, before: str, after: str) -> str:
    """How a file differs from what it should hold, with the command that stores it; empty where it does not."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"stored/{name}", f"now/{name}", lineterm="")
    shown = "\n".join(lines)
    return f"{shown}\n\nIf the new texts are meant, store them with `{COMMAND}`, and commit them." if shown else ""
