# SPDX-License-Identifier: Apache-2.0
"""Type widening: which types a column may change to without rewriting files, and how the schema records it.

Sources: PROTOCOL.md, "Type Widening"; delta-spark's `TypeWidening`, `TypeWideningMode` and `TypeWideningMetadata`.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from enum import Enum
from itertools import starmap
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import InvalidSchemaError
from bayou.protocol.features.features import writer_features
from bayou.protocol.types.char_varchar import parse_type_text
from bayou.protocol.types.partition_values import INTEGER_BITS, decimal_type, is_string_type
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import all_fields, map_fields, twins, with_parts, with_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.protocol.actions.actions import Protocol
    from bayou.protocol.types.schema import DataType, StructField

TYPE_CHANGES: Final = "delta.typeChanges"
"""The key of a field's metadata for the changes of its type."""

_ONE_DIGIT_NUMBER: Final = re.compile(r"decimal\((\d{1,3})\)", re.ASCII)
_VERSION: Final = "tableVersion"
_FEATURE: Final = "typeWidening"
_PREVIEW: Final = "typeWidening-preview"
_INT32_TYPES: Final = ("byte", "short", "integer")
_EXACT_DECIMALS: Final = {"byte": (10, 0), "short": (10, 0), "integer": (10, 0), "long": (20, 0)}
"""The smallest decimal for each integer type that Parquet readers support."""


class Widening(Enum):
    """Which changes of types schema evolution makes automatically. The values are delta-spark's, except for ICEBERG.

    Attributes:
        NEVER: none, as in tables that do not enable type widening.
        ICEBERG: those that Iceberg supports: integers, float to double, decimals of the same scale.
        SAME_FAMILY: integers, float to double, decimals, date to timestamp_ntz.
        ALWAYS: also integers to decimals, and byte, short and integer to double, as in ALTER TABLE.
    """

    NEVER = "never"
    ICEBERG = "iceberg"
    SAME_FAMILY = "same_family_type"
    ALWAYS = "always"


def is_widening(from_type: str, to_type: str, widening: Widening = Widening.ALWAYS) -> bool:
    """Whether a primitive type may be widened to another one; False if they are the same.

    Source: `TypeWidening.isTypeChangeSupported`; PROTOCOL.md, "Type Widening".
    """
    from_decimal, to_decimal = decimal_type(from_type), decimal_type(to_type)
    if widening is Widening.NEVER or from_type == to_type or (from_decimal and from_decimal == to_decimal):
        return False
    if to_decimal:
        return _widens_to_decimal(
            from_decimal or _EXACT_DECIMALS.get(from_type), to_decimal, widening, is_decimal=bool(from_decimal)
        )
    if from_type in INTEGER_BITS and to_type in INTEGER_BITS:
        return INTEGER_BITS[from_type] < INTEGER_BITS[to_type]
    if to_type == "double" and from_type in _INT32_TYPES:
        return widening is Widening.ALWAYS
    if (from_type, to_type) == ("date", "timestamp_ntz"):
        return widening is not Widening.ICEBERG
    return (from_type, to_type) == ("float", "double")


def record_type_changes(schema: StructType, previous: StructType) -> StructType:
    """Return the schema with each widened type recorded in the metadata of the nearest field.

    Source: PROTOCOL.md, "Type Change Metadata".
    """
    return with_parts(schema, starmap(_recorded, twins(schema, previous)))


def unsupported_changes(schema: StructType, protocol: Protocol) -> Iterator[tuple[str, str, str]]:
    """Yield the recorded type changes that bayou cannot apply to older files: dotted path, old type and new type.

    A table with such a change cannot be read. Source: delta-spark's `TypeWidening.assertTableReadable`.
    """
    if {_FEATURE, _PREVIEW} & writer_features(protocol):
        yield from _unsupported(schema)


def _name_in_log(text: str) -> str:
    """Return the log's name of a recorded type, which other writers may have recorded as SQL, such as `decimal(10)` or `INT`.

    The length of a char or varchar is dropped: the log has these as strings.
    """
    with contextlib.suppress(InvalidSchemaError):
        kind = parse_type_text(text.lower())
        text = kind if isinstance(kind, str) else text
    digits = decimal_type(_ONE_DIGIT_NUMBER.sub(r"decimal(\1,0)", text.replace(" ", "")))
    if digits is not None:
        return f"decimal({digits[0]},{digits[1]})"
    return "string" if is_string_type(text) else text


def _holds_all(integer: str, decimal: str) -> bool:
    """Whether a decimal type has all values of an integer type. Such a change can be read, though widening needs more digits."""
    bits, digits = INTEGER_BITS.get(integer), decimal_type(decimal)
    return bits is not None and digits is not None and 10 ** (digits[0] - digits[1]) > 1 << (bits - 1)


def _unsupported(schema: StructType) -> Iterator[tuple[str, str, str]]:
    for path, _, field in all_fields(schema):
        recorded = field.metadata.get(TYPE_CHANGES) or ()
        for each in recorded if isinstance(recorded, (list, tuple)) else (recorded,):
            change: dict[str, Any] = each if isinstance(each, dict) else {}
            old, new = _name_in_log(str(change.get("fromType"))), _name_in_log(str(change.get("toType")))
            is_supported = isinstance(each, dict) and (old == new or is_widening(old, new) or _holds_all(old, new))
            if not is_supported:
                inner = (str(change["fieldPath"]),) if change.get("fieldPath") else ()
                yield ".".join((*path, *inner)), old, new


def notes_versions(protocol: Protocol) -> bool:
    """Whether type changes are recorded with the table version, as clients of the preview feature need it.

    Source: the RFC of type widening; delta-spark's `TypeWideningMetadata.addTypeWideningMetadata`.
    """
    return _PREVIEW in writer_features(protocol)


def with_noted_version(schema: StructType, version: int) -> StructType:
    """Return the schema with a version in each recorded type change that does not state one."""
    return map_fields(schema, lambda field: _with_version(field, version))


def _with_version(field: StructField, version: int) -> StructField:
    changes = field.metadata.get(TYPE_CHANGES)
    if not isinstance(changes, list):
        return field
    dated = [{_VERSION: version, **change} if isinstance(change, dict) else change for change in changes]
    return replace(field, metadata={**field.metadata, TYPE_CHANGES: dated})


def without_type_changes(schema: StructType) -> StructType:
    """Return the schema without recorded type changes, for a table without files of older types.

    Source: PROTOCOL.md, "Writer Requirements for Type Widening".
    """
    return map_fields(schema, _without_changes)


def _without_changes(field: StructField) -> StructField:
    metadata = {key: value for key, value in field.metadata.items() if key != TYPE_CHANGES}
    return replace(field, metadata=metadata)


def _widens_to_decimal(
    digits: tuple[int, int] | None, to_decimal: tuple[int, int], widening: Widening, *, is_decimal: bool
) -> bool:
    """Whether a type with these digits may be widened to a decimal: neither side of the point loses digits, and the mode allows it.

    Args:
        digits: the precision and scale of the decimal, or of the smallest one for an integer type; None for other types.
        is_decimal: whether the old type is a decimal itself.
    """
    if digits is None or not (is_decimal or widening is Widening.ALWAYS):
        return False
    (precision, scale), (to_precision, to_scale) = digits, to_decimal
    if widening is Widening.ICEBERG and to_scale != scale:
        return False
    return to_scale >= scale and to_precision - to_scale >= precision - scale


def _recorded(field: StructField, previous: StructField | None) -> StructField:
    """Return a field with its type changes since `previous`, which is None for a new field.

    They are appended to those that the field's metadata already records. The fields of a struct record their own changes.
    """
    if previous is None:
        return field
    kind = with_parts(field.type, starmap(_recorded, twins(field.type, previous.type)))
    changes = list(_changes(field.type, previous.type, ()))
    if not changes:
        return with_type(field, kind)
    recorded = field.metadata.get(TYPE_CHANGES)
    earlier = recorded if isinstance(recorded, list) else []
    return replace(field, type=kind, metadata={**field.metadata, TYPE_CHANGES: [*earlier, *changes]})


def _changes(kind: DataType, previous: DataType, path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the changes of a field's type, also inside its arrays and maps. Stop at structs, whose fields record their own.

    Args:
        path: where the type is in the field, such as `element` or `value.key`; empty for the field's type itself.
    """
    if isinstance(kind, str) and isinstance(previous, str) and is_widening(previous, kind):
        yield {"fromType": previous, "toType": kind} | ({"fieldPath": ".".join(path)} if path else {})
    elif not isinstance(kind, StructType):
        for each, old in twins(kind, previous):
            if old is not None:
                yield from _changes(each.type, old.type, (*path, each.name))
