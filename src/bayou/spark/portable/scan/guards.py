# SPDX-License-Identifier: Apache-2.0
"""What holds while a scan of a Delta table runs on the server: its lists of files are whole, and its settings are set.

- A list that was cut short or replaced gives fewer or other rows. Spark reads a list when it analyses a plan. Nobody writes a list
  twice, so a list that is whole when the operation has ended was whole at its analysis. The client looks at it then, which costs
  nothing on the server, and less than a millisecond or one request to an object store in the client.
- Spark finds columns by Parquet field ids only if the session has a setting. It is set for the operations that need it. Others of
  the session that run at the same time see it, too.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.spark.backend import is_of_connect
from bayou.spark.errors.conversion import as_pyspark
from bayou.spark.pinned_settings import Job, values
from bayou.spark.portable.requests.messages import replace_relations
from bayou.spark.portable.requests.views.followed import created_view
from bayou.spark.portable.scan.carrier import carrier_in
from bayou.spark.portable.scan.runs import watch
from bayou.spark.portable.scratch.scratch import SETTING
from bayou.spark.portable.settings.pins import pinned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.portable.scan.carrier import Carrier

FIELD_IDS: Final = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
}
"""Settings of scans that find columns by Parquet field ids. Spark Connect passes them on from no option of a reader."""
BY_IDS: Final = "bayoucolumnsbyids"
"""The reader's option that says so. Spark itself ignores it."""
REWRITES: Final = "bayourewrites"
"""The reader's option of rows that are rewritten, or that a check depends on. The settings of `Job.REWRITE` are set for them."""


def guard_lists(spark: SparkSession) -> None:
    """Let operations of a session fail if a list of files that they read was cut short or replaced.

    A classic session reads a list when the DataFrame is made, and never again.
    """
    if is_of_connect(spark):
        watch(spark, "lists", _Lists())


def find_columns_by_ids(spark: SparkSession) -> None:
    """Let operations of a session that read with the option `BY_IDS` match columns by Parquet field ids.

    On a classic session the settings stay. They have no effect on schemas without ids.
    """
    if is_of_connect(spark):
        watch(spark, BY_IDS, _Settings(spark, BY_IDS, FIELD_IDS))
        return
    for name, value in FIELD_IDS.items():
        spark.conf.set(name, value)


def read_as_stored(spark: SparkSession) -> None:
    """Let operations of a session that read with the option `REWRITES` read values as the files have them.

    Names of columns are the caller's: the setting that makes them depend on case would change what the program's expressions mean.
    """
    settings = {name: value for name, value in values(Job.REWRITE).items() if name != "spark.sql.caseSensitive"}
    if is_of_connect(spark):
        watch(spark, REWRITES, _Settings(spark, REWRITES, settings))


class _Lists:
    def begin(self, plan: proto.Plan) -> _WholeLists | None:
        found: list[Carrier] = []

        def note(relation: proto.Relation) -> bool:
            for path in _paths(relation):
                carrier = carrier_in(path)
                if carrier is not None and carrier not in found:
                    found.append(carrier)
            return False

        replace_relations(plan, note)
        return _WholeLists(found) if found else None


class _WholeLists:
    def __init__(self, carriers: list[Carrier]) -> None:
        self._carriers = carriers

    def end(self) -> None:
        for each in self._carriers:
            if not each.is_whole():
                error = failed("file-list-changed", table=each.table_uri, version=each.version, folder=each.folder, setting=SETTING)
                raise as_pyspark(error)  # the program gets it while it reads responses, where nothing else converts it

    def close(self) -> None:
        self._carriers = []


class _Settings:
    """Sets settings for operations that read with an option.

    Views are kept by the server, so that a request that reads one names it only.
    """

    def __init__(self, spark: SparkSession, option: str, settings: Mapping[str, str]) -> None:
        self._spark, self._option, self._settings = spark, option, settings
        self._views: set[str] = set()

    def begin(self, plan: proto.Plan) -> _Pinned | None:
        is_needed, texts = False, list[str]()

        def note(relation: proto.Relation) -> bool:
            nonlocal is_needed
            is_needed = is_needed or _has_option(relation, self._option)
            texts.append(_text(relation))
            return False

        replace_relations(plan, note)
        command = plan.command if plan.WhichOneof("op_type") == "command" else None
        if command is not None:  # clients before 4.0 have the statement here
            texts.append(command.sql_command.sql)
        shown = " ".join(texts).lower()
        is_needed = is_needed or any(name in shown for name in self._views)
        if not is_needed:
            return None
        if command is not None:
            self._note_view(command, texts)
        return _Pinned(self._spark, self._settings)

    def _note_view(self, command: proto.Command, texts: list[str]) -> None:
        kind = command.WhichOneof("command_type")
        if kind == "create_dataframe_view":
            self._views.add(command.create_dataframe_view.name.rpartition(".")[2].strip("`").lower())
        elif kind == "sql_command":
            names = map(created_view, texts)
            self._views |= {name for name in names if name is not None}


class _Pinned:
    def __init__(self, spark: SparkSession, settings: Mapping[str, str]) -> None:
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(pinned(spark, settings))

    def end(self) -> None:
        pass

    def close(self) -> None:
        self._stack.close()


def _source(relation: proto.Relation) -> Any:
    is_read = relation.WhichOneof("rel_type") == "read" and relation.read.HasField("data_source")
    return relation.read.data_source if is_read else None


def _paths(relation: proto.Relation) -> list[str]:
    source = _source(relation)
    return [] if source is None else list(source.paths)


def _has_option(relation: proto.Relation, option: str) -> bool:
    source = _source(relation)
    return source is not None and any(name.lower() == option for name in source.options)


def _text(relation: proto.Relation) -> str:
    """Return what may name a view in a relation."""
    kind = relation.WhichOneof("rel_type")
    if kind == "sql":
        return str(relation.sql.query)
    return str(relation.read.named_table.unparsed_identifier) if kind == "read" else ""
