# SPDX-License-Identifier: Apache-2.0
"""Put the values of settings in place of variables such as `${name}`, as Spark does before it reads a statement.

Source: `VariableSubstitution` and `ConfigReader` of Spark.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.errors import failed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTING: Final = "spark.sql.variable.substitute"
_VARIABLE: Final = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_OF_SETTINGS: Final = frozenset({None, "spark", "sparkconf", "hivevar", "hiveconf"})
"""What may stand before the name of a setting. Other words are of the server's process, such as `env`."""


def with_variables(text: str, spark: SparkSession) -> str:
    """Return a statement with the values of settings in place of variables. A setting without a value is an empty text."""
    return _replaced(text, spark, frozenset()) if _has_variables(text, spark) else text


def refuse_variables(text: str, spark: SparkSession) -> None:
    """Raise UnsupportedFeatureError for a statement of bayou with a variable that only the server knows, such as `${env:HOME}`."""
    if _has_variables(text, spark):
        what = "A statement about a table by path with a variable of the server, such as ${env:HOME},"
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))


def _has_variables(text: str, spark: SparkSession) -> bool:
    return _VARIABLE.search(text) is not None and str(spark.conf.get(_SETTING, "true")).lower() == "true"


def _replaced(text: str, spark: SparkSession, outer: frozenset[str]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[2]
        if found[1] not in _OF_SETTINGS or name in outer:
            return found[0]
        return _replaced(str(spark.conf.get(name, None) or ""), spark, outer | {name})

    return _VARIABLE.sub(value, text)
