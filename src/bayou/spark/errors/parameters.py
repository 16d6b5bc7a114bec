# SPDX-License-Identifier: Apache-2.0
"""The message parameters of an error by delta-spark's names, for `getMessageParameters`.

Source: the error classes of delta-spark 4.4. Parameters that bayou does not always know are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.errors import DeltaError

_LOCAL: Final = "file:///"


def _path(error: DeltaError) -> str:
    table = error.table or ""
    return table.removeprefix("file://") if table.startswith(_LOCAL) else table


def _uri(error: DeltaError) -> str:
    path = _path(error)
    return f"file:{path}" if path.startswith("/") else path


def _name(error: DeltaError) -> str:
    path = _path(error)
    return path if path.startswith("`") else ".".join(f"`{part}`" for part in ([path] if "/" in path else path.split(".")))


def _fact(name: str) -> Callable[[DeltaError], str]:
    return lambda error: str(error.facts.get(name))


def _always(text: str) -> Callable[[DeltaError], str]:
    return lambda _: text


_OF_CLASS: Final[dict[str, dict[str, Callable[[DeltaError], str]]]] = {
    "DELTA_CANNOT_MODIFY_APPEND_ONLY": {"table_name": _name, "config": _always("delta.appendOnly")},
    "DELTA_CONSTRAINT_ALREADY_EXISTS": {"constraintName": _fact("constraint"), "oldConstraint": _fact("expression")},
    "DELTA_CONSTRAINT_DOES_NOT_EXIST": {
        "constraintName": _fact("constraint"),
        "tableName": _name,
        "config": _always("spark.databricks.delta.constraints.assumesDropIfExists.enabled"),
        "confValue": _always("true"),
    },
    "DELTA_ILLEGAL_OPTION": {"input": _fact("value"), "name": _fact("option"), "explain": _fact("needs")},
    "DELTA_MISSING_DELTA_TABLE": {"tableName": _name},
    "DELTA_ONLY_OPERATION": {"operation": _fact("operation")},
    "DELTA_OPERATION_NOT_ALLOWED_DETAIL": {"operation": _fact("operation"), "tableName": _name},
    "DELTA_PATH_EXISTS": {"path": _uri},
    "DELTA_TABLE_NOT_FOUND": {"tableName": _name},
    "DELTA_TABLE_ONLY_OPERATION": {"tableName": _name, "operation": _fact("operation")},
    "DELTA_UNKNOWN_CONFIGURATION": {
        "config": _fact("option"),
        "disableCheckConfig": _always("spark.databricks.delta.allowArbitraryProperties.enabled"),
    },
    "DELTA_VERSION_NOT_FOUND": {
        "userVersion": lambda error: str(error.version),
        "earliest": _fact("earliest"),
        "latest": _fact("latest"),
    },
    "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE": {"viewName": _name, "operation": _fact("operation")},
    "PATH_NOT_FOUND": {"path": _path},
    "TABLE_OR_VIEW_NOT_FOUND": {"relationName": _name},
}


def parameters_of(error: DeltaError) -> dict[str, str]:
    """Return the message parameters of an error; empty if bayou does not know them."""
    named = _OF_CLASS.get(error.error_class or "", {})
    found = {name: fact(error) for name, fact in named.items()}
    return {name: value for name, value in found.items() if value not in ("", "None")}
