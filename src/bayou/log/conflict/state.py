# SPDX-License-Identifier: Apache-2.0
"""What the conflict rules look at: the table that a commit goes on top of, what the commit has read and does, its isolation."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.log.rows.row_tracking import NO_ROW_ID
from bayou.protocol import properties

if TYPE_CHECKING:
    from bayou.log.rows.deleted_rows import DeletedRows
    from bayou.log.staging.read_set import ReadSet
    from bayou.protocol.actions.actions import Metadata, Protocol


@dataclass(frozen=True, slots=True)
class TableState:
    """What a commit goes on top of.

    Attributes:
        version: the table version; -1 before the first.
        protocol: the table's protocol, None before the first version.
        metadata: the table's metadata, None before the first version.
        timestamp: a time in ms that the next commit's own timestamp must lie after: the version's in-commit timestamp, or
            its file's time where it has none. None while the table has no use for it.
        overlooked: the first version of which the commit has overlooked an append, though it would have read it; None
            where there is none.
        row_id_mark: the highest row id that was given.
        rows: the rows that the commit deletes by deletion vectors, as it has to on top of that version; None where it
            deletes none so.
    """

    version: int
    protocol: Protocol | None
    metadata: Metadata | None
    timestamp: int | None = None
    overlooked: int | None = None
    row_id_mark: int = NO_ROW_ID
    rows: DeletedRows | None = None


@dataclass(frozen=True, slots=True)
class CommitIntent:
    """What a commit has read and is about to do, as far as the rules look at it.

    Attributes:
        table: the table's URI.
        operation: the operation's name.
        reads: what it read.
        isolation: the level that it is checked at.
        changes_protocol: whether it sets the protocol.
        changes_metadata: whether it sets the metadata.
        app_ids: the applications whose transactions it read or sets.
        domains: the domains whose metadata it sets.
        removed: the canonical paths of the files that it removes, but for those that it deletes rows of (`TableState.rows`).
        generated: the identity columns that it generated numbers for.
        added: the canonical paths of the files that it adds, but for those and for such as only it can know of.
    """

    table: str
    operation: str
    reads: ReadSet
    isolation: IsolationLevel
    changes_protocol: bool
    changes_metadata: bool
    app_ids: frozenset[str]
    domains: frozenset[str]
    removed: pa.ChunkedArray
    generated: frozenset[str] = frozenset()
    added: pa.ChunkedArray = field(default_factory=lambda: pa.chunked_array([], pa.string()))


class IsolationLevel(enum.Enum):
    """What a commit is checked against; the values are the log's names.

    Source: delta-spark, `isolationLevels.scala`.
    """

    SERIALIZABLE = "Serializable"
    """As if every commit had run alone, in the order of the versions."""

    WRITE_SERIALIZABLE = "WriteSerializable"
    """As if every commit had run alone, in some order: appends that read nothing may come before or after."""

    SNAPSHOT = "SnapshotIsolation"
    """For commits that change no data: added files are no matter, removed ones are."""

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> IsolationLevel:
        """The level that a table asks for through `delta.isolationLevel`; Serializable where it names none that is known."""
        wanted = properties.ISOLATION_LEVEL.read(configuration).lower()
        settable = (cls.SERIALIZABLE, cls.WRITE_SERIALIZABLE)
        return next((level for level in settable if level.value.lower() == wanted), cls.SERIALIZABLE)
