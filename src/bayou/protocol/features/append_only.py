# SPDX-License-Identifier: Apache-2.0
"""Tables that only take appends. Source: PROTOCOL.md, "Append-only Tables"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import AppendOnlyError
from bayou.protocol import properties

if TYPE_CHECKING:
    from bayou.protocol.actions.actions import Metadata


def check_not_append_only(metadata: Metadata, what: str, table: str, version: int | None = None, *, instead: str = "") -> None:
    """Refuse to remove rows from a table that only takes appends.

    Args:
        metadata: the table's metadata.
        what: what is done to its rows, for example `TRUNCATE removes its rows`.
        table: the table's URI.
        version: the version, where there is one.
        instead: what else can be done than to change the property, as half a sentence.

    Raises:
        AppendOnlyError: it only takes appends.
    """
    if properties.APPEND_ONLY.read(metadata.configuration):
        raise AppendOnlyError(
            f"The table only takes appends (delta.appendOnly), and {what}.",
            table=table,
            version=version,
            next_step=f"set delta.appendOnly to false first{f', or {instead}' if instead else ''}.",
        )
