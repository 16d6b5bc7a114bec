# SPDX-License-Identifier: Apache-2.0
"""How far a query has come, according to its checkpoint. The server reads it, which the client may not reach.

Source: Spark's `OffsetSeqLog`, `CommitLog` and `FileStreamSourceLog`.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.spark.portable.scratch.folders import literal
from bayou.spark.portable.streams.planned_batches import PlannedBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MISSING: Final = "PATH_NOT_FOUND"
_QUERY: Final = "metadata"
"""The file of a checkpoint with the id of the query."""
_BEFORE_OFFSETS: Final = 2
"""A file of offsets has a line with its format, one with settings, and one for each source."""
_NONE: Final = "-"
_OF_CLASSIC: Final = "reservoirId"


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch in a checkpoint.

    Attributes:
        batch: the batch.
        parent: the URI of the folder with its folder.
        time: when it was published, in ms since the epoch.
    """

    batch: PlannedBatch
    parent: str
    time: int


@dataclass(frozen=True, slots=True)
class Reached:
    """How far one source of a query has come.

    Attributes:
        last: the last batch that Spark has taken.
        pending: the batches that it has taken and not completed, which may include `last`.
        is_interrupted: whether Spark has taken the last batch, but has not planned it. It would combine it with the next one.
    """

    last: Entry
    pending: tuple[Entry, ...]
    is_interrupted: bool


def has_run(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a checkpoint is one of a query that was started before."""
    try:
        return bool(_texts(spark, f"{literal(checkpoint.rstrip('/'))}/{_QUERY}", whole=True).take(1))
    except AnalysisException as error:
        if _MISSING in str(error):
            return False
        raise


def reached(spark: SparkSession, checkpoint: str, index: int, table: str) -> Reached | None:
    """Return how far a source of a query has come; None if it has read nothing.

    Args:
        checkpoint: the query's checkpoint.
        index: the position of the source in the query.
        table: the table's URI, for errors.

    Raises:
        StreamingSourceError: the checkpoint is one of a classic session, or of another query.
    """
    folder = literal(checkpoint.rstrip("/"))
    offsets = _numbered(_texts(spark, f"{folder}/offsets", whole=True))
    if not offsets:
        completed = -1
        planned = -1
    else:
        done = _numbered(_texts(spark, f"{folder}/commits", whole=True))
        planned = _offset(offsets[max(offsets)], index, table, checkpoint)
        known = [number for number in offsets if number in done]
        completed = _offset(offsets[max(known)], index, table, checkpoint) if known else -1
    entries = _entries(spark, f"{folder}/sources/{index}", completed, table, checkpoint)
    if not entries:
        if planned >= 0:
            raise failed("DELTA_INVALID_SOURCE_OFFSET_FORMAT/no-batch", table=table, checkpoint=checkpoint, number=planned)
        return None
    last = entries[max(entries)]
    pending = tuple(entries[number] for number in sorted(entries) if number > completed)
    return Reached(last, pending, is_interrupted=last.batch.number > planned)


def _texts(spark: SparkSession, folder: str, *, whole: bool) -> DataFrame:
    # The server would answer an equal request with the files that it listed before.
    reader = spark.read.option("bayouRequest", secrets.token_hex(8))
    return reader.text(folder, wholetext=whole).select(F.col("_metadata.file_name").alias("name"), "value")


def _numbered(texts: DataFrame) -> dict[int, str]:
    """Return the content of each file of a log of Spark by the number that is its name."""
    try:
        rows = texts.collect()
    except AnalysisException as error:
        if _MISSING in str(error):
            return {}
        raise
    return {int(row["name"]): str(row["value"]) for row in rows if row["name"].isdigit()}


def _offset(text: str, index: int, table: str, checkpoint: str) -> int:
    """Return the number of the last batch that is part of some offsets; -1 if none is."""
    lines = text.splitlines()[_BEFORE_OFFSETS:]
    found = lines[index] if index < len(lines) else ""
    if found.strip() == _NONE:
        return -1
    document = _document(found)
    if _OF_CLASSIC in document:
        raise failed("DELTA_INVALID_SOURCE_OFFSET_FORMAT/of-classic", table=table, checkpoint=checkpoint)
    number = document.get("logOffset")
    if not isinstance(number, int):
        raise failed("DELTA_INVALID_SOURCE_OFFSET_FORMAT/of-another", table=table, checkpoint=checkpoint, position=index)
    return number


def _document(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _entries(spark: SparkSession, folder: str, completed: int, table: str, checkpoint: str) -> dict[int, Entry]:
    """Return the batches from the last completed one on, by number."""
    number = F.get_json_object("value", "$.batchId").cast("bigint")
    lines = _texts(spark, folder, whole=False).where(number >= F.lit(completed)).select("value").distinct()
    try:
        texts = [str(row["value"]) for row in lines.collect()]
    except AnalysisException as error:
        if _MISSING in str(error):
            return {}
        raise
    found = {}
    for document in map(_document, texts):
        parent, _, name = unquote(str(document.get("path"))).rpartition("/")
        batch = PlannedBatch.of(name)
        if batch is None or batch.number != document.get("batchId"):
            raise failed("DELTA_INVALID_SOURCE_OFFSET_FORMAT/of-another", table=table, checkpoint=checkpoint, position=folder)
        found[batch.number] = Entry(batch, parent, int(document.get("timestamp") or 0))
    return found
