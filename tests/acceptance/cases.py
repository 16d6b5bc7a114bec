# SPDX-License-Identifier: Apache-2.0
"""The cases of the published tables, and what is wrong with what a reader gives.

The canonical form of a row and the rules of comparison are the checker's own.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Expected:
    """What the checker knows: schemas, and how rows are compared."""

    def __init__(self, corpora: Path) -> None:
        self.schemas = json.loads((corpora / "schemas.json").read_text(encoding="utf-8"))
        specification = importlib.util.spec_from_file_location("canon", corpora / "tools" / "canon.py")
        self.canon: Any = importlib.util.module_from_spec(specification)
        path = [*sys.path]
        sys.path.insert(0, str(corpora / "tools"))
        specification.loader.exec_module(self.canon)
        sys.path[:] = path


def core_cases(corpora: Path, operation: str, kind: str) -> Iterator[dict[str, Any]]:
    for line in (corpora / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if (case["tier"], case["op"], case["kind"]) == ("core", operation, kind) and (corpora / case["path"]).is_dir():
            yield case


def prepared(corpora: Path, case: dict[str, Any], copy: Path, table: str = "", root: str = "") -> str:
    """The table's path; a table whose log holds absolute paths is copied, and they are put in.

    Args:
        corpora: the folder of all tables.
        case: the case.
        copy: where a copy goes.
        table: the URI that the table will have; the copy's path if empty.
        root: the URI that the folder of all tables will have; its path if empty.
    """
    original = corpora / case["path"]
    if "setup" not in case:
        return str(original)
    shutil.copytree(original, copy)
    for file in (copy / "_delta_log").glob("*.json"):
        text = file.read_text(encoding="utf-8")
        for old, new in case["setup"]["replace_in_log"].items():
            there = new.replace("file://{ROOT}", root) if root else new.replace("{ROOT}", str(corpora.resolve()))
            text = text.replace(old, there.replace("{TABLE}", table or str(copy)))
        file.write_text(text, encoding="utf-8")
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return str(copy)


def judged_error(case: dict[str, Any], path: str, reader: Any) -> str:
    try:
        rows = reader.read(path, case["version"]).num_rows
    except Exception:  # noqa: BLE001  (the case asks for any)
        return ""
    return f"returned {rows} rows, should raise {case['expect']['error']}"


def _rows(case: dict[str, Any], path: str, reader: Any) -> Any:
    if case["op"] == "cdf":
        return reader.cdf(path, case["start_version"], case["end_version"])
    return reader.read(path, case["version"])


def judged(case: dict[str, Any], path: str, known: Expected, reader: Any) -> str:
    """What is wrong with what a reader gives; empty where nothing is. The reader has the functions `read`, `cdf`, `snapshot`."""
    expected, schemas, canon = case["expect"], known.schemas, known.canon
    try:
        if case["op"] != "snapshot":
            table = _rows(case, path, reader)
            rows = sorted(canon.rows(table, schemas[expected["schema"]]))
            if canon.digest_rows(rows) != expected["digest"]:
                return f"{len(rows)} rows for {expected['rows']}"
            names = [name.lower() for name in table.column_names]
            if names != [column[0].lower() for column in expected["columns"]]:
                return f"columns {table.column_names}"
        found = reader.snapshot(path, case["version"]) if case["op"] != "cdf" else {}
    except Exception as error:  # noqa: BLE001  (each case is judged)
        return f"{type(error).__name__}: {str(error)[:300]}"
    differing = Counter(name for name, value in found.items() if name in expected and value is not None and value != expected[name])
    return ", ".join(f"{name}: {str(found[name])[:150]} for {str(expected[name])[:150]}" for name in differing)
