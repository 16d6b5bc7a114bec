# SPDX-License-Identifier: Apache-2.0
"""`bayou.install_as_delta`: make bayou answer to the names of delta-spark in this process."""

from __future__ import annotations

import sys
from typing import Final

import pyspark

from bayou.as_delta import delta
from bayou.as_delta.delta import _typing, exceptions, pip_utils, tables, version
from bayou.as_delta.sessions import enable_running, wrap_pyspark
from bayou.as_delta.versions import StandInFinder, delta_spark_version
from bayou.errors import failed

_MODULES: Final = {
    "delta": delta,
    "delta._typing": _typing,
    "delta.exceptions": exceptions,
    "delta.exceptions.base": exceptions.base,
    "delta.exceptions.captured": exceptions.captured,
    "delta.pip_utils": pip_utils,
    "delta.tables": tables,
    "delta.version": version,
}


def install_as_delta() -> None:
    """Let programs and tests written for delta-spark run unmodified in this process. A second call changes nothing.

    Afterwards `import delta` and its modules provide bayou's classes, and `importlib.metadata.version("delta-spark")` returns the
    version that bayou replaces. Every Spark session is enabled, one that already runs included. Builders,
    configurations, `PYSPARK_SUBMIT_ARGS` and `spark-defaults.conf` may name Delta's extension, catalog, packages and JARs,
    which are left out. An installed delta-spark is neither changed nor used in this process.

    Raises:
        SessionError: delta-spark, or another module named `delta`, is already imported.

    Examples:
        >>> bayou.install_as_delta()
        >>> from delta.tables import DeltaTable
    """
    found = sys.modules.get("delta")
    if found is not None and found is not delta:
        place = getattr(found, "__file__", None) or "another module"
        raise failed("delta-imported", place=place)
    sys.modules.update(_MODULES)
    if not any(isinstance(finder, StandInFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, StandInFinder(delta_spark_version(pyspark.__version__)))
    wrap_pyspark()
    enable_running()
