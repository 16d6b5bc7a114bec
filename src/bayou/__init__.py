# SPDX-License-Identifier: Apache-2.0
"""Delta Lake on stock PySpark.

    spark = bayou.enable(SparkSession.builder.getOrCreate())
    spark.read.format("delta").load("/data/orders").show()

Importing the package loads neither PySpark nor PyArrow: each name below is loaded when it is first used. `enable`, `read`, `write`,
`DeltaTable` and `install_as_delta` need PySpark: pip install 'bayou[spark]'.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bayou.version import __version__ as __version__

if TYPE_CHECKING:
    from bayou import storage as storage
    from bayou.as_delta.install import install_as_delta as install_as_delta
    from bayou.diffs.run import diff as diff
    from bayou.errors import DeltaError as DeltaError
    from bayou.full_check import check as check
    from bayou.health_report.collect import health as health
    from bayou.log.delta_log import DeltaLog as DeltaLog
    from bayou.log.delta_log import open_log as open  # noqa: A004
    from bayou.log.events import add_listener as add_listener
    from bayou.log.snapshot.snapshot import Snapshot as Snapshot
    from bayou.repairs.run import repair as repair
    from bayou.spark.enable import enable as enable
    from bayou.table import DeltaTable as DeltaTable
    from bayou.table import IdentityGenerator as IdentityGenerator
    from bayou.table import read as read
    from bayou.table import write as write

__all__ = [
    "DeltaError",
    "DeltaLog",
    "DeltaTable",
    "IdentityGenerator",
    "Snapshot",
    "__version__",
    "add_listener",
    "check",
    "diff",
    "enable",
    "health",
    "install_as_delta",
    "open",
    "read",
    "repair",
    "storage",
    "write",
]

# The module and the name in it; no name where the module itself is meant.
_HOMES: dict[str, tuple[str, str | None]] = {
    "DeltaError": ("bayou.errors", "DeltaError"),
    "DeltaLog": ("bayou.log.delta_log", "DeltaLog"),
    "DeltaTable": ("bayou.table", "DeltaTable"),
    "IdentityGenerator": ("bayou.table", "IdentityGenerator"),
    "Snapshot": ("bayou.log.snapshot.snapshot", "Snapshot"),
    "add_listener": ("bayou.log.events", "add_listener"),
    "check": ("bayou.full_check", "check"),
    "diff": ("bayou.diffs.run", "diff"),
    "enable": ("bayou.spark.enable", "enable"),
    "health": ("bayou.health_report.collect", "health"),
    "install_as_delta": ("bayou.as_delta.install", "install_as_delta"),
    "open": ("bayou.log.delta_log", "open_log"),
    "read": ("bayou.table", "read"),
    "repair": ("bayou.repairs.run", "repair"),
    "storage": ("bayou.storage", None),
    "write": ("bayou.table", "write"),
}

# The modules among them that import PySpark.
_NEED_PYSPARK = ("bayou.table", "bayou.spark.", "bayou.as_delta.")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module, attribute = _HOMES[name]
    try:
        value: Any = import_module(module)
    except ModuleNotFoundError as error:
        from bayou.errors.packages import of_spark  # noqa: PLC0415  (importing bayou loads as little as it can)

        raise of_spark(error, name) from error
    if attribute is not None:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # help() gets each name, and a name that cannot be loaded would end it.
    try:
        has_pyspark = find_spec("pyspark") is not None
    except ImportError:  # of an import hook
        has_pyspark = False
    return sorted(name for name in __all__ if has_pyspark or not _HOMES.get(name, ("", None))[0].startswith(_NEED_PYSPARK))
