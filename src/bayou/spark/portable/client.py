# SPDX-License-Identifier: Apache-2.0
"""The parts of Spark Connect's client that PySpark has no public names for, and their counterparts for a classic session."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import Observation
from pyspark.sql.types import DataType, StructType

from bayou.errors import failed
from bayou.log.actions.keys import hadoop_uris
from bayou.log.commit.active_transactions import active_transaction
from bayou.protocol.actions.paths import hadoop_text
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.backend import is_of_connect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession


_ALIAS: Final = "_bayou_alias"
_read_versions: Final[dict[str, set[int | None]]] = {}
"""The versions of tables that classic sessions have read, by the tables' URIs; see `note_version`."""
_on_classic: Final[dict[int, dict[str, Observation]]] = {}
"""The observations of writes on classic sessions, by thread and name."""
_unused: Final[SimpleQueue[Any]] = SimpleQueue()
"""The rows on classic sessions that are no longer needed."""
_names: Final[weakref.WeakKeyDictionary[Any, list[str]]] = weakref.WeakKeyDictionary()
"""The names of the values of observations on Spark Connect."""


def client_of(spark: SparkSession) -> Any:
    """Return the client of a session, which sends its requests; the context of a classic session."""
    return cast("Any", spark).client if is_of_connect(spark) else spark.sparkContext


def effective_settings(spark: SparkSession, names: Sequence[str]) -> dict[str, str | None]:
    """Return settings with Spark's defaults, in one request. A setting that is not set and that Spark does not have is None."""
    if not is_of_connect(spark):
        return {name: _effective(spark, name) for name in names}
    from pyspark.sql.connect import proto  # noqa: PLC0415  (it needs grpc)

    operation = proto.ConfigRequest.Operation(get_option=proto.ConfigRequest.GetOption(keys=names))
    return dict(client_of(spark).config(operation).pairs)


def _effective(spark: SparkSession, name: str) -> str | None:
    try:
        return spark.conf.get(name)  # with a default of None, PySpark would return that instead of Spark's
    except Exception:  # noqa: BLE001  (Spark 3.5 raises an exception of the JVM)
        return None


def set_settings(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Set settings of a session, in one request."""
    if not is_of_connect(spark):
        for name, value in settings.items():
            spark.conf.set(name, value)
        return
    from pyspark.sql.connect import proto  # noqa: PLC0415  (it needs grpc)

    pairs = [proto.KeyValue(key=name, value=value) for name, value in settings.items()]
    client_of(spark).config(proto.ConfigRequest.Operation(set=proto.ConfigRequest.Set(pairs=pairs)))


def unset_settings(spark: SparkSession, names: Sequence[str]) -> None:
    """Give settings of a session Spark's defaults, in one request."""
    if not is_of_connect(spark):
        for name in names:
            spark.conf.unset(name)
        return
    from pyspark.sql.connect import proto  # noqa: PLC0415  (it needs grpc)

    client_of(spark).config(proto.ConfigRequest.Operation(unset=proto.ConfigRequest.Unset(keys=names)))


def plan_of(frame: DataFrame) -> Any:
    """Return the plan of a DataFrame, as the client keeps it until it sends a request."""
    return cast("Any", frame)._plan  # noqa: SLF001  (see above)


def message_of(column: Column, spark: SparkSession) -> Any | None:
    """Return the message of a column, as a request of the session would have it; None on a classic session."""
    if not is_of_connect(spark):
        return None
    return cast("Any", column).to_plan(client_of(spark))


def alias_of(frame: DataFrame) -> str | None:
    """Return the alias of a query's rows; None if it has none. On a classic session `noted_alias` has noted it."""
    if not is_of_connect(frame):
        return cast("str | None", vars(frame).get(_ALIAS))
    found = plan_of(frame).plan(client_of(frame.sparkSession))
    found = found.with_relations.root if found.HasField("with_relations") else found
    return str(found.subquery_alias.alias) if found.HasField("subquery_alias") else None


def noted_alias(frame: DataFrame, alias: str) -> DataFrame:
    """Return a DataFrame of a classic session, whose plan only the JVM sees, with a note of its alias."""
    vars(frame)[_ALIAS] = alias
    return frame


def note_version(frame: DataFrame, table_uri: str, version: int | None) -> None:
    """Note of which version of a table a DataFrame of a classic session is, which cannot follow the table.

    Args:
        version: the version if it was the latest; None for rows of old versions and for changes, which may be read on purpose.
    """
    if not is_of_connect(frame):
        _read_versions.setdefault(table_uri, set()).add(version)


def note_rows_of_table(frame: DataFrame, table_uri: str, *, replaces: bool) -> None:
    """Note in the transaction on a table that the rows of a DataFrame of a classic session come from it, if they do.

    PySpark only says which files a DataFrame reads, with a call for each, and without those of cached rows. It is not asked if the
    program has not read the table.

    Args:
        replaces: whether the rows replace others of the table.

    Raises:
        UnsupportedFeatureError: the rows replace others, and are of an older version than the latest.
    """
    transaction, versions = active_transaction(table_uri), _read_versions.get(table_uri)
    if transaction is None or transaction.snapshot is None or versions is None:
        return
    root = f"{_comparable(table_uri)}/"
    own = {name for each in frame.inputFiles() if (name := _comparable(each)).startswith(root)}
    if not own:
        return
    transaction.read_whole_table()
    latest = transaction.read_version
    if not replaces or versions <= {latest} or None in versions:
        return
    files = hadoop_uris(transaction.snapshot.files(["path"])["path"], table_uri).to_pylist()
    if latest not in versions or not own.issubset(map(_comparable, files)):
        what = f"Replacing rows of version {latest} by rows that an older DataFrame has read"
        instead = "a DataFrame that reads the table again"
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/documented", at=transaction.snapshot, what=what, instead=instead, features=("reads",)
        )


def _comparable(uri: str) -> str:
    return hadoop_text(unquote(uri))


def observe(frame: DataFrame, name: str, aggregates: Sequence[Column]) -> DataFrame:
    """Return rows with an observation, whose values `observed` returns. Each aggregate has an alias.

    PySpark's own method first asks the server whether the rows are those of a stream (4.3).
    """
    if not is_of_connect(frame):
        observation = Observation(name)
        _on_classic.setdefault(threading.get_ident(), {})[name] = observation
        return frame.observe(observation, *aggregates)
    from pyspark.sql.connect.observation import Observation as ConnectObservation  # noqa: PLC0415  (it needs grpc)
    from pyspark.sql.connect.plan import CollectMetrics  # noqa: PLC0415  (it needs grpc)

    made, own = cast("Any", type(frame)), cast("Any", ConnectObservation(name))
    own._result = {}  # noqa: SLF001  (see above)
    _names[own] = [cast("Any", message_of(each, frame.sparkSession)).alias.name[0] for each in aggregates]
    return cast("DataFrame", made(CollectMetrics(plan_of(frame), own, list(aggregates)), frame.sparkSession))


def observed(frame: DataFrame, wanted: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of some observations of a DataFrame that was written, by their names, without those that found no rows."""
    if not is_of_connect(frame):
        made = _on_classic.get(threading.get_ident(), {})
        of_classic = {name: _values_of(made[name]) for name in wanted if name in made}
        return {name: values for name, values in of_classic.items() if values}
    observations = {name: each for name, each in plan_of(frame).observations.items() if name in wanted}
    found = {name: each.get for name, each in observations.items()}
    # A server of Spark 4.0 sends more than four values in another order.
    names = {name: _names.get(each, ()) for name, each in observations.items()}
    return {name: [values[each] for each in names[name] or values] for name, values in found.items() if values}


def _values_of(observation: Observation) -> list[Any]:
    """Return what an observation of a classic session found; an empty list if Spark left the observed rows out of its plan."""
    try:
        return list(observation.get.values())
    except Exception as error:
        # PySpark 4 cannot take the row without columns that Spark returns then, and 3.5 returns no values.
        if all(part in str(error) for part in ("toPyRow", "java.lang.AssertionError")):
            return []
        raise


def forget_observations(names: Sequence[str]) -> None:
    """Forget observations of this thread's last write on a classic session. Those of a write around it stay."""
    made = _on_classic.get(threading.get_ident(), {})
    for name in names:
        made.pop(name, None)
    if not made:
        _on_classic.pop(threading.get_ident(), None)


def kept_rows(frame: DataFrame) -> DataFrame:
    """Evaluate a DataFrame, and return its rows. The server keeps them as long as the result exists.

    A classic session caches them, because a checkpoint would lose the alias.
    """
    if not is_of_connect(frame):
        cached = frame.persist()
        cached.count()
        _start_letting_go()
        done = weakref.finalize(cached, _unused.put, cached.alias("kept"))  # the DataFrame would keep itself
        done.atexit = False  # the session has ended then
        return cached
    kept: Any = frame.localCheckpoint()
    # PySpark takes the active session for the result's, which may be another one.
    kept._session = kept._plan._spark_session = frame.sparkSession  # noqa: SLF001  (see above)
    return cast("DataFrame", kept)


@functools.cache
def _start_letting_go() -> None:
    """Start the thread that drops kept rows.

    The garbage collector may run in the middle of a call of the JVM. Another call on that thread would mix up the answers.
    """
    threading.Thread(target=_let_go, name="bayou-kept-rows", daemon=True).start()


def _let_go() -> None:
    while True:
        rows = _unused.get()
        with contextlib.suppress(Exception):  # the session may have ended
            rows.unpersist()
        del rows


def columns_in_sql(spark: SparkSession, text: str) -> StructType:
    """Return columns given as SQL, with their chars and varchars. Raise ParseException if the server cannot read them."""
    if is_of_connect(spark):
        found = client_of(spark)._analyze(method="ddl_parse", ddl_string=text).parsed  # noqa: SLF001  (see above)
    else:
        found = DataType.fromDDL(text)  # a DataFrame could not have chars and varchars
    if not isinstance(found, StructType):
        raise ParseException(f"[PARSE_SYNTAX_ERROR] {text!r} is a type, and not a list of columns")
    return found


def knows_collation(client: Any, name: str) -> bool:
    """Whether the server of a client has a collation. True for the context of a classic session, which cannot be asked so."""
    if not hasattr(client, "_analyze"):
        return True
    try:
        client._analyze(method="ddl_parse", ddl_string=f"c STRING COLLATE {quoted_name(name)}")  # noqa: SLF001  (see above)
    except PySparkException:
        return False
    return True


def type_in_sql(spark: SparkSession, text: str) -> DataType:
    """Return a type given as SQL. Raise ParseException if the server cannot read it."""
    columns = columns_in_sql(spark, f"given {text}")
    if len(columns) != 1 or not columns[0].nullable or columns[0].metadata:
        raise ParseException(f"[PARSE_SYNTAX_ERROR] {text!r} is not a type")
    return columns[0].dataType
