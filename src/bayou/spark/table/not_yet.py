# SPDX-License-Identifier: Apache-2.0
"""delta-spark's commands that this version of bayou does not have, with their signatures.

Each checks its arguments as delta-spark does, and raises `UnsupportedFeatureError`, whose `features` name the command. A
program that is written for delta-spark thus fails where it asks for such a command, with the reason, and nowhere else.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession  # noqa: TC002  (typing.get_type_hints)
from pyspark.sql.types import StructType  # noqa: TC002  (typing.get_type_hints)

from bayou.errors import UnsupportedFeatureError
from bayou.spark.errors.conversion import raised_as_pyspark


def not_yet(command: str, table: str | None = None, *, next_step: str = "", feature: str = "") -> UnsupportedFeatureError:
    """The error of a command that this version of bayou does not have.

    Args:
        command: the command, as SQL or as a method names it.
        table: the table that it is about, where one is known.
        next_step: what the reader can do instead.
        feature: the command for `features`, if `command` says more.
    """
    return UnsupportedFeatureError(
        f"{command} is not in this version of bayou yet. Nothing was changed.",
        table=table,
        error_class="DELTA_OPERATION_NOT_ALLOWED",
        sql_state="0AKDC",
        next_step=next_step
        or "run it with another engine, such as delta-spark or delta-rs: the table stays an ordinary Delta table.",
        features=[feature or command],
    )


class CommandsNotYet:
    """The methods of delta-spark's `DeltaTable` that bayou's lacks; `DeltaTable` inherits them."""

    @classmethod
    @raised_as_pyspark
    def convertToDelta(  # noqa: N802
        cls,
        sparkSession: SparkSession,  # noqa: ARG003, N803
        identifier: str,
        partitionSchema: str | StructType | None = None,  # noqa: ARG003, N803
    ) -> Any:
        """Would write a log for the Parquet files of a folder or a table (CONVERT TO DELTA).

        Args:
            sparkSession: the session.
            identifier: ``parquet.`/a/path` ``, or a name.
            partitionSchema: the columns of the folders' names, with their types.

        Raises:
            UnsupportedFeatureError: always.
        """
        step = f'read {identifier} as Parquet and write it anew, with df.write.format("delta").'
        raise not_yet("CONVERT TO DELTA", next_step=step)


_KINDS: Final = {str: "a string", int: "an int", bool: "a boolean", dict: "a dict"}


def check_kind(value: Any, kind: type, name: str) -> None:
    """Refuse an argument of another type, as delta-spark's Python does.

    Raises:
        ValueError: it is one.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} needs to be {_KINDS[kind]} but got '{type(value)}'.")  # noqa: TRY004  (delta-spark's error)
