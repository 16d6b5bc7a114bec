# SPDX-License-Identifier: Apache-2.0
"""The input of the conflict rules: the table's state, the reads and changes of the commit, and its isolation level."""

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
    """The state that a commit is rebased on.

    Attributes:
        version: the table version; -1 before the first.
        protocol: the table's protocol; None before the first version.
        metadata: the table's metadata; None before the first version.
        timestamp: a time in ms that the next commit's own timestamp must exceed: the version's in-commit timestamp, otherwise its
            file's time. None while the table does not use it.
        overlooked: the first version with a blind append that the commit did not read, and that is ordered after it; or None.
        row_id_mark: the highest row id that was assigned.
        rows: the rows that the commit deletes by deletion vectors, rebased on that version; None if it deletes none.
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
    """The reads and changes of a commit that the conflict rules check.

    Attributes:
        reads: the files that it read.
        isolation: the isolation level to check.
        changes_protocol: whether it sets the protocol.
        changes_metadata: whether it sets the metadata.
        app_ids: the applications whose `txn` it read or sets.
        domains: the domains whose metadata it sets.
        removed: the canonical paths of the files that it removes, except files in which it deletes rows (`TableState.rows`).
        generated: the identity columns for which it generated numbers.
        added: the canonical paths of the files that it adds. Files in which it deletes rows are left out, and so are files with new
            unique names, which no other commit can have.
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
    """The isolation that a commit is checked for; the values are the log's names.

    Source: delta-spark, `isolationLevels.scala`.
    """

    SERIALIZABLE = "Serializable"
    """As if all commits had run one after the other, in the order of the versions."""

    WRITE_SERIALIZABLE = "WriteSerializable"
    """As if all commits had run one after the other, in some order: blind appends may come earlier or later."""

    SNAPSHOT = "SnapshotIsolation"
    """For commits that change no rows, such as OPTIMIZE: files that winning commits add do not conflict, removed files do."""

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> IsolationLevel:
        """Return the level of the property `delta.isolationLevel`; Serializable if the value is unknown."""
        value = properties.ISOLATION_LEVEL.read(configuration).lower()
        settable = (cls.SERIALIZABLE, cls.WRITE_SERIALIZABLE)
        return next((level for level in settable if level.value.lower() == value), cls.SERIALIZABLE)
