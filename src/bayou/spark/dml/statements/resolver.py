# SPDX-License-Identifier: Apache-2.0
"""Resolve the conditions and values that a user passed to `DeltaTable.delete` and `update`, for each kind of session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from bayou.spark.backend import part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.backend import Backend
    from bayou.spark.dml.core.statement import Statement
    from bayou.spark.read.session_table import SessionTable


class Resolver(Protocol):
    """Resolves expressions as SQL or as columns.

    Its methods raise the errors of an invalid expression: SchemaMismatchError for an unknown column or for a condition that is not
    a boolean, and PySpark's errors.
    """

    def delete(self, target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], condition: Any) -> Statement:
        """Return a resolved DELETE.

        Args:
            name: the alias that the condition may use for the table, or an empty tuple.
            condition: the condition for rows; None for all rows.
        """
        ...

    def update(
        self, target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], condition: Any, values: Mapping[str, Any]
    ) -> Statement:
        """Return a resolved UPDATE.

        Args:
            values: the new values by column or nested field.
        """
        ...

    def replaced(self, target: SessionTable, snapshot: Snapshot, condition: str) -> Statement:
        """Return the resolved DELETE of the rows that an overwrite with `replaceWhere` replaces."""
        ...


def resolver_of(backend: Backend) -> Resolver:
    """Return the implementation for a kind of session."""
    return cast("Resolver", part_of(backend, "dml.resolver").RESOLVER)
