# SPDX-License-Identifier: Apache-2.0
"""Decide which user-defined types in a log are passed to Spark.

Spark instantiates the class that a schema names, in the JVM and in Python, and older PySpark versions unpickle data of the schema.
A log may come from anybody, so bayou never passes its description on. If this program has the type, the program describes it.
Otherwise Spark gets the type of the stored values.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import UserDefinedType as SparkUserDefinedType

from bayou.protocol.types.schema import UserDefinedType, parse_schema, schema_to_json
from bayou.protocol.types.traverse import map_leaves

if TYPE_CHECKING:
    from types import ModuleType

    from bayou.protocol.types.schema import DataType

_OF_SPARK: Final = ("pyspark.ml.linalg", "pyspark.mllib.linalg")
"""The modules of PySpark with such types. They are loaded if needed, no others ever."""


def known_type(kind: UserDefinedType) -> DataType:
    """Return the type to pass to Spark: the program's own type of that name, or the type of the stored values.

    The program has the type if the module in the log is loaded, or is PySpark's, and its class stores values like the table.
    """
    name = json.loads(kind.description).get("pyClass")
    type_class = _class_of(name) if isinstance(name, str) else None
    own = None if type_class is None else _described(type_class)
    return kind.stored if own is None or own != kind else own


def _described(found: type[SparkUserDefinedType]) -> DataType | None:
    """Return a type in the program's own description, or None for a class without one, such as an abstract class."""
    try:
        described = json.dumps({"type": "struct", "fields": [{"name": "own", "type": found().jsonValue()}]})
    except Exception:  # noqa: BLE001  (the program's code, called because of a log, may raise anything)
        return None
    return parse_schema(described).fields[0].type


def for_spark(json_text: str) -> str:
    """Return a schema's JSON with only the types that may be passed to Spark."""
    if '"udt"' not in json_text:  # nearly always
        return json_text
    return schema_to_json(map_leaves(parse_schema(json_text), _known))


def _known(kind: DataType) -> DataType:
    return known_type(kind) if isinstance(kind, UserDefinedType) else kind


def _class_of(name: str) -> type[SparkUserDefinedType] | None:
    module, _, attribute = name.rpartition(".")
    loaded = _module(module)
    value = None if loaded is None else vars(loaded).get(attribute)  # `getattr` may make a module import code
    is_type = isinstance(value, type) and issubclass(value, SparkUserDefinedType) and value is not SparkUserDefinedType
    return value if is_type else None


def _module(name: str) -> ModuleType | None:
    if name in _OF_SPARK:
        try:
            return importlib.import_module(name)
        except ImportError:  # it needs NumPy
            return None
    return sys.modules.get(name)
