# SPDX-License-Identifier: Apache-2.0
"""Temporary views of the rows that subqueries in SQL expressions read, because rows cannot travel with an expression."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql.connect import proto

from bayou.spark.portable.requests.frames import relation_of
from bayou.spark.portable.requests.sql_text import replaced_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.portable.requests.answers import Reference

_MOST: Final = 64
"""So many views exist at once. The server has dropped the oldest ones."""
_SELECT: Final = "SELECT "


class SubqueryViews:
    """The views of one client. Threads share it.

    A view stays for later requests with the same expression, so that the server analyses equal requests once. A new version of a
    table has other rows, and so another view.
    """

    def __init__(self, spark: SparkSession) -> None:
        # Another process may use the same session.
        self._prefix = f"bayou_subquery_{uuid4().hex[:8]}"
        self._spark = spark
        self._lock = threading.Lock()
        self._made = 0
        # It holds the DataFrames, so that no other gets the identity of one.
        self._views: OrderedDict[int, tuple[str, DataFrame]] = OrderedDict()

    @staticmethod
    def as_query(expression: str) -> proto.SQL:
        """Return a query with an expression, whose tables can be found."""
        return proto.SQL(query=f"{_SELECT}{expression}")

    def replaced(self, expression: str, references: Sequence[Reference]) -> str:
        """Return an expression that names views. The requests of this thread must pass untouched.

        Args:
            expression: the expression.
            references: the tables in `as_query(expression)`.
        """
        return replaced_text(f"{_SELECT}{expression}", references, self._name_of)[len(_SELECT) :]

    def _name_of(self, frame: DataFrame) -> str:
        with self._lock:
            found = self._views.get(id(frame))
            if found is None:
                found = self._views[id(frame)] = (f"{self._prefix}_{self._made}", frame)
                self._made += 1
                self._create(*found)
            self._views.move_to_end(id(frame))
            while len(self._views) > _MOST:
                _, (name, _) = self._views.popitem(last=False)
                with contextlib.suppress(PySparkException):
                    self._spark.catalog.dropTempView(name)
            return found[0]

    def _create(self, name: str, frame: DataFrame) -> None:
        view = proto.CreateDataFrameViewCommand(input=relation_of(frame), name=name, is_global=False, replace=True)
        cast("Any", self._spark).client.execute_command(proto.Command(create_dataframe_view=view))
