# SPDX-License-Identifier: Apache-2.0
"""Every error that bayou raises.

`failed` makes an error from its row in `bayou.errors.catalogue`, which has the text, and from the facts of the case, which become
attributes. If delta-spark has an error class for the case, `error_class` and `sql_state` hold its name and SQLSTATE, so that a
program which looks at them keeps working. The Spark layer raises subclasses that are PySpark exceptions too
(`bayou.spark.errors.conversion`).

Errors are shown and logged by programs that know nothing of them, so that no secret may be in one: URIs are redacted here.
What a log holds may be of any length: values in messages are cut here, and attributes hold them whole.
"""

from __future__ import annotations

from typing import Any, Protocol

from bayou.errors import catalogue
from bayou.errors.states import state_of

# Other modules import them from here, next to the errors.
from bayou.errors.texts import redact_text as redact_text
from bayou.errors.texts import redact_uri as redact_uri
from bayou.errors.texts import sample as sample
from bayou.errors.texts import shortened as shortened


class Located(Protocol):
    """A version of a table, which an error can be about."""

    @property
    def table_uri(self) -> str | None:
        """The table's path or URI, or None."""

    @property
    def version(self) -> int | None:
        """The version, or None."""


class DeltaError(Exception):
    """The base of all errors of bayou. Its message and its parts hold no secrets of URIs.

    Attributes:
        message: what happened and why, one paragraph; long values in it are cut.
        next_step: what the reader can do about it; empty where there is nothing.
        table: the table's path or URI, redacted, where a table is concerned.
        version: the table version, where one is concerned.
        file: the file that is at fault, relative to the table, where there is one.
        error_class: the name of delta-spark's error class for this case, or None. `sql_state` follows from it.
        facts: further facts by name; each is an attribute too.
    """

    error_class: str | None = None

    def __init__(
        self,
        message: str,
        *,
        next_step: str = "",
        at: Located | None = None,
        table: str | None = None,
        version: int | None = None,
        file: str | None = None,
        error_class: str | None = None,
        **facts: Any,
    ) -> None:
        """Make an error. `at` gives it its table and version, instead of `table` and `version`."""
        if at is not None:
            table, version = at.table_uri, at.version
        self.message = shortened(redact_text(message))
        self.next_step = shortened(redact_text(next_step))
        self.table = None if table is None else redact_uri(table)
        self.version = version
        self.file = None if file is None else redact_uri(file)
        if error_class is not None:
            self.error_class = error_class
        self.facts = facts
        super().__init__(self._text())
        for name, value in facts.items():  # after the exception's own, which would set errno back
            setattr(self, name, value)

    def __str__(self) -> str:
        return self._text()

    def _text(self) -> str:
        head = f"[{self.error_class}] {self.message}" if self.error_class else self.message
        where = [
            f"{name}: {shortened(str(value))}"
            for name, value in (("table", self.table), ("version", self.version), ("file", self.file))
            if value is not None
        ]
        text = f"{head} ({', '.join(where)})" if where else head
        return f"{text} Next: {self.next_step}" if self.next_step else text

    @property
    def sql_state(self) -> str | None:
        """The SQLSTATE of the error class, or None."""
        return state_of(self.error_class)

    def getErrorClass(self) -> str | None:  # noqa: N802  (PySpark's name)
        """The error class, under PySpark's name for it (`getCondition` from Spark 4.0 on)."""
        return self.error_class

    getCondition = getErrorClass  # noqa: N815  (PySpark's name)

    def getSqlState(self) -> str | None:  # noqa: N802  (PySpark's name)
        """The SQLSTATE, under PySpark's name for it."""
        return self.sql_state


def failed(
    key: str, /, *, at: Located | None = None, table: str | None = None, version: int | None = None, **facts: Any
) -> DeltaError:
    """Return the error of a row of the catalogue, to be raised.

    Args:
        key: the key of the row.
        at: what the error is about; gives it its table and version, instead of `table` and `version`.
        table: the table's path or URI.
        version: the version of the table.
        facts: the facts that the row names, and further ones; each is an attribute of the error, a list as a tuple. `file`,
            `error_class` and `next_step` are those of `DeltaError`, instead of what the row says.
    """
    row = catalogue.rows()[key]
    facts = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
    if at is not None:
        table, version = at.table_uri, at.version
    texts = {**facts, "table": None if table is None else redact_uri(table), "version": version}
    step = facts.pop("next_step", None)
    kind: type[DeltaError] = globals()[row.exception]
    return kind(
        catalogue.shown(row.message, texts),
        next_step=catalogue.shown(row.next_step, texts) if step is None else step,
        table=table,
        version=version,
        error_class=facts.pop("error_class", row.error_class),
        **facts,
    )


def reason(error: BaseException) -> str:
    """Return what an error says, for the message of another one: without the full stop, the place and the next step."""
    return (error.message if isinstance(error, DeltaError) else str(error) or type(error).__name__).rstrip(".")


class TableNotFoundError(DeltaError, FileNotFoundError):
    """The path does not hold a Delta table."""

    error_class = "DELTA_TABLE_NOT_FOUND"


class PathNotFoundError(TableNotFoundError):
    """There is nothing at all at the path. delta-spark lets Spark say so, and programs look for Spark's words."""

    error_class = "PATH_NOT_FOUND"


class TableExistsError(DeltaError, FileExistsError):
    """A table is already there, and the call asked for a new one."""

    error_class = "DELTA_PATH_EXISTS"


class CorruptLogError(DeltaError, ValueError):
    """The log holds something that no writer may write, or lacks something that it must hold."""

    error_class = "DELTA_STATE_RECOVER_ERROR"


class VersionGapError(CorruptLogError):
    """Commits are missing between two versions of the log that are there."""

    error_class = "DELTA_VERSIONS_NOT_CONTIGUOUS"


class ChecksumMismatchError(CorruptLogError):
    """The version checksum file and the replayed state disagree."""

    error_class = "DELTA_TXN_LOG_FAILED_INTEGRITY"


class DeletionVectorError(CorruptLogError):
    """A deletion vector cannot be read, or is not what its descriptor says."""

    error_class = "DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH"


class DataFileNotFoundError(DeltaError, FileNotFoundError):
    """A data file that the log names is not there."""

    error_class = "DELTA_FILE_NOT_FOUND_DETAILED"


class UnreadableDataFileError(DeltaError, OSError):
    """A data file that the log names is there, and cannot be read: it is damaged, or the store does not give it."""

    error_class = "FAILED_READ_FILE"


class UnsupportedFeatureError(DeltaError, NotImplementedError):
    """The table asks for something that bayou does not do; the features are in `features`."""

    error_class = "DELTA_UNSUPPORTED_FEATURES_FOR_READ"


class UnsupportedProtocolError(UnsupportedFeatureError):
    """The table's protocol version is above every known one."""

    error_class = "DELTA_INVALID_PROTOCOL_VERSION"


class TimeTravelError(DeltaError, ValueError):
    """The version or timestamp asked for cannot be read."""

    error_class = "DELTA_VERSION_NOT_FOUND"


class VersionNotFoundError(TimeTravelError):
    """The version does not exist, or the log that led to it is gone; `earliest` and `latest` give the range."""


class TimestampOutOfRangeError(TimeTravelError):
    """The timestamp lies before the first or after the last readable commit."""

    error_class = "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"


class InvalidTimestampError(TimeTravelError):
    """The string is not a timestamp."""

    error_class = "DELTA_TIMESTAMP_INVALID"


class InvalidOptionError(DeltaError, ValueError):
    """An option has a value that it cannot have, or is given together with one that excludes it."""

    error_class = "DELTA_ILLEGAL_OPTION"


class InvalidSchemaError(DeltaError, ValueError):
    """A schema cannot be a table's schema, or cannot be understood."""

    error_class = "DELTA_SCHEMA_NOT_SET"


class SqlSyntaxError(InvalidSchemaError):
    """The SQL of a column or a type is not valid."""

    error_class = "PARSE_SYNTAX_ERROR"


class SchemaMismatchError(DeltaError, ValueError):
    """The rows to write do not have the table's schema."""

    error_class = "DELTA_METADATA_MISMATCH"


class SchemaChangedError(DeltaError, RuntimeError):
    """The table's schema changed, incompatibly, after the DataFrame was made."""

    error_class = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"


class ConcurrentModificationError(DeltaError, RuntimeError):
    """Another writer committed something that this commit cannot go on top of. The subclasses say what.

    Attributes:
        conflicting_version: the version of that commit, or None if no single one is to blame.
        conflicting_operation: its operation.
        conflicting_timestamp: when it was committed, in ms since the epoch.
        conflicting_commit: its `commitInfo`.
        files: up to five of the files that both are about.
        num_files: how many there are.
        rows_only_moved: whether that commit changed no row, as OPTIMIZE does not. The operation can run again as it is. Not there
            where the conflict is not about files.
    """

    error_class = "DELTA_CONCURRENT_WRITE"


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


class ChangedSourceError(InvalidCommitError):
    """Files that a row change reads were replaced or deleted meanwhile, so that its passes may have read different rows."""


class TransactionStateError(DeltaError, RuntimeError):
    """The transaction is over: it was committed, it failed, or it was left."""


class AppendOnlyError(DeltaError, RuntimeError):
    """The table only takes appends, and the commit removes rows."""

    error_class = "DELTA_CANNOT_MODIFY_APPEND_ONLY"


class StorageError(DeltaError, OSError):
    """The store failed to do what it was asked."""


class SessionError(DeltaError, RuntimeError):
    """The Spark session cannot do what bayou needs; the text says what is missing."""


class UnknownSparkError(SessionError):
    """The running Spark has other internals than bayou knows; the text says which."""


class ArgumentTypeError(DeltaError, TypeError):
    """An argument has a type that the function cannot use; the text says what to pass.

    Attributes:
        given: what was passed, in words.
    """


class MissingPackageError(DeltaError, ModuleNotFoundError):
    """A package that the function needs is not installed; the text has the command that installs it.

    Attributes:
        package: the name of the package.
    """


class ConstraintViolationError(DeltaError, ValueError):
    """Rows break a rule of the table: NOT NULL, a CHECK constraint, a generation expression, or the length of a string.

    Attributes:
        constraint: the rule's name.
        expression: its SQL text, which is not true for the rows.
        rows: at most five of the rows, as dictionaries of the columns that the rule looks at.
        num_violations: how many rows break it, or None if they were not counted.
    """

    error_class = "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"


class CastOverflowError(DeltaError, ArithmeticError):
    """A new value in an UPDATE or a MERGE is one that the column's type cannot hold, or its computation failed within the cast.

    Attributes:
        column: the column, quoted.
        source_type: the type of the value, as SQL.
        target_type: the column's type, as SQL.
    """

    error_class = "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"


class MultipleMatchesError(DeltaError, ValueError):
    """Several rows of a MERGE's source would change the same row of the table.

    Attributes:
        keys: at most five of the rows' keys, as JSON of the columns that the condition looks at; none where it looks at none.
        num_keys: how many different keys there are.
        num_rows: how many rows of the table are meant; 0 where the source did not have them again when they were looked for.
    """

    error_class = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"


class StreamingSourceError(DeltaError, RuntimeError):
    """A stream that reads a table cannot go on: its checkpoint and the table do not fit, or it cannot follow a commit.

    Attributes:
        operation: the operation of the commit that stopped the stream, or None if no commit did.
        user: who made that commit, or None if it does not say.
    """

    error_class = "DELTA_INVALID_SOURCE_OFFSET_FORMAT"
