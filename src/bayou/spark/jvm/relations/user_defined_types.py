# SPDX-License-Identifier: Apache-2.0
"""Types of programs' own: which of those that a log names Spark is told of.

Spark makes an object of the class that a schema names, in the JVM and in Python, and older PySparks unpickle what is written beside
it. A log may be anybody's, so Spark never gets what stands there: a type that this program has is described by the program itself,
any other is what its values are stored as.
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
"""The modules of PySpark that have such types. They are loaded when they are needed, any others never."""


def known_type(kind: UserDefinedType) -> DataType:
    """What Spark is told of a type in a log: the type that this program has by that name, or the type of the stored values.

    The program has it where the module that the log names is loaded, or is PySpark's, its class is there, and stores values as
    those of the table are.
    """
    name = json.loads(kind.description).get("pyClass")
    found = _class_of(name) if isinstance(name, str) else None
    own = None if found is None else _described(found)
    return kind.stored if own is None or own != kind else own


def _described(found: type[SparkUserDefinedType]) -> DataType | None:
    """A type of this program's in its own words; None of a class that has none, such as one that others are made of."""
    try:
        described = json.dumps({"type": "struct", "fields": [{"name": "own", "type": found().jsonValue()}]})
    except Exception:  # noqa: BLE001  (it is the program's code, which the log had no business to ask)
        return None
    return parse_schema(described).fields[0].type


def for_spark(json_text: str) -> str:
    """A schema's JSON with no types but those that Spark may be told of."""
    if '"udt"' not in json_text:  # as nearly always
        return json_text
    return schema_to_json(map_leaves(parse_schema(json_text), _known))


def _known(kind: DataType) -> DataType:
    return known_type(kind) if isinstance(kind, UserDefinedType) else kind


def _class_of(name: str) -> type[SparkUserDefinedType] | None:
    module, _, attribute = name.rpartition(".")
    loaded = _module(module)
    found = None if loaded is None else vars(loaded).get(attribute)  # a module may import what it is asked for
    is_type = isinstance(found, type) and issubclass(found, SparkUserDefinedType) and found is not SparkUserDefinedType
    return found if is_type else None


def _module(name: str) -> ModuleType | None:
    if name in _OF_SPARK:
        try:
            return importlib.import_module(name)
        except ImportError:  # it wants NumPy
            return None
    return sys.modules.get(name)
