# SPDX-License-Identifier: Apache-2.0
"""The base class of `DeltaTable`: the table's session, path and options."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import DataFrame, SparkSession

from bayou.errors import DeltaError, redact_uri
from bayou.log.delta_log import DeltaLog
from bayou.report.html import facts_html
from bayou.spark.backend import is_of_connect
from bayou.spark.read.own_frames import OwnFrames
from bayou.spark.read.session_table import SessionTable
from bayou.spark.session.application import Application
from bayou.storage import qualify

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot

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

    def __repr__(self) -> str:
        """Return the path, the catalog name and the latest version that the session has read. Sends no request to the store."""
        name = "" if self._name is None else f", name={self._name!r}"
        known = self._known()
        version = "" if known is None else f", version={known.version}"
        return f"{type(self).__name__}({redact_uri(self._path)!r}{name}{version})"

    def _repr_html_(self) -> str:
        known = self._known()
        where = redact_uri(self._path)
        facts = {"path": where if self._name else None, **({} if known is None else known.facts_in_memory())}
        return facts_html(f"{type(self).__name__} {self._name or where}", facts)

    def _known(self) -> Snapshot | None:
        """Return the latest snapshot that the session has read; None if it has not read one, or was stopped."""
        with contextlib.suppress(DeltaError):
            return Application.of(self._spark).logs.known(self._uri, self._options)
        return None

    @property
    def _uri(self) -> str:
        return qualify(self._path).uri

    @property
    def _time_zone(self) -> str:
        return self._spark.conf.get("spark.sql.session.timeZone") or "UTC"

    def _session_table(self, source: object = None) -> SessionTable:
        """Return the table on its session, or on that of a source if it is another one of Spark Connect.

        A server finds the rows of a batch of `foreachBatch` only on the session of the batch.
        """
        spark = source.sparkSession if isinstance(source, DataFrame) and is_of_connect(source) else self._spark
        table = SessionTable.of(Application.of(spark), spark, self._uri, self._options)
        return replace(table, name=self._name, frames=self._frames)

    def _log(self) -> DeltaLog:
        return Application.of(self._spark).logs.get(self._uri, self._options)
