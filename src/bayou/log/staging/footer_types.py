# SPDX-License-Identifier: Apache-2.0
"""The columns of a new data file compared with the table's, according to its Parquet footer.

Readers rely on the table's schema. A column of another Parquet type, or without the field id that the table gives it, reads as
other values or as NULL, and no later commit can repair that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from bayou.protocol.types.partition_values import INTEGER_BITS, is_string_type
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, UserDefinedType
from bayou.protocol.types.traverse import parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    import pyarrow.parquet as pq

    from bayou.protocol.types.schema import DataType

_FIELD_ID: Final = b"PARQUET:field_id"
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_INT32_DIGITS: Final = 9
_INT64_DIGITS: Final = 18
_INTEGERS: Final = ("INT32", "INT64")
_PLAIN: Final[Mapping[str, tuple[str, str]]] = {
    "byte": ("INT32", "Int(bitWidth=8, isSigned=true)"),
    "short": ("INT32", "Int(bitWidth=16, isSigned=true)"),
    "integer": ("INT32", "None"),
    "long": ("INT64", "None"),
    "float": ("FLOAT", "None"),
    "double": ("DOUBLE", "None"),
    "boolean": ("BOOLEAN", "None"),
    "binary": ("BYTE_ARRAY", "None"),
    "date": ("INT32", "Date"),
    "timestamp": ("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds)"),
    "timestamp_ntz": ("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds)"),
}
"""The physical and logical Parquet types of each type, as Arrow names them.

Columns of other types, such as those of newer Sparks, must be in the file and may be stored in any way.
"""


def differences(footer: pq.FileMetaData, fields: Sequence[StructField], *, with_ids: bool) -> Iterator[str]:
    """Yield how a file's columns, and with `with_ids` their field ids, differ from the table's, as one phrase per column."""
    columns = {(each := footer.schema.column(number)).path: each for number in range(footer.num_columns)}
    for name, path, kind in _leaves(StructType(tuple(fields))):
        if kind == "variant":
            absent = [part for part in ("metadata", "value") if f"{path}.{part}" not in columns]
            yield from (f"column {name} has no {part}" for part in absent)
        elif path not in columns:
            yield f"column {name} is missing, or has another layout"
        elif (wanted := _stored(kind)) is not None and (found := _found(columns[path])) != wanted:
            yield f"column {name} is {_shown(found)}, and {kind} is stored as {_shown(wanted)}"
    if with_ids:
        yield from _wrong_ids(footer.schema.to_arrow_schema(), fields, ())


def states_bounds(column: Any, kind: str) -> bool:
    """Return whether a footer's bounds for a column are values of a type, in the type's order.

    They are not if the type was widened in a way that changes the values (a decimal's digits), or if integers are unsigned.
    """
    wanted, (physical, logical) = _stored(kind), _found(column)
    found = physical, logical.replace("milliseconds", "microseconds")
    if wanted is None or found == wanted:
        return True
    return kind in INTEGER_BITS and found[0] in _INTEGERS and (found[1] == "None" or found[1].endswith("isSigned=true)"))


def _leaves(kind: DataType, name: tuple[str, ...] = (), path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, str]]:
    """Yield the columns of Parquet that hold a type: the logical name, the dotted path, and the primitive type."""
    if isinstance(kind, str):
        yield ".".join(name), ".".join(path), kind
    elif isinstance(kind, UserDefinedType):
        yield from _leaves(kind.stored, name, path)
    group = ("list",) if isinstance(kind, ArrayType) else ("key_value",) if isinstance(kind, MapType) else ()
    for each in parts(kind):
        yield from _leaves(each.type, (*name, each.name), (*path, *group, each.physical_name))


def _stored(kind: str) -> tuple[str, str] | None:
    """Return the physical and logical types that store a type; None if any may."""
    if is_string_type(kind):
        return "BYTE_ARRAY", "String"
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        return _PLAIN.get(kind)
    precision, scale = int(found[1]), int(found[2])
    physical = "INT32" if precision <= _INT32_DIGITS else "INT64" if precision <= _INT64_DIGITS else "FIXED_LEN_BYTE_ARRAY"
    return physical, f"Decimal(precision={precision}, scale={scale})"


def _found(column: Any) -> tuple[str, str]:
    logical = str(column.logical_type)
    if logical.startswith("Timestamp("):  # the rest describes the footer's spelling
        logical = f"{logical.partition(', is_from_converted_type')[0].rstrip(')')})"
    return str(column.physical_type), logical


def _shown(stored: tuple[str, str]) -> str:
    physical, logical = stored
    return physical if logical == "None" else f"{physical} {logical}"


def _wrong_ids(file: pa.Schema | pa.StructType, fields: Iterable[StructField], name: tuple[str, ...]) -> Iterator[str]:
    there = {file.field(place).name: file.field(place) for place in range(_width(file))}
    for each in fields:
        found, shown = there.get(each.physical_name), (*name, each.name)
        if found is None or each.field_id is None:
            continue
        number = (found.metadata or {}).get(_FIELD_ID)
        if number is None:
            yield f"column {'.'.join(shown)} has no field id, and the table gives it {each.field_id}"
        elif int(number) != each.field_id:
            yield f"column {'.'.join(shown)} has the field id {int(number)}, and the table gives it {each.field_id}"
        yield from _wrong_ids_in(found.type, each.type, shown)


def _wrong_ids_in(file: pa.DataType, kind: DataType, name: tuple[str, ...]) -> Iterator[str]:
    match kind:
        case StructType(fields):
            yield from _wrong_ids(file, fields, name)
        case ArrayType(element, _):
            yield from _wrong_ids_in(file.value_type, element, (*name, "element"))
        case MapType(key, value, _):
            yield from _wrong_ids_in(file.key_type, key, (*name, "key"))
            yield from _wrong_ids_in(file.item_type, value, (*name, "value"))
        case _:
            return


def _width(file: pa.Schema | pa.StructType) -> int:
    count = getattr(file, "num_fields", None)
    return len(file) if count is None else int(count)
