# SPDX-License-Identifier: Apache-2.0
"""Define the settings of Spark that bayou pins for its own jobs, by the kind of job.

A session's settings may change what Spark returns. They never change what bayou writes, copies or reads from the log. Each
setting is pinned for one job: in a copy of the session, in the properties of the job's thread, or as an option of one relation.
The user's session keeps its value. docs/settings.md shows `table()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from bayou.spark.backend import SHREDS_VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Job(Enum):
    """A kind of job, with its name in docs/settings.md."""

    WRITE = "write data files"
    READ = "read a table"
    REWRITE = "read rows that are rewritten, or that a check depends on"
    COMPACT = "read files that are compacted"
    FIELD_IDS = "read a table with column mapping `id`"
    LOG = "read checkpoints in Spark jobs"
    PLANNING = "cast partition values"
    OWN_SQL = "parse SQL of bayou, and expressions stored in a table"


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned setting.

    Attributes:
        name: the setting, or the option of a relation.
        value: its value; None for the default of the running Spark.
        why: what goes wrong without it, for docs/settings.md.
        types: the types of columns that it is about; none for all.
    """

    name: str
    value: str | None
    why: str
    types: frozenset[str] = frozenset()


_MICROSECONDS: Final = "INT96 has no statistics, milliseconds lose digits"
_MISSING: Final = "a missing file is an error that names the file; its rows would be lost"
_CORRUPT: Final = "a damaged file is an error that names the file; its rows would be lost"
_OLD_DATES: Final = "dates before 1582 are read and written as they are"
_WHOLE_VALUES: Final = "values are read as the table's types"
_PLAIN_TYPES: Final = "type names and literals mean what they mean in a default session"
_PLAIN_TEXT: Final = "texts and names are read as they were written"
_SHREDDED: Final = "only tables with `delta.enableVariantShredding` have shredded variants"
_ONE_FILE: Final = "each file is read whole, and in the order that the plan has"
_STATISTICS: Final = "the log's statistics come from the footers"

PINS: Final[Mapping[Job, tuple[Pin, ...]]] = {
    Job.WRITE: (
        Pin("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS", _MICROSECONDS, frozenset({"timestamp", "variant"})),
        Pin("spark.sql.parquet.fieldId.write.enabled", "true", "readers of column mapping `id` find columns by field ids"),
        Pin("spark.sql.parquet.writeLegacyFormat", "false", "decimals, arrays and maps have the layout that readers expect"),
        Pin("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED", _OLD_DATES),
        Pin("spark.sql.parquet.int96RebaseModeInWrite", "CORRECTED", _OLD_DATES),
        Pin("spark.sql.parquet.variant.annotateLogicalType.enabled", "true", "variants are annotated in every file"),
        Pin("spark.sql.legacy.parquet.nanosAsLong", "false", _WHOLE_VALUES),
        Pin("spark.sql.variant.writeShredding.enabled", "true", "`delta.enableVariantShredding` decides"),
        Pin("spark.sql.variant.forceShreddingSchemaForTest", "", _SHREDDED),
    ),
    Job.READ: (Pin("spark.sql.caseSensitive", "false", "names of columns never depend on case"),),
    Job.REWRITE: (
        Pin("spark.sql.caseSensitive", "false", "names of columns never depend on case"),
        Pin("spark.sql.parquet.binaryAsString", "false", _WHOLE_VALUES),
        Pin("spark.sql.parquet.int96AsTimestamp", "true", _WHOLE_VALUES),
        Pin("spark.sql.parquet.int96TimestampConversion", "false", "instants are copied as they are"),
        Pin("spark.sql.parquet.inferTimestampNTZ.enabled", "true", _WHOLE_VALUES),
        Pin("spark.sql.legacy.parquet.nanosAsLong", "false", _WHOLE_VALUES),
        Pin("spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing", "false", "a struct without values stays a struct"),
        Pin("spark.sql.parquet.reader.respectUnknownTypeAnnotation.enabled", "false", _WHOLE_VALUES),
        Pin("spark.sql.parquet.ignoreVariantAnnotation", "false", _WHOLE_VALUES),
        Pin("spark.sql.variant.allowReadingShredded", "true", _WHOLE_VALUES),
    ),
    Job.COMPACT: (
        Pin("spark.sql.files.maxPartitionBytes", str(1 << 50), _ONE_FILE),
        Pin("spark.sql.files.openCostInBytes", str(1 << 50), _ONE_FILE),
        Pin("spark.sql.files.maxPartitionNum", str((1 << 31) - 1), _ONE_FILE),
        Pin("spark.sql.files.minPartitionNum", "1", _ONE_FILE),
    ),
    Job.LOG: (
        Pin("spark.sql.session.timeZone", "UTC", "the zone of the timestamps among the statistics"),
        Pin("spark.sql.execution.arrow.maxRecordsPerBatch", "20000", "the size of a batch in a Python worker"),
        Pin("spark.sql.adaptive.enabled", "false", "one job for each checkpoint"),
        Pin("spark.sql.caseSensitive", "true", "names in the log depend on case"),
        Pin("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED", _OLD_DATES),
        Pin("spark.sql.parquet.int96RebaseModeInRead", "CORRECTED", _OLD_DATES),
        Pin(
            "spark.sql.files.ignoreMissingFiles",
            "false",
            "a missing part of a checkpoint is an error; files of the table would be lost",
        ),
        Pin(
            "spark.sql.files.ignoreCorruptFiles",
            "false",
            "a damaged part of a checkpoint is an error; files of the table would be lost",
        ),
    ),
    Job.PLANNING: (Pin("spark.sql.ansi.enabled", "false", "a value that cannot be cast is NULL"),),
    Job.OWN_SQL: (
        Pin("spark.sql.timestampType", None, _PLAIN_TYPES),
        Pin("spark.sql.legacy.interval.enabled", None, _PLAIN_TYPES),
        Pin("spark.sql.legacy.exponentLiteralAsDecimal.enabled", None, _PLAIN_TYPES),
        Pin("spark.sql.legacy.charVarcharAsString", None, _PLAIN_TYPES),
        Pin("spark.sql.parser.quotedRegexColumnNames", None, "a name in backquotes is a name"),
        Pin("spark.sql.parser.escapedStringLiterals", None, _PLAIN_TEXT),
        Pin("spark.sql.legacy.consecutiveStringLiterals.enabled", None, _PLAIN_TEXT),
        Pin("spark.sql.ansi.doubleQuotedIdentifiers", None, _PLAIN_TEXT),
        Pin("spark.sql.ansi.enforceReservedKeywords", None, _PLAIN_TEXT),
        Pin("spark.sql.parser.singleCharacterPipeOperator.enabled", None, _PLAIN_TEXT),
        Pin("spark.sql.legacy.bangEqualsNot", None, _PLAIN_TEXT),
        Pin("spark.sql.legacy.duplicateBetweenInput", None, _PLAIN_TEXT),
        Pin("spark.sql.allowNamedFunctionArguments", None, _PLAIN_TEXT),
    ),
}
"""The settings of each kind of job."""

OPTIONS: Final[Mapping[Job, tuple[Pin, ...]]] = {
    Job.READ: (
        Pin("datetimeRebaseMode", "CORRECTED", _OLD_DATES),
        Pin("int96RebaseMode", "CORRECTED", _OLD_DATES),
    ),
    Job.REWRITE: (
        Pin("ignoreMissingFiles", "false", _MISSING),
        Pin("ignoreCorruptFiles", "false", _CORRUPT),
    ),
    Job.FIELD_IDS: (
        Pin("spark.sql.parquet.fieldId.read.enabled", "true", "columns are found by field ids"),
        Pin(
            "spark.sql.parquet.fieldId.read.ignoreMissing",
            "true",
            "other engines write files without field ids for columns that they lack",
        ),
    ),
}
"""Options of the relations that these jobs read."""

UNSET_IN_HADOOP: Final = (
    Pin("parquet.column.statistics.enabled", None, _STATISTICS),
    Pin("parquet.statistics.truncate.length", None, _STATISTICS),
)
"""Keys of Hadoop's configuration that jobs that write data files unset, also with `#` and a column after them."""

SQL_PREFIX: Final = "spark.sql."
"""The prefix of the settings that a session for `Job.PLANNING` or `Job.LOG` resets."""


def values(job: Job, types: Iterable[str] | None = None) -> dict[str, str]:
    """Return the settings of a kind of job that have a value.

    Args:
        types: the types of all columns, those inside others included; None if they are not known.
    """
    given = None if types is None else frozenset(types)
    needed = (pin for pin in PINS[job] if given is None or not pin.types or pin.types & given)
    return {pin.name: pin.value for pin in needed if pin.value is not None}


def defaults(job: Job) -> list[str]:
    """Return the settings of a kind of job that have Spark's default."""
    return [pin.name for pin in PINS[job] if pin.value is None]


def with_options(given: Mapping[str, str], *jobs: Job) -> dict[str, str]:
    """Return options of a relation with those of some kinds of jobs, which take precedence in any case."""
    fixed = {pin.name: pin.value for job in jobs for pin in OPTIONS[job] if pin.value is not None}
    return {**_without(given, fixed), **fixed}


def for_writer(given: Mapping[str, str]) -> dict[str, str]:
    """Return options of a write without those that would change what `Job.WRITE` pins."""
    left = _without(given, [pin.name for pin in PINS[Job.WRITE]])
    return {name: value for name, value in left.items() if not is_unset_in_hadoop(name)}


def is_unset_in_hadoop(name: str) -> bool:
    """Whether a key of Hadoop's configuration is in `UNSET_IN_HADOOP`, for all columns or for one."""
    return name.partition("#")[0].lower() in {pin.name for pin in UNSET_IN_HADOOP}


def table() -> str:
    """Return the Markdown table of docs/settings.md."""
    lines = ["| Job | Setting | Value | Why |", "|---|---|---|---|"]
    for job in Job:
        lines += [_row(job, pin, pin.name) for pin in PINS.get(job, ())]
        lines += [_row(job, pin, f"option {pin.name}") for pin in OPTIONS.get(job, ())]
        if job is Job.WRITE:
            lines.append(f"| {job.value} | `{SHREDS_VARIANTS}` | the table's `delta.enableVariantShredding` | {_SHREDDED} |")
            lines += [_row(job, pin, pin.name) for pin in UNSET_IN_HADOOP]
    return "\n".join(lines)


def _row(job: Job, pin: Pin, shown: str) -> str:
    kind, _, name = shown.rpartition(" ")
    value = "Spark's default" if pin.value is None else f"`{pin.value}`" if pin.value else "empty"
    return f"| {job.value} | {f'{kind} ' if kind else ''}`{name}` | {value} | {pin.why} |"


def _without(given: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    lower = {name.lower() for name in names}
    return {name: value for name, value in given.items() if name.lower() not in lower}
