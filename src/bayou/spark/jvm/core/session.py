# SPDX-License-Identifier: Apache-2.0
"""Install bayou on a Spark session, and query sessions and commands."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from bayou.errors import DeltaError, SessionError, failed, reason
from bayou.spark.jvm.core.adapters import Adapters, has_delta_spark
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.callbacks import FAILED_CALL, BiFunction, reason_of
from bayou.spark.jvm.gateway import Py4JJavaError
from bayou.storage.paths import redact_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bayou.log.delta_log import DeltaLog
    from bayou.spark.jvm.core.bridge import JavaObject

_logger = logging.getLogger("bayou")
_DATASET = ("org.apache.spark.sql.classic.Dataset", "org.apache.spark.sql.Dataset")
_RULE = "bayou.Rule"
_CATALOG = "bayou.Catalog"
TIME_ZONE = "spark.sql.session.timeZone"
_SESSION_CATALOG = "spark.sql.catalog.spark_catalog"
_DELTA_SPARKS_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_OLDER_SOURCES = "spark.sql.sources.useV1SourceList"
"""The data sources for which Spark uses the older of its two interfaces, even if they have both."""


def java_session(spark: SparkSession) -> JavaObject:
    """Return the JVM's side of a session."""
    return spark._jsparkSession  # noqa: SLF001  (PySpark has no public name for it)


def session_of(session: JavaObject) -> SparkSession:
    """Return Python's side of a session of the JVM, also on a thread without an active session."""
    from pyspark import SparkContext  # noqa: PLC0415  (the client of Spark Connect has none)

    return SparkSession(SparkContext.getOrCreate(), session)


def active_session(jvm: Jvm) -> SparkSession:
    """Return the session of the JVM's thread."""
    return session_of(jvm.static("org.apache.spark.sql.SparkSession").active())


def dataset(jvm: Jvm, session: JavaObject, plan: JavaObject) -> JavaObject:
    """Return a Dataset of rows over a logical plan."""
    return jvm.module(*_DATASET).ofRows(session, plan)


def settings_of(spark: SparkSession) -> dict[str, str]:
    """Return all settings of a session, in two calls."""
    text: str = java_session(spark).conf().getAll().mkString("\0")
    return dict(setting.split(" -> ", 1) for setting in text.split("\0") if " -> " in setting)


class SessionConf:
    """The settings of a JVM session, Spark's defaults included."""

    def __init__(self, session: JavaObject) -> None:
        self._conf = session.conf()

    def get(self, name: str, *default: str) -> str:
        """Return a setting, or the default if it has no value. Without either, Spark raises an error."""
        value: str = self._conf.get(name, *default)
        return value

    @property
    def time_zone(self) -> str:
        """The session's time zone."""
        return self.get(TIME_ZONE)


def is_stopped(session: JavaObject) -> bool:
    """Whether the application of a JVM session was stopped."""
    return bool(session.sparkContext().isStopped())


def settings_of_application(jvm: Jvm) -> dict[str, str]:
    """Return the settings of the running application; empty if no application runs."""
    context = jvm.context
    lines = [] if context is None else context.getConf().toDebugString().split("\n")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def install_rule(jvm: Jvm, session: JavaObject, body: Callable[[], Callable[..., Any]]) -> None:
    """Add bayou's optimizer rule to a session and to sessions created from it, after existing rules, once.

    Also install the parser for statements that Spark's parser does not know or its analyzer would refuse.

    Args:
        body: creates the function that answers the rule, if the rule is not installed yet.
    """
    adapters = Adapters.of(jvm)
    sessions = adapters.static("bayou.NewSessions")
    if not sessions.isOn(session):
        answer = BiFunction(jvm, body())
        sessions.install(session, adapters.new(_RULE, answer))
        if adapters.has("bayou.Parser") and not has_delta_spark(jvm):
            _install_statements(jvm, session, answer)


def _install_statements(jvm: Jvm, session: JavaObject, answer: BiFunction) -> None:
    """Let a session, and sessions created from it, run statements that Spark's parser and analyzer would refuse.

    Spark's parser and the analyzer's rules stay and come first.
    """
    adapters = Adapters.of(jvm)
    lost = {
        "bayou.AnalyzerRule": ("SQL does not know DELETE, and UPDATE and MERGE through views", (answer,)),
        "bayou.Parser": ("SQL does not know constraints before Spark 4.1, and UPDATE and MERGE are what Spark makes of them", ()),
        "bayou.ExecutedPlans": ("DataFrame.mergeInto is what Spark makes of it", ()),
        "bayou.Functions": ("SQL has no table_changes, table_history, table_detail and table_files", ()),
    }
    for name, (lost_feature, arguments) in lost.items():
        try:
            if adapters.has(name):
                adapters.static(name).install(session, *arguments)
        except Py4JJavaError as error:  # a JVM that does not open Spark's fields
            _logger.warning("%s: %s", lost_feature, error.java_exception.toString())


def answer_parser(adapters: Adapters, parsed: BiFunction, refused: BiFunction, beginnings: str) -> None:
    """Give bayou's parser the functions that answer it.

    Args:
        parsed: called with a statement and its node.
        refused: called with a statement that Spark's parser refused.
        beginnings: the words that such statements begin with, as lines.
    """
    adapters.static("bayou.Parser").answer(parsed, refused, beginnings)


def install_catalog(spark: SparkSession, adapters: Adapters) -> str:
    """Make `bayou.Catalog` the session catalog, in this session and in those created from it.

    A foreign catalog of the session gets all calls that are not about Delta tables. If bayou's catalog cannot go on top of it, it
    stays, and `delta` uses Spark's older interface for sources. If delta-spark's JAR is on the session, nothing changes.

    Returns:
        Why the foreign catalog stays, or an empty string.
    """
    session = java_session(spark)
    settings = session.conf()
    current = settings.get(_SESSION_CATALOG, "builtin")
    if current.startswith(_CATALOG):
        return ""
    if has_delta_spark(adapters.jvm):
        return ""
    _install_settings(adapters)
    is_ours = current in ("builtin", _DELTA_SPARKS_CATALOG)  # delta-spark's catalog cannot be loaded without its JAR
    try:
        adapters.load(_CATALOG)
        ours = _CATALOG if is_ours else adapters.catalog_over(current)
        loaded = None if is_ours else _loaded_catalogs(session)
    except SessionError as error:
        older = str(settings.get(_OLDER_SOURCES, ""))
        if "delta" in older.split(","):
            return ""  # it was reported before
        settings.set(_OLDER_SOURCES, ",".join(filter(None, [older, "delta"])))
        return "" if is_ours else f"{current}: {reason(error)}"
    settings.set(_SESSION_CATALOG, ours)
    session.sharedState().conf().set(_SESSION_CATALOG, ours)
    if loaded is not None:  # Spark would keep using the loaded catalog
        loaded.remove("spark_catalog")
    return ""


def _install_settings(adapters: Adapters) -> None:
    """Give threads without an active session the settings of the default session instead of Spark's defaults."""
    try:
        adapters.static("bayou.SessionSettings").install()
    except Py4JJavaError as error:  # a Spark version with its default settings in another place
        _logger.warning("threads without an active session do not find tables by name: %s", error.java_exception.toString())


def _loaded_catalogs(session: JavaObject) -> JavaObject:
    """Return the catalogs that a session has loaded, by name. Others it looks up in its settings."""
    manager = session.sessionState().catalogManager()
    owner = manager.getClass()
    while owner is not None:
        for field in owner.getDeclaredFields():
            if field.getName() == "catalogs":
                field.setAccessible(True)
                return field.get(manager)
        owner = owner.getSuperclass()
    raise failed("catalog-loaded")


def is_about_delta(jvm: Jvm, command: JavaObject) -> bool:
    """Whether a command of Spark uses, creates or overwrites a catalog table with the provider `delta`."""
    if command.getClass().getSimpleName() == "InsertIntoDataSourceDirCommand":
        return str(command.provider()).lower() == "delta"
    catalog = jvm.static("org.apache.spark.sql.SparkSession").active().sessionState().catalog()
    for position in range(command.productArity()):
        part = command.productElement(position)
        if getattr(part, "getClass", None) is None:
            continue
        kind = part.getClass().getSimpleName()
        if kind == "Some" and str(part.get()).lower() == "delta":
            return True
        if kind == "TableIdentifier" and not catalog.isTempView(part) and catalog.tableExists(part):
            provider = catalog.getTableMetadata(part).provider()
            if provider.isDefined() and provider.get().lower() == "delta":
                return True
    return False


def path_in(command: JavaObject) -> str | None:
    """Return the path of the Delta table in a command of Spark, or None."""
    for position in range(command.productArity()):
        part = command.productElement(position)
        if getattr(part, "getClass", None) is None or part.getClass().getSimpleName() != "TableIdentifier":
            continue
        database, table = part.database(), str(part.table())
        if database.isDefined() and str(database.get()).lower() == "delta" and "/" in table:
            return table
    return None


def partitions_lost(command: JavaObject) -> list[str]:
    """Return the partition columns of a Delta table in Spark's CREATE TABLE AS SELECT, which Spark passes to no source."""
    table = command.table()
    provider = table.provider()
    if provider.isEmpty() or provider.get().lower() != "delta":
        return []
    columns = table.partitionColumnNames()
    return [str(columns.apply(position)) for position in range(columns.size())]


def partitions_in(jvm: Jvm, command: JavaObject) -> dict[str, str]:
    """Return the partition values that a SHOW PARTITIONS names, as strings."""
    spec = command.spec()
    keys = [] if spec.isEmpty() else jvm.list_of(spec.get().keys().toList())
    return {str(key): str(spec.get().apply(key)) for key in keys}


def default_provider(session: JavaObject) -> str:
    """Return the format of tables that name none (`spark.sql.sources.default`)."""
    return str(session.sessionState().conf().defaultDataSourceName())


def session_in(dataset: JavaObject) -> SparkSession:
    """Return Python's side of the session of a Dataset."""
    return session_of(dataset.sparkSession())


def table_in(command: JavaObject) -> str:
    """Return the name in SQL of the table of a command of Spark, or raise LookupError."""
    for position in range(command.productArity()):
        part = command.productElement(position)
        kind = part.getClass().getSimpleName() if getattr(part, "getClass", None) is not None else ""
        if kind in ("CatalogTable", "TableIdentifier"):
            return str((part.identifier() if kind == "CatalogTable" else part).quotedString())
    message = f"{command.nodeName()} names no table"
    raise LookupError(message)


def refresh_caches(spark: SparkSession, log: DeltaLog, jvm: Jvm, options: Mapping[str, str]) -> None:
    """Recompute cached DataFrames of a table at their next use. They then show the new version.

    The rows are already committed. A failure of Spark is therefore a warning, not an error of the write.
    """
    session = java_session(spark)
    manager = session.sharedState().cacheManager()
    if manager.isEmpty():
        return
    table_uri = log.table_uri
    try:
        latest = log.known or log.update()  # read before the caches are planned, so that they are not older than this version
        configuration = session.sessionState().newHadoopConf()
        for name, value in options.items():
            configuration.set(name, value)
        path = jvm.static("org.apache.hadoop.fs.Path")(table_uri)
        jvm.call(manager, "recacheByPath", session, path, path.getFileSystem(configuration))
        jvm.static("bayou.TableKey").move(table_uri, str(latest.version), latest.metadata.id)
    except (*FAILED_CALL, DeltaError) as error:
        # Spark drops all of them before it computes the first one again.
        _logger.warning("cached DataFrames of %s are not cached any longer: %s", redact_uri(table_uri), reason_of(error))
