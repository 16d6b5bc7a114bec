# SPDX-License-Identifier: Apache-2.0
"""The settings of a session that change what a scan returns.

With `spark.sql.caseSensitive`, Spark's Parquet reader returns NULLs for a column that a file spells with other cases than the
table. Spark Connect has no way to change that for one scan. So a scan reads the footers in such a session, and fails if a file has
such a column. A DataFrame that was made before the setting changed has a condition that Spark then refuses to analyse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.actions import paths
from bayou.protocol.types.schema import ArrayType, MapType, StructType
from bayou.spark.portable.client import effective_settings
from bayou.spark.portable.scan.runs import case_changes
from bayou.spark.portable.scratch.scratch import SETTING
from bayou.spark.types.char_columns import AS_TEXT, PADS, pads_chars

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import Column, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType, StructField
    from bayou.spark.portable.scan.footers import FooterReader
    from bayou.spark.portable.scan.listed_files import ListedFiles

_IGNORES_LISTS: Final = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
_CASE: Final = "spark.sql.caseSensitive"
_REFUSED: Final = "spark.sql.caseSensitive is true now, and was false when this DataFrame was made: make it again ({number})"
_checked: Final[WeakKeyDictionary[Snapshot, np.ndarray[Any, Any]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """The settings of a session at one moment.

    Attributes:
        scratch: the folder for lists of files, or an empty string.
        ignores_lists: whether Spark ignores lists of files.
        is_case_sensitive: whether names of columns depend on case.
        case_changes: how often the client changed that.
        pads_chars: whether reads pad the values of CHAR columns.
    """

    scratch: str
    ignores_lists: bool
    is_case_sensitive: bool
    case_changes: int
    pads_chars: bool

    @classmethod
    def of(cls, spark: SparkSession) -> ScanSettings:
        """Return the settings, in one request."""
        changes = case_changes(spark)  # before the request, so that a later change is noticed
        found = effective_settings(spark, [SETTING, _IGNORES_LISTS, _CASE, PADS, AS_TEXT])
        ignores, case = ((found.get(name) or "").lower() == "true" for name in (_IGNORES_LISTS, _CASE))
        pads = pads_chars({name: value for name, value in found.items() if value is not None})
        return cls(found.get(SETTING) or "", ignores, case, changes, pads)

    def check_lists(self, snapshot: Snapshot) -> None:
        """Raise SessionError if Spark ignores lists of files."""
        if self.ignores_lists:
            raise failed("file-lists-ignored", at=snapshot, setting=_IGNORES_LISTS)

    def condition(self) -> Column:
        """Return a condition that is true, and that Spark analyses only while names of columns do not depend on case."""
        text = _REFUSED.format(number=self.case_changes)
        return F.lit(True) if self.is_case_sensitive else F.struct(F.lit(True).alias(text)).getField(text.swapcase())

    def check_names(
        self, files: ListedFiles, positions: pa.Array | None, fields: Sequence[StructField], footers: FooterReader
    ) -> None:
        """Raise SessionError if names depend on case, and a file has a column of the table with another case.

        Each file of a snapshot is looked at once.
        """
        if not self.is_case_sensitive:
            return
        chosen = np.arange(files.count) if positions is None else positions.to_numpy()
        done = (
            _checked.setdefault(files.snapshot, np.zeros(files.count, bool)) if files.table is None else np.zeros(files.count, bool)
        )
        chosen = chosen[~done[chosen]]
        facts = files.facts(["path", "size"]).take(pa.array(chosen))
        uris = [paths.to_uri(path, files.snapshot.table_uri) for path in facts["path"].to_pylist()]
        for uri, footer in zip(uris, footers(list(zip(uris, facts["size"].to_pylist(), strict=True))), strict=True):
            if isinstance(footer, FileNotFoundError):  # the scan itself reports the missing file
                continue
            if isinstance(footer, OSError):
                raise footer
            for wanted, found in _differences(fields, footer):
                raise failed("column-case-differs", at=files.snapshot, column=wanted, found=found, file=uri, setting=_CASE)
        done[chosen] = True


def _differences(fields: Sequence[StructField], footer: pq.FileMetaData) -> Iterator[tuple[str, str]]:
    """Return the columns that a file spells with other cases, each with the file's name for it."""
    return _in_struct(fields, footer.schema.to_arrow_schema())


def _in_struct(fields: Sequence[StructField], held: pa.Schema | pa.StructType) -> Iterator[tuple[str, str]]:
    found = {each.name: each for each in held}
    lower = {name.lower(): name for name in found}
    for field in fields:
        if field.name in found:
            yield from _in_type(field.type, found[field.name].type)
        elif field.name.lower() in lower:
            yield field.name, lower[field.name.lower()]


def _in_type(wanted: DataType, held: pa.DataType) -> Iterator[tuple[str, str]]:
    if isinstance(wanted, StructType) and pa.types.is_struct(held):
        yield from _in_struct(wanted.fields, held)
    elif isinstance(wanted, ArrayType) and pa.types.is_list(held):
        yield from _in_type(wanted.element_type, held.value_type)
    elif isinstance(wanted, MapType) and pa.types.is_map(held):
        yield from _in_type(wanted.key_type, held.key_type)
        yield from _in_type(wanted.value_type, held.item_type)
