# SPDX-License-Identifier: Apache-2.0
"""What bayou puts on a Spark session, and what it asks of one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from bayou.errors import DeltaError, SessionError
from bayou.spark.jvm.core.adapters import Adapters, has_delta_spark
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.callbacks import FAILED_CALL, BiFunction, reason_of
from bayou.storage.paths import redact_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bayou.log.delta_log import DeltaLog
    from bayou.spark.jvm.core.bridge import JavaObject

_logger = logging.getLogger("bayou")
_DATASET = ("org.apache.spark.sql.classic.Dataset", "org.apache.spark.sql.Dataset")
_RULE = "bayou.Rule"
_CATALOG = "bayou.Catalog"
_SESSION_CATALOG = "spark.sql.catalog.spark_catalog"
_DELTA_SPARKS_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_OLDER_SOURCES = "spark.sql.sources.useV1SourceList"
"""Data sources that Spark uses by the older of its two interfaces, also where they have both."""


def java_session(spark: SparkSession) -> JavaObject:
    """The JVM's side of a session."""
    return spark._jsparkSession  # noqa: SLF001  (PySpark has no public name for it)


def session_of(session: JavaObject) -> SparkSession:
    """Python's side of a session that the JVM named; it may be on a thread where no session is active."""
    return SparkSession(SparkContext.getOrCreate(), session)


def active_session(jvm: Jvm) -> SparkSession:
    """The session that the JVM's thread works for."""
    return session_of(jvm.static("org.apache.spark.sql.SparkSession").active())


def dataset(jvm: Jvm, session: JavaObject, plan: JavaObject) -> JavaObject:
    """A Dataset of rows over a logical plan."""
    return jvm.module(*_DATASET).ofRows(session, plan)


def settings_of(spark: SparkSession) -> dict[str, str]:
    """All settings of a session, in two calls."""
    text: str = java_session(spark).conf().getAll().mkString("\0")
    return dict(each.split(" -> ", 1) for each in text.split("\0") if " -> " in each)


def memory_bytes(spark: SparkSession) -> int:
    """The heap that each JVM of an application may have, in bytes: the driver's or that of an executor, whichever is less."""
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001  (the bridge)
    driver = int(Jvm.of(spark).static("java.lang.Runtime").getRuntime().maxMemory())
    return driver if context.isLocal() else min(driver, int(context.executorMemory()) << 20)


def install_rule(jvm: Jvm, session: JavaObject, body: Callable[[], Callable[..., Any]]) -> None:
    """Puts bayou's optimizer rule on a session, behind the rules that are there, and on those that will be made of it; once.

    With it goes the parser for statements that Spark's own does not know, or that its analyzer would refuse.

    Args:
        body: makes what the rule does, where it is not there yet.
    """
    adapters = Adapters.of(jvm)
    sessions = adapters.static("bayou.NewSessions")
    if not sessions.isOn(session):
        answer = BiFunction(jvm, body())
        sessions.install(session, adapters.new(_RULE, answer))
        if adapters.has("bayou.Parser") and not has_delta_spark(jvm):
            _install_statements(jvm, session, answer)


def _install_statements(jvm: Jvm, session: JavaObject, answer: BiFunction) -> None:
    """Lets bayou run the statements of Delta that Spark's parser and analyzer would refuse, on a session and on those made of it.

    Spark's parser and the analyzer's rules stay, and come first.
    """
    adapters = Adapters.of(jvm)
    lost = {
        "bayou.AnalyzerRule": ("SQL does not know DELETE, and UPDATE and MERGE through views", (answer,)),
        "bayou.Parser": ("SQL does not know constraints before Spark 4.1, and UPDATE and MERGE are what Spark makes of them", ()),
        "bayou.ExecutedPlans": ("DataFrame.mergeInto is what Spark makes of it", ()),
        "bayou.Functions": ("SQL has no table_changes, table_history, table_detail and table_files", ()),
    }
    for name, (what, given) in lost.items():
        try:
            if adapters.has(name):
                adapters.static(name).install(session, *given)
        except Py4JJavaError as error:  # a JVM that lets nobody at Spark's own fields
            _logger.warning("%s: %s", what, error.java_exception.toString())


def install_catalog(spark: SparkSession, adapters: Adapters) -> str:
    """Makes `bayou.Catalog` the session's own catalog, in this session and in those that are made of it.

    If the session has a catalog of somebody else's, bayou's goes on top of it, and all that is not about Delta tables is that
    one's. If nothing can be put on top of it, it stays, and `delta` is a data source of Spark's older kind. If delta-spark's JAR is
    on the session, nothing changes.

    Returns:
        Why the other catalog stays; empty if it does not.
    """
    session = java_session(spark)
    settings = session.conf()
    there = settings.get(_SESSION_CATALOG, "builtin")
    if there.startswith(_CATALOG):
        return ""
    if has_delta_spark(adapters.jvm):
        return ""
    _install_settings(adapters)
    is_ours = there in ("builtin", _DELTA_SPARKS_CATALOG)  # delta-spark's catalog cannot be loaded if its JAR is not there
    try:
        adapters.load(_CATALOG)
        ours = _CATALOG if is_ours else adapters.catalog_over(there)
        loaded = None if is_ours else _loaded_catalogs(session)
    except SessionError as error:
        older = str(settings.get(_OLDER_SOURCES, ""))
        if "delta" in older.split(","):
            return ""  # told before
        settings.set(_OLDER_SOURCES, ",".join(filter(None, [older, "delta"])))
        return "" if is_ours else f"{there}: {error.message}"
    settings.set(_SESSION_CATALOG, ours)
    session.sharedState().conf().set(_SESSION_CATALOG, ours)
    if loaded is not None:
        loaded.remove("spark_catalog")
    return ""


def _install_settings(adapters: Adapters) -> None:
    """Gives threads without an active session the settings of the default session instead of Spark's defaults."""
    try:
        adapters.static("bayou.SessionSettings").install()
    except Py4JJavaError as error:  # a Spark that keeps its default settings elsewhere
        _logger.warning("threads without an active session do not find tables by name: %s", error.java_exception.toString())


def _loaded_catalogs(session: JavaObject) -> JavaObject:
    """The catalogs that a session has loaded, by their names: it asks its settings for the others.

    Raises:
        SessionError: this Spark keeps them where bayou does not find them.
    """
    manager = session.sessionState().catalogManager()
    owner = manager.getClass()
    while owner is not None:
        for field in owner.getDeclaredFields():
            if field.getName() == "catalogs":
                field.setAccessible(True)
                return field.get(manager)
        owner = owner.getSuperclass()
    message = "bayou cannot tell whether the session has loaded it"
    raise SessionError(message)


def is_about_delta(jvm: Jvm, command: JavaObject) -> bool:
    """Whether a command of Spark's is about a catalog table that uses `delta`, or makes one, or writes a folder of it."""
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
    """The path of the Delta table that a command of Spark's names; None if it names none."""
    for position in range(command.productArity()):
        part = command.productElement(position)
        if getattr(part, "getClass", None) is None or part.getClass().getSimpleName() != "TableIdentifier":
            continue
        database, table = part.database(), str(part.table())
        if database.isDefined() and str(database.get()).lower() == "delta" and "/" in table:
            return table
    return None


def partitions_lost(command: JavaObject) -> list[str]:
    """The partition columns of a Delta table that Spark's own CREATE TABLE AS SELECT makes: Spark tells the data source of none."""
    table = command.table()
    provider = table.provider()
    if provider.isEmpty() or provider.get().lower() != "delta":
        return []
    columns = table.partitionColumnNames()
    return [str(columns.apply(position)) for position in range(columns.size())]


def table_in(command: JavaObject) -> str:
    """The name of the table that a command of Spark's is about, as SQL has it.

    Raises:
        LookupError: it names none.
    """
    for position in range(command.productArity()):
        part = command.productElement(position)
        kind = part.getClass().getSimpleName() if getattr(part, "getClass", None) is not None else ""
        if kind in ("CatalogTable", "TableIdentifier"):
            return str((part.identifier() if kind == "CatalogTable" else part).quotedString())
    message = f"{command.nodeName()} names no table"
    raise LookupError(message)


def refresh_caches(spark: SparkSession, log: DeltaLog, jvm: Jvm, options: Mapping[str, str]) -> None:
    """Computes the cached DataFrames that read a table again, when they are next used. After that they belong to the new version.

    The rows are committed by then. If Spark cannot do it, that is a warning, and not an error of the write.
    """
    session = java_session(spark)
    manager = session.sharedState().cacheManager()
    if manager.isEmpty():
        return
    table_uri = log.table_uri
    try:
        latest = log.known or log.update()  # known before the caches are planned: they are never older than what they stand for
        configuration = session.sessionState().newHadoopConf()
        for name, value in options.items():
            configuration.set(name, value)
        path = jvm.static("org.apache.hadoop.fs.Path")(table_uri)
        jvm.call(manager, "recacheByPath", session, path, path.getFileSystem(configuration))
        jvm.static("bayou.TableKey").move(table_uri, str(latest.version), latest.metadata.id)
    except (*FAILED_CALL, DeltaError) as error:
        # Spark drops all of them before it computes the first one again.
        _logger.warning("cached DataFrames of %s are not cached any longer: %s", redact_uri(table_uri), reason_of(error))
