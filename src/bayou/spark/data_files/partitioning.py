# SPDX-License-Identifier: Apache-2.0
"""Partition values of new files: the job serialises them into the names of folders, from which they are read back.

Spark's own folder names are ambiguous: NULL and "" share one, a string may look like the folder of NULL, and a timestamp in the
session's zone is ambiguous once a year. So the job names folders by the serialised partition value, with timestamps in UTC and a
mark on strings that begin like the folder of NULL.

The log stores partition values as strings. A value that is not valid UTF-8 has none, and the name of a folder cannot contain NUL.
Such a value fails the job before its file is opened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.types.partition_values import NULL_FOLDER, is_string_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.errors import DeltaError

_MARK = "_"
_DAY = 86_400_000_000
_NO_TEXT: Final = "bayou.partition-value"
_REFUSED: Final = re.compile(rf"{_NO_TEXT} ([0-9A-F]*) ([0-9A-F]*)")
_SHOWN_BYTES: Final = 32


def folder_text(column: str, kind: str, name: str) -> str:
    """Return SQL for the name of a partition value's folder. It fails for a value that cannot be serialised.

    Args:
        kind: the type of the value, as in the schema's JSON.
    """
    text = _utc_text(column) if kind == "timestamp" else f"cast({column} as string)"
    if not (is_string_type(kind) or kind == "binary"):
        return text
    # A cast that validates returns NULL for other bytes.
    has_text = f"coalesce({_is_utf8(text)} and not contains({text}, char(0)), false)"
    shown = f"hex(substring(cast({column} as binary), 1, {_SHOWN_BYTES}))"
    failure = f"raise_error(concat('{_NO_TEXT} {name.encode().hex().upper()} ', {shown}))"
    marked = f"if(startswith({text}, '{NULL_FOLDER}'), concat({text}, '{_MARK}'), {text})"
    return f"if({column} is null, null, if({has_text}, {marked}, {failure}))"


def _is_utf8(text: str) -> str:
    """Return SQL that checks whether the bytes of a string are UTF-8. Older versions of Spark have no function for it."""
    if hasattr(F, "is_valid_utf8"):
        return f"is_valid_utf8({text})"
    return f"cast(decode(cast({text} as binary), 'UTF-8') as binary) = cast({text} as binary)"


def refused_value(message: str, *, table: str, version: int | None) -> DeltaError | None:
    """Return the error of a value that cannot be serialised, from the job's message; None if the job failed for another reason."""
    match = _REFUSED.search(message)
    if match is None:
        return None
    name, value = bytes.fromhex(match[1]).decode(), bytes.fromhex(match[2])
    shown = f"X'{value.hex().upper()}'{' (cut)' if len(value) == _SHOWN_BYTES else ''}"
    why = "it contains NUL, which the name of no folder can have" if b"\0" in value else "its bytes are not UTF-8"
    return failed(
        "partition-value-not-serialisable", table=table, version=version, shown=shown, column=name, reason=why, value=value
    )


def _utc_text(column: str) -> str:
    """Return SQL for `yyyy-MM-ddTHH:mm:ss.SSSSSSZ`, by arithmetic, since Spark formats in the session's zone."""
    micros = f"unix_micros({column})"
    of_day = f"pmod({micros}, {_DAY})"
    day = f"cast(date_from_unix_date(cast(({micros} - {of_day}) div {_DAY} as int)) as string)"

    def digits(divisor: int, modulus: int, width: int) -> str:
        return f"lpad(cast({of_day} div {divisor} % {modulus} as string), {width}, '0')"

    clock = (digits(3_600_000_000, 24, 2), digits(60_000_000, 60, 2), digits(1_000_000, 60, 2))
    return f"concat({day}, 'T', {clock[0]}, ':', {clock[1]}, ':', {clock[2]}, '.', {digits(1, 1_000_000, 6)}, 'Z')"


def values_of(folders: str, columns: Sequence[str]) -> dict[str, str | None]:
    """Return the partition values of a file from its folders.

    Args:
        folders: the file's folders under the table's root, decoded from the URI: `a=1/b=x%2Fy`. Other folders may precede them.
        columns: the partition columns, in the order of the folders.
    """
    parts = folders.split("/")[-len(columns) :] if columns else []
    texts = [unquote(part.partition("=")[2]) for part in parts]
    return {column: value_of(text) for column, text in zip(columns, texts, strict=True)}


def value_of(text: str) -> str | None:
    """Return the partition value of a folder's name."""
    if text == NULL_FOLDER:
        return None
    return text.removesuffix(_MARK) if text.startswith(NULL_FOLDER) else text
