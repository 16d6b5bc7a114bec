# SPDX-License-Identifier: Apache-2.0
"""Read calls of `table_changes` and `table_changes_by_path` in SQL queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.spark.portable.functions.arguments import values_of
from bayou.spark.portable.names import path_in
from bayou.spark.sql.functions.arguments import change_bound, check_count

if TYPE_CHECKING:
    from bayou.spark.portable.commands.identifiers import Arguments
    from bayou.spark.portable.text.queries import FunctionCall

_BY_NAME, _BY_PATH = "table_changes", "table_changes_by_path"
NAMES: Final = (_BY_NAME, _BY_PATH)


def changes_of(call: FunctionCall, arguments: Arguments) -> dict[str, str] | None:
    """Return the reader's options for the change data feed that a call asks for; None if the call is the server's.

    Raises:
        InvalidOptionError: the number or the types of the arguments are wrong, or one is not a constant.
    """
    if call.name not in NAMES:
        return None
    found = values_of(call, arguments)
    check_count(call.name, found)
    table, *bounds = found
    path: str | None = table.string(call.name, "table path" if call.name == _BY_PATH else "table name")
    if call.name == _BY_NAME:
        path = path_in(path or "")
    if path is None:
        return None
    options = {"path": path, "readChangeFeed": "true"}
    for side, bound in zip(("starting", "ending"), bounds, strict=False):
        options |= change_bound(call.name, side, bound)
    return options
