# SPDX-License-Identifier: Apache-2.0
"""Partition values of new files: the job that writes them computes the text that the log holds, and the folder carries it home.

A folder written from the values themselves could not be read back: NULL and "" share one, a text may look like the folder of
NULL, and a timestamp in the session's zone is ambiguous once a year. So the job writes folders from texts that are
unambiguous: the serialised partition value, UTC for timestamps, and a mark on texts that begin like the folder of NULL.

The log holds text. A value whose bytes are not UTF-8 has none, and no folder can have NUL in its name. Such a value fails the job
before its file is opened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import SchemaMismatchError
from bayou.protocol.types.partition_values import NULL_FOLDER, is_string_type

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = "_"
_DAY = 86_400_000_000
_NO_TEXT: Final = "bayou.partition-value"
_REFUSED: Final = re.compile(rf"{_NO_TEXT} ([0-9A-F]*) ([0-9A-F]*)")
_SHOWN_BYTES: Final = 32


def folder_text(column: str, kind: str, name: str) -> str:
    """A SQL expression for the text of a partition value in its folder; it fails for a value that has none.

    Args:
        kind: its type, as in the schema's JSON.
    """
    text = _utc_text(column) if kind == "timestamp" else f"cast({column} as string)"
    if not (is_string_type(kind) or kind == "binary"):
        return text
    # A cast that validates gives NULL for what has no text.
    has_text = f"coalesce({_is_utf8(text)} and not contains({text}, char(0)), false)"
    shown = f"hex(substring(cast({column} as binary), 1, {_SHOWN_BYTES}))"
    failure = f"raise_error(concat('{_NO_TEXT} {name.encode().hex().upper()} ', {shown}))"
    marked = f"if(startswith({text}, '{NULL_FOLDER}'), concat({text}, '{_MARK}'), {text})"
    return f"if({column} is null, null, if({has_text}, {marked}, {failure}))"


def _is_utf8(text: str) -> str:
    """Whether the bytes of a text are UTF-8. Older Sparks have no function for it, and decode other bytes into other ones."""
    if hasattr(F, "is_valid_utf8"):
        return f"is_valid_utf8({text})"
    return f"cast(decode(cast({text} as binary), 'UTF-8') as binary) = cast({text} as binary)"


def refused_value(message: str, *, table: str, version: int | None) -> SchemaMismatchError | None:
    """The error of a value that has no text, from what the job said that met it; None if it failed for another reason."""
    found = _REFUSED.search(message)
    if found is None:
        return None
    name, value = bytes.fromhex(found[1]).decode(), bytes.fromhex(found[2])
    shown = f"X'{value.hex().upper()}'{' (cut)' if len(value) == _SHOWN_BYTES else ''}"
    why = "it contains NUL, which the name of no folder can have" if b"\0" in value else "its bytes are not UTF-8"
    return SchemaMismatchError(
        f"The value {shown} of the partition column {name!r} cannot be a partition value: {why}, and the log holds partition "
        "values as text.",
        table=table,
        version=version,
        next_step="partition by another column, or by the value in hexadecimal: hex(column).",
        column=name,
        value=value,
    )


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
