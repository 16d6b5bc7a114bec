# SPDX-License-Identifier: Apache-2.0
"""Return the message parameters of an error under delta-spark's names, for `getMessageParameters`.

`bayou.errors.catalogue` has the parameters by error class. A parameter whose value bayou does not always have is left out.
Source: the error classes of delta-spark 4.4.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from bayou.errors.catalogue import filled, rows

if TYPE_CHECKING:
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


def parameters_of(error: DeltaError) -> dict[str, str]:
    """Return the message parameters of an error; empty if bayou does not know them."""
    row = rows().get(error.error_class or "")
    if row is None:
        return {}
    places = {"version": error.version, "table_name": _name(error), "table_path": _path(error), "table_uri": _uri(error)}
    facts = defaultdict(str, {**error.facts, **places})
    parameters = {name: filled(value, facts) for name, value in row.parameters}
    return {name: value for name, value in parameters.items() if value not in ("", "None")}
