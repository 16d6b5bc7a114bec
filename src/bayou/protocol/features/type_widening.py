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
    """Yield the recorded changes of types that type widening does not support: dotted path, old type and new type.

    Older files cannot be read then. Source: delta-spark's `TypeWidening.assertTableReadable`.
    """
    if {_FEATURE, _PREVIEW} & writer_features(protocol):
        yield from _unsupported(schema)


def _plain(text: str) -> str:
    """Return the name of a type in the log, without lengths of strings. The recorded type may be SQL's."""
    with contextlib.suppress(InvalidSchemaError):
        kind = parse_type_text(text.lower())
        text = kind if isinstance(kind, str) else text
    digits = decimal_type(_ONE_DIGIT_NUMBER.sub(r"decimal(\1,0)", text.replace(" ", "")))
    if digits is not None:
        return f"decimal({digits[0]},{digits[1]})"
    return "string" if is_string_type(text) else text


def _holds_all(integer: str, decimal: str) -> bool:
    """Whether a decimal, smaller than type widening requires, still has all values of an integer type, so that reads work."""
    bits, digits = INTEGER_BITS.get(integer), decimal_type(decimal)
    return bits is not None and digits is not None and 10 ** (digits[0] - digits[1]) > 1 << (bits - 1)


def _unsupported(schema: StructType) -> Iterator[tuple[str, str, str]]:
    for path, _, field in all_fields(schema):
        notes = field.metadata.get(TYPE_CHANGES) or ()
        for note in notes if isinstance(notes, (list, tuple)) else (notes,):
            known: dict[str, Any] = note if isinstance(note, dict) else {}
            old, new = _plain(str(known.get("fromType"))), _plain(str(known.get("toType")))
            is_known = isinstance(note, dict) and (old == new or is_widening(old, new) or _holds_all(old, new))
            if not is_known:
                inner = (str(known["fieldPath"]),) if known.get("fieldPath") else ()
                yield ".".join((*path, *inner)), old, new


def notes_versions(protocol: Protocol) -> bool:
    """Whether changes of types are recorded with the version, as clients of the feature's preview need it.

    Source: the RFC of type widening; delta-spark's `TypeWideningMetadata.addTypeWideningMetadata`.
    """
    return _PREVIEW in writer_features(protocol)


def with_noted_version(schema: StructType, version: int) -> StructType:
    """Return the schema with the version in each recorded change of a type that has none."""
    return map_fields(schema, lambda field: _noted(field, version))


def _noted(field: StructField, version: int) -> StructField:
    notes = field.metadata.get(TYPE_CHANGES)
    if not isinstance(notes, list):
        return field
    noted = [{_VERSION: version, **note} if isinstance(note, dict) else note for note in notes]
    return replace(field, metadata={**field.metadata, TYPE_CHANGES: noted})


def without_type_changes(schema: StructType) -> StructType:
    """Return the schema without recorded changes of types, for a table that has no files with older types.

    Source: PROTOCOL.md, "Writer Requirements for Type Widening".
    """
    return map_fields(schema, _unrecorded)


def _unrecorded(field: StructField) -> StructField:
    metadata = {key: value for key, value in field.metadata.items() if key != TYPE_CHANGES}
    return replace(field, metadata=metadata)


def _widens_to_decimal(
    digits: tuple[int, int] | None, to_decimal: tuple[int, int], widening: Widening, *, is_decimal: bool
) -> bool:
    """Whether the digits before and after the point do not become fewer, and the mode allows the change."""
    if digits is None or not (is_decimal or widening is Widening.ALWAYS):
        return False
    (precision, scale), (to_precision, to_scale) = digits, to_decimal
    if widening is Widening.ICEBERG and to_scale != scale:
        return False
    return to_scale >= scale and to_precision - to_scale >= precision - scale


def _recorded(field: StructField, previous: StructField | None) -> StructField:
    if previous is None:
        return field
    kind = with_parts(field.type, starmap(_recorded, twins(field.type, previous.type)))
    changes = list(_changes(field.type, previous.type, ()))
    if not changes:
        return with_type(field, kind)
    known = field.metadata.get(TYPE_CHANGES)
    earlier = known if isinstance(known, list) else []
    return replace(field, type=kind, metadata={**field.metadata, TYPE_CHANGES: [*earlier, *changes]})


def _changes(kind: DataType, previous: DataType, path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the changes in a field's arrays and maps, but not in fields of structs, which record their own."""
    if isinstance(kind, str) and isinstance(previous, str) and is_widening(previous, kind):
        yield {"fromType": previous, "toType": kind} | ({"fieldPath": ".".join(path)} if path else {})
    elif not isinstance(kind, StructType):
        for each, old in twins(kind, previous):
            if old is not None:
                yield from _changes(each.type, old.type, (*path, each.name))
