# SPDX-License-Identifier: Apache-2.0
"""Check that this Spark can read a table's columns. A type that it lacks is refused by name, never read as another."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from bayou.errors import failed, redact_uri
from bayou.protocol.features.type_widening import unsupported_changes
from bayou.protocol.schema.validity import is_supported
from bayou.protocol.stats.file_stats import COLLATIONS, collated_fields
from bayou.protocol.types.schema import StructType, schema_to_json
from bayou.protocol.types.traverse import primitives
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.session.application import Application

_FIRST_SPARK_WITH_COLLATIONS: Final = 4
_FIRST_SPARK_WITH: Final = {"variant": "4.0", "time": "4.1"}
_FEATURE_OF: Final = {"variant": "variantType"}

_logger = logging.getLogger("bayou")
_warned: set[str] = set()
_lock = threading.Lock()


def check_types(application: Application, snapshot: Snapshot, *, is_read: bool = True) -> None:
    """Raise UnsupportedFeatureError if Spark lacks a type of the table, or if a recorded type change is not supported.

    Both matter only if the table's files are read with its types (`is_read`). Collations are not types in the log. A Spark without
    them compares such strings by their bytes, which PROTOCOL.md allows, and bayou logs a warning.
    """
    for column, old, new in unsupported_changes(snapshot.schema, snapshot.protocol) if is_read else ():
        raise failed(
            "DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA",
            at=snapshot,
            column=column,
            from_type=old,
            to_type=new,
            features=["typeWidening"],
        )
    for field in _unknown(application, snapshot.schema) if is_read else ():
        _refuse(application, snapshot, field)
    if int(application.backend.spark_version.partition(".")[0]) < _FIRST_SPARK_WITH_COLLATIONS:
        _warn_of_collations(application, snapshot)


def _unknown(application: Application, schema: StructType) -> Iterator[StructField]:
    """Yield the columns with a type or a collation that Spark does not know. Ask Spark only about what some version lacks."""
    for field in schema.fields:
        uncommon = any(kind == "variant" or not is_supported(kind) for kind in primitives(field.type))
        alone = StructType((field,))
        if (uncommon or any(collated_fields(alone))) and not application.backend.knows_type(schema_to_json(readable_schema(alone))):
            yield field


def _refuse(application: Application, snapshot: Snapshot, field: StructField) -> None:
    spark = application.backend.spark_version
    found = sorted(kind for kind in set(primitives(field.type)) if kind == "variant" or not is_supported(kind))
    first = next((since for kind in found for name, since in _FIRST_SPARK_WITH.items() if kind.split("(")[0] == name), None)
    what = f"the type {' or '.join(found)}" if found else f"the collation that the log names ({field.metadata.get(COLLATIONS)})"
    raise failed(
        "DELTA_UNSUPPORTED_DATA_TYPES/spark",
        at=snapshot,
        spark_version=spark,
        types=what,
        column=field.name,
        features=[_FEATURE_OF.get(kind, kind) for kind in found] or ["collations"],
        next_step=f"Read the table on Spark {first} or later." if first else "Read the table with the engine that wrote it.",
    )


def _warn_of_collations(application: Application, snapshot: Snapshot) -> None:
    found = list(collated_fields(snapshot.schema))
    if not found:
        return
    with _lock:
        is_new = snapshot.table_uri not in _warned
        _warned.add(snapshot.table_uri)
    if is_new:
        _logger.warning(
            "Spark %s has no collations: texts of %s are compared by their bytes, and not by the collation that the table names "
            "(table: %s)",
            application.backend.spark_version,
            ", ".join(field.name for field in found),
            redact_uri(snapshot.table_uri),
        )
