# SPDX-License-Identifier: Apache-2.0
"""What bayou needs from the client of Spark Connect: an old client is refused at once, not in the middle of a task."""

from __future__ import annotations

from typing import Any, Final

import pyspark

from bayou.errors import failed

_COLUMNS: Final = ("try_cast",)
_FRAMES: Final = ("localCheckpoint", "toArrow")
_MESSAGES: Final = ("WithRelations", "MergeIntoTableCommand")


def check_client() -> None:
    """Raise SessionError if the installed client of Spark Connect lacks what bayou sends its requests with.

    Clients of PySpark 4.0 and newer have it all. That of PySpark 3.5 does not.
    """
    missing = _missing()
    if missing:
        raise failed("connect-client", client=pyspark.__version__, missing=", ".join(missing))


def _missing() -> list[str]:
    from pyspark.sql.connect import proto  # noqa: PLC0415  (it needs grpc)
    from pyspark.sql.connect.column import Column  # noqa: PLC0415  (it needs grpc)
    from pyspark.sql.connect.dataframe import DataFrame  # noqa: PLC0415  (it needs grpc)

    wanted: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
        (Column, "Column", _COLUMNS),
        (DataFrame, "DataFrame", _FRAMES),
        (proto, "proto", _MESSAGES),
    )
    return [f"{owner}.{name}" for holder, owner, names in wanted for name in names if not hasattr(holder, name)]
