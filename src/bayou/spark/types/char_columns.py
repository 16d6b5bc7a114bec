# SPDX-License-Identifier: Apache-2.0
"""Pad CHAR(n) values as Spark does on reads, in columns and inside structs, arrays and maps.

A write pads its rows once they have the table's types, before constraints, generated columns and partition values use them.
Files hold the padded value, because that is what a query compares.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.char_varchar import DECLARED_TYPE, type_with_chars
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.backend import backend_of
from bayou.spark.session.settings import is_on
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.protocol.types.schema import StructField, StructType
    from bayou.spark.backend import Backend

PADS: Final = "spark.sql.readSideCharPadding"
AS_TEXT: Final = "spark.sql.legacy.charVarcharAsString"


def declared_chars(columns: Iterable[tuple[StructField, str]]) -> dict[str, str]:
    """Return the declared types of the columns that are or contain chars, by the names that some rows have for the columns."""
    return {name: kind for field, name in columns if (kind := type_with_chars(field)) is not None}


def padded(backend: Backend, frame: DataFrame, declared: Mapping[str, str], settings: Mapping[str, str]) -> DataFrame:
    """Return stored rows with padded char columns. `declared` has the types of these by their names."""
    return _selected(backend, frame, declared) if declared and pads_chars(settings) else frame


def pads_chars(settings: Mapping[str, str]) -> bool:
    """Whether reads pad the values of char columns, by the settings of a session."""
    return is_on(settings, PADS, default=True) and not is_on(settings, AS_TEXT)


def padded_texts(texts: pa.Array, width: int) -> pa.Array:
    """Return partition values as queries see them, given the width of their chars. An empty string, which is NULL, stays.

    Args:
        width: 0 if the column is not a char, or if reads do not pad.
    """
    return pc.if_else(pc.equal(texts, ""), texts, pc.utf8_rpad(texts, width)) if width else texts


def with_chars(backend: Backend, frame: DataFrame, declared: Mapping[str, str]) -> DataFrame:
    """Pad the char columns of a write's rows, and mark them as chars so that Spark pads the strings that they are compared with.

    The rows have the names, the order and the types of the table's fields. `declared` has the types of char columns by name.
    """
    if not declared or is_on(backend.settings(frame.sparkSession), AS_TEXT):
        return frame
    return _selected(backend, frame, declared, keeps_types=True)


def as_chars_of(backend: Backend, frame: DataFrame, schema: StructType) -> DataFrame:
    """Pad those columns of user-supplied rows that have the name of a char column of the table. Keep the rows' alias."""
    known = [(field, schema.field(field.name)) for field in readable_schema(backend.columns_of(frame)).fields]
    typed = ((replace(mine, type=given.type), given.name) for given, mine in known if mine is not None)
    made, alias = with_chars(backend, frame, declared_chars(typed)), backend.alias_of(frame)
    return made if made is frame or alias is None else made.alias(alias)


def declared_as_chars(frame: DataFrame, schema: StructType) -> DataFrame:
    """Mark the char columns of a table's rows, so that Spark pads the strings that they are compared with."""
    if not declared_chars((field, field.name) for field in schema.fields):
        return frame  # without asking for its columns, which is a request on Spark Connect
    backend = backend_of(frame.sparkSession)
    names = {name.lower(): name for name in backend.names_of(frame)}
    declared = declared_chars((field, names[field.name.lower()]) for field in schema.fields if field.name.lower() in names)
    if not declared:
        return frame
    columns = [
        _known(F.col(quoted_name(name)), name, declared) if name in declared else (name,) for name in backend.names_of(frame)
    ]
    return backend.select(frame, columns)


def _selected(backend: Backend, frame: DataFrame, declared: Mapping[str, str], *, keeps_types: bool = False) -> DataFrame:
    types = declared if keeps_types else {}
    columns = [
        _known(backend.padded_chars(frame, number, declared[name]), name, types) if name in declared else (name,)
        for number, name in enumerate(backend.names_of(frame))
    ]
    return backend.select(frame, columns)


def _known(column: Column, name: str, types: Mapping[str, str]) -> Column:
    return column.alias(name, metadata={DECLARED_TYPE: types[name]}) if name in types else column.alias(name)
