# SPDX-License-Identifier: Apache-2.0
"""What bayou needs of Spark Connect: an old client or server is refused at once, not in the middle of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyspark
from pyspark.errors import PySparkException

from bayou.errors import failed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS: Final = ("try_cast",)
_FRAMES: Final = ("localCheckpoint", "toArrow")
_UNKNOWN_RELATION: Final = "Expected Relation to be set"
"""A part of the message of a server that was asked for a relation it does not know."""
_MESSAGES: Final = ("WithRelations", "MergeIntoTableCommand")


def check_client() -> None:
    """Raise SessionError if the installed client of Spark Connect lacks what bayou sends its requests with.

    Clients of PySpark 4.0 and newer have it all. That of PySpark 3.5 does not.
    """
    missing = _missing()
    if missing:
        raise failed("connect-client", client=pyspark.__version__, missing=", ".join(missing))


def check_server(spark: SparkSession) -> None:
    """Raise SessionError if the server does not know SQL with relations in it, which servers of Spark 4.0 and newer do.

    An older server ignores what it does not know of an expression: its `try_cast` is a cast.
    """
    from pyspark.sql.connect import proto  # noqa: PLC0415  (it needs grpc)

    from bayou.spark.portable.requests.frames import frame_of  # noqa: PLC0415  (it needs grpc)

    query = proto.Relation(sql=proto.SQL(query="SELECT 1 AS one"))
    try:
        frame_of(spark, proto.Relation(with_relations=proto.WithRelations(root=query))).schema  # noqa: B018  (it asks the server)
    except PySparkException as error:
        if _UNKNOWN_RELATION in str(error):
            raise failed("connect-server", server=spark.version) from error


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
