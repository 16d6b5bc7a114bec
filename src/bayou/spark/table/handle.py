# SPDX-License-Identifier: Apache-2.0
"""The base class of `DeltaTable`: the table's session, path and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import SparkSession  # noqa: TC002  (typing.get_type_hints)

from bayou.log.delta_log import DeltaLog
from bayou.spark.read.own_frames import OwnFrames
from bayou.spark.read.session_table import SessionTable
from bayou.spark.session.application import Application
from bayou.storage import qualify

Handle = TypeVar("Handle", bound="TableHandle")


class TableHandle:
    """A table on a session, by its path, and by its catalog name if it was opened by name."""

    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._path = path
        self._options = dict(options)
        self._called: tuple[str, ...] = ()
        self._name: str | None = None
        self._frames = OwnFrames()

    @classmethod
    def _at(cls: type[Handle], spark: SparkSession, path: str, options: Mapping[str, str]) -> Handle:  # noqa: PYI019  (Self needs Python 3.11)
        """Return the table at a path. Bypasses `DeltaTable.__init__`, which refuses direct calls by users."""
        made = cls.__new__(cls)
        TableHandle.__init__(made, spark, path, options)
        return made

    @property
    def _uri(self) -> str:
        return qualify(self._path).uri

    @property
    def _time_zone(self) -> str:
        return self._spark.conf.get("spark.sql.session.timeZone") or "UTC"

    def _session_table(self) -> SessionTable:
        table = SessionTable.of(Application.of(self._spark), self._spark, self._uri, self._options)
        return replace(table, name=self._name, frames=self._frames)

    def _log(self) -> DeltaLog:
        return Application.of(self._spark).logs.get(self._uri, self._options)
