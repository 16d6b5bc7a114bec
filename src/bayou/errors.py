# SPDX-License-Identifier: Apache-2.0
"""Every error that bayou raises.

Each class carries the facts as attributes, and builds its text from them: what happened, why, what to do next. Where
delta-spark has an error class for the case, `error_class` and `sql_state` hold its name and SQLSTATE, so that a program
which looks at them keeps working. The Spark layer raises subclasses that are PySpark exceptions too (`bayou.spark.errors`).

Errors are shown and logged by programs that know nothing of them, so that no secret may be in one: URIs are redacted here.
"""

from __future__ import annotations

import re
from typing import Any, Final

# Two letters at least: one letter and a colon is a drive.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)", re.ASCII)
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://[^\s'\"<>]+", re.ASCII)
_END_OF_AUTHORITY: Final = re.compile(r"[/?#]")
_SCHEMES_WITHOUT_PORTS: Final = frozenset({"s3", "s3a", "s3n"})


def redact_uri(uri: str) -> str:
    """A URI without its secrets, for messages, events and logs; paths and `file:` URIs are left as they are.

    A user with a password goes, as in `s3a://key:secret@bucket/t`; a user alone stays, as the container does in
    `abfss://container@account.dfs.core.windows.net/t`. What follows a question mark goes too: signed URLs and shared
    access signatures are kept there. A secret key with an unescaped slash in it is found where it is not taken for a port.
    """
    found = _SCHEME.match(uri)
    if found is None or found[1].lower() == "file":
        return uri
    rest = uri[found.end() :]
    if rest.startswith("//"):
        rest = "//" + _without_password(found[1].lower(), rest[2:])
    return uri[: found.end()] + rest.partition("?")[0]


def redact_text(text: str) -> str:
    """A text with the secrets taken out of every URI in it."""
    return _URI.sub(lambda found: redact_uri(found[0]), text)


def _without_password(scheme: str, text: str) -> str:
    """The text after `//`, without users that have a password. Each turn makes it shorter."""
    while True:
        end = _END_OF_AUTHORITY.search(text)
        authority, rest = (text[: end.start()], text[end.start() :]) if end else (text, "")
        user, at, host = authority.rpartition("@")
        if at:
            if ":" not in user:
                return text
            text = host + rest
            continue
        name, colon, tail = host.partition(":")
        is_port = tail.isdecimal() and scheme not in _SCHEMES_WITHOUT_PORTS
        if not colon or not tail or is_port or host.startswith("["):
            return text
        # No port: the beginning of a secret that holds one of `/?#`.
        text = rest.partition("@")[2] if "@" in rest else name + rest


class DeltaError(Exception):
    """The base of all errors of bayou. Its text, and the parts that the text is made of, hold no secrets of URIs.

    Attributes:
        message: what happened and why, one paragraph.
        next_step: what the reader can do about it; empty where there is nothing.
        table: the table's path or URI, redacted, where a table is concerned.
        version: the table version, where one is concerned.
        file: the file that is at fault, relative to the table, where there is one.
        error_class: the name of delta-spark's error class for this case, or None.
        sql_state: the SQLSTATE that goes with it, or None.
        facts: further facts by name; each is an attribute too.
    """

    error_class: str | None = None
    sql_state: str | None = None

    def __init__(
        self,
        message: str,
        *,
        next_step: str = "",
        table: str | None = None,
        version: int | None = None,
        file: str | None = None,
        error_class: str | None = None,
        sql_state: str | None = None,
        **facts: Any,
    ) -> None:
        self.message = redact_text(message)
        self.next_step = redact_text(next_step)
        self.table = None if table is None else redact_uri(table)
        self.version = version
        self.file = None if file is None else redact_uri(file)
        if error_class is not None:
            self.error_class = error_class
        if sql_state is not None:
            self.sql_state = sql_state
        self.facts = facts
        for name, value in facts.items():
            setattr(self, name, value)
        super().__init__(self._text())

    def __str__(self) -> str:
        return self._text()

    def _text(self) -> str:
        head = f"[{self.error_class}] {self.message}" if self.error_class else self.message
        where = [
            f"{name}: {value}"
            for name, value in (("table", self.table), ("version", self.version), ("file", self.file))
            if value is not None
        ]
        text = f"{head} ({', '.join(where)})" if where else head
        return f"{text} Next: {self.next_step}" if self.next_step else text

    def getErrorClass(self) -> str | None:  # noqa: N802  (PySpark's name)
        """The error class, under PySpark's name for it (`getCondition` from Spark 4.0 on)."""
        return self.error_class

    getCondition = getErrorClass  # noqa: N815  (PySpark's name)

    def getSqlState(self) -> str | None:  # noqa: N802  (PySpark's name)
        """The SQLSTATE, under PySpark's name for it."""
        return self.sql_state


class TableNotFoundError(DeltaError, FileNotFoundError):
    """There is no Delta table at the path."""

    error_class = "DELTA_TABLE_NOT_FOUND"
    sql_state = "42P01"


class PathNotFoundError(TableNotFoundError):
    """There is nothing at all at the path. delta-spark lets Spark say so, and programs look for Spark's words."""

    error_class = "PATH_NOT_FOUND"
    sql_state = "42K03"


class TableExistsError(DeltaError, FileExistsError):
    """A table is already there, and the call asked for a new one."""

    error_class = "DELTA_PATH_EXISTS"
    sql_state = "42K04"


class CorruptLogError(DeltaError, ValueError):
    """The log holds something that no writer may write, or lacks something that it must hold."""

    error_class = "DELTA_STATE_RECOVER_ERROR"
    sql_state = "XXKDS"


class VersionGapError(CorruptLogError):
    """Commits are missing between two versions of the log that are there."""

    error_class = "DELTA_VERSIONS_NOT_CONTIGUOUS"
    sql_state = "KD00C"


class ChecksumMismatchError(CorruptLogError):
    """The version checksum file and the replayed state disagree."""

    error_class = "DELTA_TXN_LOG_FAILED_INTEGRITY"
    sql_state = "XXKDS"


class DeletionVectorError(CorruptLogError):
    """A deletion vector cannot be read, or is not what its descriptor says."""

    error_class = "DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH"
    sql_state = "XXKDS"


class DataFileNotFoundError(DeltaError, FileNotFoundError):
    """A data file that the log names is not there."""

    error_class = "DELTA_FILE_NOT_FOUND_DETAILED"
    sql_state = "42K03"


class UnreadableDataFileError(DeltaError, OSError):
    """A data file that the log names is there, and cannot be read: it is damaged, or the store does not give it."""

    error_class = "FAILED_READ_FILE"
    sql_state = "KD001"


class UnsupportedFeatureError(DeltaError, NotImplementedError):
    """The table asks for something that bayou does not do; the features are in `features`."""

    error_class = "DELTA_UNSUPPORTED_FEATURES_FOR_READ"
    sql_state = "56038"


class UnsupportedProtocolError(UnsupportedFeatureError):
    """The table's protocol version is above every known one."""

    error_class = "DELTA_INVALID_PROTOCOL_VERSION"
    sql_state = "KD004"


class TimeTravelError(DeltaError, ValueError):
    """The version or timestamp asked for cannot be read."""

    error_class = "DELTA_VERSION_NOT_FOUND"
    sql_state = "22003"


class VersionNotFoundError(TimeTravelError):
    """The version does not exist, or the log that led to it is gone; `earliest` and `latest` give the range."""


class TimestampOutOfRangeError(TimeTravelError):
    """The timestamp lies before the first or after the last readable commit."""

    error_class = "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"
    sql_state = "42816"


class InvalidTimestampError(TimeTravelError):
    """The text is no timestamp."""

    error_class = "DELTA_TIMESTAMP_INVALID"
    sql_state = "42816"


class InvalidOptionError(DeltaError, ValueError):
    """An option has a value that it cannot have, or is given beside one that excludes it."""

    error_class = "DELTA_ILLEGAL_OPTION"
    sql_state = "42616"


class InvalidSchemaError(DeltaError, ValueError):
    """A schema cannot be a table's schema, or cannot be understood."""

    error_class = "DELTA_SCHEMA_NOT_SET"
    sql_state = "KD008"


class SqlSyntaxError(InvalidSchemaError):
    """The SQL text of a column or a type is none."""

    error_class = "PARSE_SYNTAX_ERROR"
    sql_state = "42601"


class SchemaMismatchError(DeltaError, ValueError):
    """The rows to write do not have the table's schema."""

    error_class = "DELTA_METADATA_MISMATCH"
    sql_state = "42KDG"


class SchemaChangedError(DeltaError, RuntimeError):
    """The table's schema changed, incompatibly, after the DataFrame was made."""

    error_class = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
    sql_state = "KD007"


class ConcurrentModificationError(DeltaError, RuntimeError):
    """Another writer committed something that this commit cannot go on top of. The subclasses say what.

    Attributes:
        conflicting_version: the version of that commit, or None where no single one is to blame.
        conflicting_operation: its operation.
        conflicting_timestamp: when it was committed, in ms since the epoch.
        conflicting_commit: its `commitInfo`.
        files: up to five of the files that both are about.
        num_files: how many there are.
    """

    error_class = "DELTA_CONCURRENT_WRITE"
    sql_state = "2D521"


class ConcurrentWriteException(ConcurrentModificationError):
    """A version was committed, and this operation goes on top of none."""


class ProtocolChangedException(ConcurrentModificationError):
    """The table's protocol was changed."""

    error_class = "DELTA_PROTOCOL_CHANGED"


class MetadataChangedException(ConcurrentModificationError):
    """The table's metadata was changed: its schema, its partition columns, or its properties."""

    error_class = "DELTA_METADATA_CHANGED"


class ConcurrentTransactionException(ConcurrentModificationError):
    """The same application, or the same domain, was written for."""

    error_class = "DELTA_CONCURRENT_TRANSACTION"


class ConcurrentAppendException(ConcurrentModificationError):
    """Files were added that this operation should have read."""

    error_class = "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"


class ConcurrentDeleteReadException(ConcurrentModificationError):
    """A file was removed that this operation read."""

    error_class = "DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT"


class ConcurrentDeleteDeleteException(ConcurrentModificationError):
    """A file was removed that this operation removes too."""

    error_class = "DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT"


class InvalidCommitError(DeltaError, ValueError):
    """The actions of a commit contradict each other, or the table."""

    error_class = "DELTA_DUPLICATE_ACTIONS_FOUND"
    sql_state = "2D521"


class TransactionStateError(DeltaError, RuntimeError):
    """The transaction is over: it was committed, it failed, or it was left."""


class AppendOnlyError(DeltaError, RuntimeError):
    """The table only takes appends, and the commit removes rows."""

    error_class = "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    sql_state = "42809"


class StorageError(DeltaError, OSError):
    """The store failed to do what it was asked."""


class SessionError(DeltaError, RuntimeError):
    """The Spark session cannot do what bayou needs; the text says what is missing."""


class ConstraintViolationError(DeltaError, ValueError):
    """Rows break a rule of the table: NOT NULL, a CHECK constraint, a generation expression, or the length of a string.

    Attributes:
        constraint: the rule's name.
        expression: its SQL text, which is not true for the rows.
        rows: at most five of the rows, as dictionaries of the columns that the rule looks at.
        num_violations: how many rows break it, or None where they were not counted.
    """

    error_class = "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    sql_state = "23001"


class CastOverflowError(DeltaError, ArithmeticError):
    """A new value in an UPDATE or a MERGE is one that the column's type cannot hold, or its computation failed within the cast.

    Attributes:
        column: the column, quoted.
        source_type: the type of the value, as SQL.
        target_type: the column's type, as SQL.
    """

    error_class = "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"
    sql_state = "22003"


class MultipleMatchesError(DeltaError, ValueError):
    """Several rows of a MERGE's source would change the same row of the table.

    Attributes:
        keys: at most five of the rows' keys, as JSON of the columns that the condition looks at; none where it looks at none.
        num_keys: how many different keys there are.
        num_rows: how many rows of the table are meant; 0 where the source did not have them again when they were looked for.
    """

    error_class = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
    sql_state = "21506"


class StreamingSourceError(DeltaError, RuntimeError):
    """A stream that reads a table cannot go on: its checkpoint and the table do not fit, or a commit is none it can take.

    Attributes:
        operation: the operation of the commit that stopped the stream, or None where no commit did.
        user: who made that commit, or None where it does not say.
    """

    error_class = "DELTA_INVALID_SOURCE_OFFSET_FORMAT"
    sql_state = "XXKDS"
