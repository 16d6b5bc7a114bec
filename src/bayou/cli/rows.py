# SPDX-License-Identifier: Apache-2.0
"""The first rows of a table, and the filters of a command line."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa

from bayou.protocol.actions import exact_json
from bayou.protocol.types import partition_values
from bayou.protocol.types.partition_values import INTEGER_BITS
from bayou.protocol.types.traverse import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType

_FILTER: Final = re.compile(
    r"\s*(.+?)\s*(<=|>=|!=|==|=|<|>|\bis\s+null\b|\bis\s+not\s+null\b)\s*(.*?)\s*", re.IGNORECASE | re.DOTALL
)
_PARSED: Final = frozenset({*INTEGER_BITS, "float", "double", "boolean", "binary"})
_BATCH_ROWS: Final = 1024
_QUOTES: Final = "'\""


def filters(texts: Sequence[str], schema: StructType) -> list[tuple[Any, ...]] | None:
    """Return the filters of a command line, or None without any.

    Raises:
        click.BadParameter: a filter has another form, or its value has another type than the column.
    """
    if not texts:
        return None
    types = {".".join(logical).lower(): field.type for logical, _, field in leaves(schema)}
    return [_filter(text, types) for text in texts]


def first_rows(
    snapshot: Snapshot, columns: Sequence[str] | None, where: Any, limit: int
) -> tuple[list[str], list[bool], Iterator[list[Any]]]:
    """Return the names of the columns, whether each is a number, and the first rows as values that have a JSON form."""
    reader = snapshot.to_batches(columns, where, batch_size=_BATCH_ROWS)
    schema = reader.schema
    is_number = [pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in schema.types]
    rows = itertools.islice(itertools.chain.from_iterable(map(_rows, reader)), limit)
    return schema.names, is_number, rows


def cell(value: Any) -> Any:
    """Return a value as a cell of a table: nested values and booleans as JSON, NULL as nothing."""
    return exact_json.dumps(value) if isinstance(value, dict | list | bool) else value


def _rows(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    columns = [[_plain(each, column.type) for each in column.cast(_textual(column.type)).to_pylist()] for column in batch.columns]
    return map(list, zip(*columns, strict=True))


def _textual(kind: pa.DataType) -> pa.DataType:
    """Return the type with strings for dates and timestamps, since Python has none after the year 9999."""
    types = pa.types
    if types.is_temporal(kind):
        return pa.string()
    if types.is_list(kind):
        return pa.list_(_textual(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([each.with_type(_textual(each.type)) for each in kind])
    return pa.map_(_textual(kind.key_type), _textual(kind.item_type)) if types.is_map(kind) else kind


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Return a value of `to_pylist` in a form that JSON has: decimals with their digits, and maps as objects."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        return exact_json.Number(format(value, "f"))
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if pa.types.is_map(kind):
        return {str(_plain(key, kind.key_type)): _plain(each, kind.item_type) for key, each in value}
    if pa.types.is_list(kind):
        return [_plain(each, kind.value_type) for each in value]
    return {each.name: _plain(value[each.name], each.type) for each in kind} if pa.types.is_struct(kind) else value


def _filter(text: str, types: dict[str, Any]) -> tuple[Any, ...]:
    found = _FILTER.fullmatch(text)
    if found is None:
        message = f"{text!r} is not COLUMN OPERATOR VALUE, such as 'day >= 2026-01-01' or 'day is null'"
        raise click.BadParameter(message, param_hint="--where")
    name, operator, value = found[1], found[2], found[3]
    if "null" in operator.lower():
        return (name, operator)
    if len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES:
        value = value[1:-1]
    kind = types.get(name.lower())
    if kind not in _PARSED:
        return (name, operator, value)
    parsed = partition_values.parse(value, kind)
    if parsed is None:
        message = f"{value!r} is not a value of type {kind}, which the column {name!r} has"
        raise click.BadParameter(message, param_hint="--where")
    return (name, operator, parsed)
