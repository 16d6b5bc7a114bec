# SPDX-License-Identifier: Apache-2.0
"""The list of a scan's files in the format of Spark's file sink, with the numbers of the files as their modification times.

Spark reads the list from `_spark_metadata/0` of a folder instead of listing the folder. A file has no other property that a client
can choose and that Spark knows when it plans. The numbers of a list begin at a random time, so that a number of any other list,
and the time of a file that Spark lists itself, is recognised as foreign.

Source: Spark's `FileStreamSinkLog`, `SinkFileStatus` and `MetadataLogFileIndex`.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.log.actions.keys import hadoop_uris

if TYPE_CHECKING:
    from pyspark.sql import Column
    from typing_extensions import Self

    from bayou.spark.portable.scan.listed_files import ListedFiles

LIST: Final = "_spark_metadata/0"
"""The path of the list inside its folder."""
_VERSION: Final = b"v1\n"
_TIME_BITS: Final = 43
"""Times below 2**43 ms, in the year 2248, fit the timestamps of Python and pandas, which may show them."""
_CONSTANT: Final = f',"blockReplication":1,"blockSize":{1 << 27},"action":"add"}}'


@dataclass(frozen=True, slots=True)
class Numbers:
    """The modification times of a list: `first` is file 0, and each further file adds 1 ms.

    Attributes:
        first: a time in ms since the epoch.
        count: the number of files.
    """

    first: int
    count: int

    @classmethod
    def of(cls, count: int) -> Self:
        """Return the numbers of a new list, at a random time."""
        bits = max(count.bit_length(), 10)
        return cls((1 + secrets.randbelow((1 << (_TIME_BITS - bits)) - 1)) << bits, count)

    def number(self, metadata: str, foreign: str) -> Column:
        """Return the number of a row's file, as an int that is never NULL and that Spark knows when it plans.

        The query fails if the row's file is not in the list. This does not depend on `spark.sql.ansi.enabled`.

        Args:
            metadata: the name of Spark's column of file metadata.
            foreign: the message of that failure.
        """
        number = F.unix_millis(F.col(f"{metadata}.file_modification_time")) - F.lit(self.first)
        known = number.between(F.lit(0), F.lit(self.count - 1))
        return F.when(known, number.cast("int")).otherwise(F.raise_error(F.lit(foreign)))


def line(uri: str, size: int, time: int) -> str:
    """Return the line of one file.

    Args:
        uri: the file, percent-encoded.
        size: its size in bytes.
        time: its modification time, in ms since the epoch.
    """
    path = json.dumps(uri, ensure_ascii=False)
    return f'{{"path":{path},"size":{size},"isDir":false,"modificationTime":{time}{_CONSTANT}'


def encoded_list(listed: ListedFiles, positions: pa.Array | None, numbers: Numbers) -> bytes:
    """Return the list of some files.

    Args:
        positions: which files, by their positions; None for all.
    """
    files = listed.facts(["path", "size"])
    if positions is not None:
        files = files.take(positions)
    if not files.num_rows:
        return _VERSION.rstrip()
    uris = hadoop_uris(files["path"], listed.snapshot.table_uri)
    uris = uris.combine_chunks() if isinstance(uris, pa.ChunkedArray) else uris
    escaped = pc.replace_substring(pc.replace_substring(uris, "\\", "\\\\"), '"', '\\"')
    times = pa.array(range(numbers.first, numbers.first + files.num_rows), pa.int64())
    lines = pc.binary_join_element_wise(
        '{"path":"',
        escaped,
        '","size":',
        files["size"].combine_chunks().cast(pa.string()),
        ',"isDir":false,"modificationTime":',
        times.cast(pa.string()),
        _CONSTANT,
        "",
    )
    return _VERSION + "\n".join(lines.to_pylist()).encode()
