# SPDX-License-Identifier: Apache-2.0
"""Partition values of new files: the job that writes them computes the text that the log holds, and the folder carries it home.

A folder written from the values themselves could not be read back: NULL and "" share one, a text may look like the folder of
NULL, and a timestamp in the session's zone is ambiguous once a year. So the job writes folders from texts that are
unambiguous: the serialised partition value, UTC for timestamps, and a mark on texts that begin like the folder of NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from bayou.protocol.partition_values import NULL_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = "_"
_DAY = 86_400_000_000


def folder_text(column: str, kind: str) -> str:
    """A SQL expression for the text of a partition value in its folder.

    Args:
        column: the column, quoted.
        kind: its type, as in the schema's JSON.
    """
    text = _utc_text(column) if kind == "timestamp" else f"cast({column} as string)"
    if kind not in ("string", "binary"):
        return text
    return f"if(startswith({text}, '{NULL_FOLDER}'), concat({text}, '{_MARK}'), {text})"


def _utc_text(column: str) -> str:
    """`yyyy-MM-ddTHH:mm:ss.SSSSSSZ`, by arithmetic, because Spark formats in the session's zone."""
    micros = f"unix_micros({column})"
    of_day = f"pmod({micros}, {_DAY})"
    day = f"cast(date_from_unix_date(cast(({micros} - {of_day}) div {_DAY} as int)) as string)"

    def digits(divisor: int, modulus: int, width: int) -> str:
        return f"lpad(cast({of_day} div {divisor} % {modulus} as string), {width}, '0')"

    clock = (digits(3_600_000_000, 24, 2), digits(60_000_000, 60, 2), digits(1_000_000, 60, 2))
    return f"concat({day}, 'T', {clock[0]}, ':', {clock[1]}, ':', {clock[2]}, '.', {digits(1, 1_000_000, 6)}, 'Z')"


def values_of(folders: str, columns: Sequence[str]) -> dict[str, str | None]:
    """The partition values of a file from the folders that the job wrote for it.

    Args:
        folders: the file's folders under the table's root, decoded from the URI: `a=1/b=x%2Fy`; others may be before them.
        columns: the partition columns, in the order of the folders.
    """
    parts = folders.split("/")[-len(columns) :] if columns else []
    texts = [unquote(part.partition("=")[2]) for part in parts]
    return {column: value_of(text) for column, text in zip(columns, texts, strict=True)}


def value_of(text: str) -> str | None:
    """The partition value that a folder's text stands for."""
    if text == NULL_FOLDER:
        return None
    return text.removesuffix(_MARK) if text.startswith(NULL_FOLDER) else text
