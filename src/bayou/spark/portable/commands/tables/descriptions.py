# SPDX-License-Identifier: Apache-2.0
"""Run SHOW and DESCRIBE on Delta tables by path, with the rows of a classic session."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from bayou.errors import failed
from bayou.protocol.actions.paths import hadoop_text
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.types.char_varchar import DECLARED_TYPE, type_text
from bayou.protocol.types.partition_values import NULL_FOLDER
from bayou.protocol.types.schema import ArrayType, MapType, StructType, schema_to_json
from bayou.protocol.types.sql_text import column_sql, quoted_name
from bayou.spark.portable.text.tables.descriptions import ShowColumns, ShowCreate, ShowPartitions, ShowProperties
from bayou.spark.table.shown import partitions, shown_properties
from bayou.spark.types.types import readable_schema, spark_data_type
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType, StructField
    from bayou.spark.portable.text.tables.descriptions import Describe
    from bayou.spark.session.application import Application

_CATALOG: Final = "spark_catalog"
_SECRET: Final = re.compile("(?i)secret|password|token|access[.]?key")
"""Spark's `spark.sql.redaction.options.regex`: the keys of properties whose values it does not show."""
_REDACTED: Final = "*********(redacted)"
_BLANK: Final = ("", "", "")


def described(
    application: Application,
    spark: SparkSession,
    statement: ShowColumns | ShowCreate | ShowPartitions | ShowProperties | Describe,
    path: str,
) -> DataFrame:
    """Return the rows of a statement.

    Args:
        path: the table's path.

    Raises:
        PathNotFoundError, TableNotFoundError: the table does not exist.
    """
    snapshot = application.logs.get(qualify(path).uri, {}).update()
    backend = application.backend
    names: Sequence[str]
    found: list[tuple[Any, ...]]
    if isinstance(statement, ShowPartitions):
        texts = {name: NULL_FOLDER if value is None else value for name, value in statement.values.items()}
        columns, rows = partitions(snapshot, texts)
        return backend.local_frame(spark, rows, schema_to_json(readable_schema(columns)))
    if isinstance(statement, ShowColumns):
        names, found = ("col_name",), [(name,) for name in snapshot.schema.names]
    elif isinstance(statement, ShowProperties):
        names, found = ("key", "value"), _properties(snapshot, statement.key, path)
    elif isinstance(statement, ShowCreate):
        names, found = ("createtab_stmt",), [(create_statement(snapshot, path),)]
    else:
        names, found = _description(snapshot, statement, path)
    table = pa.table([pa.array([row[i] for row in found], pa.string()) for i in range(len(names))], names)
    fields = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in names]
    return backend.local_frame(spark, table, json.dumps({"type": "struct", "fields": fields}))


def create_statement(snapshot: Snapshot, path: str) -> str:
    """Return the CREATE TABLE statement of a table, as SHOW CREATE TABLE has it."""
    columns = ",\n  ".join(_column_sql(field) for field in snapshot.schema.fields)
    lines = [f"CREATE TABLE {_CATALOG}.delta.{quoted_name(path)} (\n  {columns})", "USING delta"]
    if snapshot.partition_columns:
        lines.append(f"PARTITIONED BY ({', '.join(map(_name_sql, snapshot.partition_columns))})")
    if snapshot.metadata.description is not None:
        lines.append(f"COMMENT {_literal(snapshot.metadata.description)}")
    lines.append(f"LOCATION {_literal(hadoop_text(snapshot.table_uri))}")
    pairs = ",\n  ".join(f"{_literal(key)} = {_literal(value)}" for key, value in _shown(snapshot).items())
    return "\n".join([*lines, f"TBLPROPERTIES (\n  {pairs})\n"])


def _description(snapshot: Snapshot, statement: Describe, path: str) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    if statement.column:
        return ("info_name", "info_value"), _column_rows(snapshot, statement.column)
    if statement.as_json:
        return ("json_metadata",), [(json.dumps(_facts(snapshot, path), separators=(",", ":"), ensure_ascii=False),)]
    rows: list[tuple[Any, ...]] = [_column_row(field) for field in readable_schema(snapshot.schema).fields]
    if snapshot.partition_columns:
        partitioning = [field for field in readable_schema(snapshot.schema).fields if field.name in snapshot.partition_columns]
        by_name = {field.name: _column_row(field) for field in partitioning}
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [by_name[name] for name in snapshot.partition_columns]
    return ("col_name", "data_type", "comment"), rows + (_details(snapshot, path) if statement.is_extended else [])


def _details(snapshot: Snapshot, path: str) -> list[tuple[Any, ...]]:
    """Return the further rows of DESCRIBE EXTENDED."""
    comment = snapshot.metadata.description
    pairs = ",".join(f"{key}={value}" for key, value in _shown(snapshot).items())
    rows = [
        ("Catalog", _CATALOG),
        ("Namespace", "delta"),
        ("Database", "delta"),
        ("Table", path),
        ("Type", "EXTERNAL"),
        *([] if comment is None else [("Comment", comment)]),
        ("Location", hadoop_text(snapshot.table_uri)),
        ("Provider", "delta"),
        ("Table Properties", f"[{pairs}]"),
    ]
    found: list[tuple[Any, ...]] = [_BLANK, ("# Detailed Table Information", "", ""), *((*row, "") for row in rows)]
    defaults = [field for field in snapshot.schema.fields if CURRENT_DEFAULT in field.metadata]
    if defaults:
        found += [_BLANK, ("# Column Default Values", "", "")]
        found += [(*_column_row(field)[:2], field.metadata[CURRENT_DEFAULT]) for field in defaults]
    return found


def _column_row(field: StructField) -> tuple[Any, ...]:
    return field.name, spark_data_type(field).simpleString(), field.metadata.get("comment")


def _column_rows(snapshot: Snapshot, column: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the rows of DESCRIBE for one column."""
    field = readable_schema(snapshot.schema).field(column[0])
    if field is None or len(column) > 1:
        raise failed("UNRESOLVED_COLUMN.WITH_SUGGESTION", at=snapshot, column=column_sql(column), columns=snapshot.schema.names)
    name, kind, comment = _column_row(field)
    return [("col_name", name), ("data_type", kind), ("comment", "NULL" if comment is None else comment)]


def _properties(snapshot: Snapshot, key: str | None, path: str) -> list[tuple[Any, ...]]:
    found = {name: _value(name, value) for name, value in shown_properties(snapshot).items() if name != "comment"}
    if key is None:
        return list(found.items())
    missing = f"Table {_CATALOG}.delta.{quoted_name(path)} does not have property: {key}"
    return [(key, found.get(key, missing))]


def _shown(snapshot: Snapshot) -> dict[str, str]:
    """Return the properties of a table without its comment and without secrets."""
    return {name: _value(name, value) for name, value in shown_properties(snapshot).items() if name != "comment"}


def _value(name: str, value: str) -> str:
    return _REDACTED if _SECRET.search(name) else value


def _column_sql(field: StructField) -> str:
    declared = field.metadata.get(DECLARED_TYPE)
    parts = [_name_sql(field.name), _type_sql(field.type) if declared is None else str(declared).upper()]
    parts += [] if field.nullable else ["NOT NULL"]
    parts += [f"DEFAULT {field.metadata[CURRENT_DEFAULT]}"] if CURRENT_DEFAULT in field.metadata else []
    parts += [f"COMMENT {_literal(field.metadata['comment'])}"] if "comment" in field.metadata else []
    return " ".join(parts)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _name_sql(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else quoted_name(name)


def _type_sql(kind: DataType) -> str:
    if isinstance(kind, StructType):
        fields = (f"{_name_sql(each.name)}: {_type_sql(each.type)}{'' if each.nullable else ' NOT NULL'}" for each in kind.fields)
        return f"STRUCT<{', '.join(fields)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{_type_sql(kind.element_type)}>"
    if isinstance(kind, MapType):
        return f"MAP<{_type_sql(kind.key_type)}, {_type_sql(kind.value_type)}>"
    return type_text(kind).upper()


def _facts(snapshot: Snapshot, path: str) -> dict[str, Any]:
    """Return what DESCRIBE ... AS JSON says."""
    created = snapshot.metadata.created_time
    time = None if created is None else dt.datetime.fromtimestamp(created // 1000, dt.timezone.utc)
    return {
        "table_name": path,
        "catalog_name": _CATALOG,
        "namespace": ["delta"],
        "schema_name": "delta",
        "columns": [_json_field(field) for field in readable_schema(snapshot.schema).fields],
        "location": hadoop_text(snapshot.table_uri),
        **({} if time is None else {"created_time": time.strftime("%Y-%m-%dT%H:%M:%SZ")}),
        "last_access": "UNKNOWN",
        "created_by": "Spark ",
        "type": "EXTERNAL",
        "provider": "delta",
        "collation": "UTF8_BINARY",
    }


def _json_field(field: StructField) -> dict[str, Any]:
    comment = {"comment": field.metadata["comment"]} if "comment" in field.metadata else {}
    default = {"default": field.metadata[CURRENT_DEFAULT]} if CURRENT_DEFAULT in field.metadata else {}
    return {"name": field.name, "type": _json_type(field.type), "nullable": field.nullable, **comment, **default}


def _json_type(kind: DataType) -> dict[str, Any]:
    if isinstance(kind, StructType):
        return {"name": "struct", "fields": [_json_field(each) for each in kind.fields]}
    if isinstance(kind, ArrayType):
        return {"name": "array", "element_type": _json_type(kind.element_type), "element_nullable": kind.contains_null}
    if isinstance(kind, MapType):
        parts = {"key_type": _json_type(kind.key_type), "value_type": _json_type(kind.value_type)}
        return {"name": "map", **parts, "value_nullable": kind.value_contains_null}
    text = type_text(kind)
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", text)
    if decimal is not None:
        return {"name": "decimal", "precision": int(decimal[1]), "scale": int(decimal[2])}
    if text.startswith(("string", "varchar", "char")):
        return {"name": "string", "collation": "UTF8_BINARY"}
    return {"name": text}
