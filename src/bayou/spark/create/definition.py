# SPDX-License-Identifier: Apache-2.0
"""A table to create, as a statement or a builder describes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayou.errors import DeltaError, failed
from bayou.log.operations.create import first_actions
from bayou.log.operations.create_like import like_actions
from bayou.log.snapshot.clustering import logical_clustering
from bayou.protocol.columns.clustering import names_of, parse_columns
from bayou.protocol.columns.column_mapping import without_mapping
from bayou.protocol.types.schema import StructType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.operations.create import FirstActions
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import Metadata


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table to create.

    Attributes:
        name: its name, as SQL has it; None for a table at a path.
        location: its path; None if the catalog decides.
        cluster_by: its clustering columns, possibly none yet; None if it is not clustered.
        like: the table to copy the definition from, for CREATE TABLE LIKE.
        in_sql: whether a statement describes it.
    """

    name: str | None = None
    location: str | None = None
    schema: StructType = field(default_factory=StructType)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    like: Snapshot | None = None
    in_sql: bool = False

    @property
    def is_expected(self) -> bool:
        """Whether the table should already exist: a statement names a folder and no columns."""
        return self.in_sql and self.location is not None and not self.schema.fields

    def first_actions(
        self, table: str, settings: Mapping[str, str], *, may_be_empty: bool, replaced: Metadata | None = None
    ) -> FirstActions:
        """Return the actions that create the table, or raise an error if that is not possible or not supported."""
        if self.like is not None:
            return like_actions(self.like, self.properties, table=table, settings=settings)
        return first_actions(
            self.schema,
            self.partition_by,
            self.properties,
            table=table,
            description=self.comment,
            settings=settings,
            cluster_by=None if self.cluster_by is None else parse_columns(self.cluster_by),
            may_be_empty=may_be_empty,
            replaced=replaced,
        )


def definition_like(name: str | None, location: str | None, source: Snapshot, properties: Mapping[str, str]) -> TableDefinition:
    """Return the definition of CREATE TABLE ... LIKE another Delta table.

    Args:
        name: the new table's name.
        location: its path; None if the catalog decides.
        source: the table to copy the definition from.
        properties: further properties.
    """
    clustering = logical_clustering(source)
    return TableDefinition(
        name,
        location,
        without_mapping(source.schema),
        source.partition_columns,
        None if clustering is None else tuple(names_of(clustering)),
        properties,
        source.metadata.description,
        source,
    )


def refused_transform(transform: str, table: str) -> DeltaError:
    """Return the error for a table that is to be partitioned by a function of a column, such as `bucket` or `days`."""
    is_bucket = "bucket" in transform.lower()
    return failed(
        "DELTA_OPERATION_NOT_ALLOWED_DETAIL",
        table=table,
        error_class="DELTA_OPERATION_NOT_ALLOWED_DETAIL" if is_bucket else "DELTA_OPERATION_NOT_ALLOWED",
        features=[transform],
        operation="Bucketing" if is_bucket else "Partitioning by expressions",
    )
