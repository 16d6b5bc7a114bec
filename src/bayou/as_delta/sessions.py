# SPDX-License-Identifier: Apache-2.0
"""Wrap PySpark's sessions so that programs written for delta-spark find `delta` on each of them.

`install_as_delta` wraps these methods of PySpark once: starting a context and its JVM, builders, creating sessions, and
reading settings. Those of Spark Connect's client are wrapped when the program first uses it. A program may therefore name
Delta's classes and packages anywhere, and reads them back from there.
"""

from __future__ import annotations

import functools
import os
import shlex
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark import SparkConf
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.utils import is_remote

from bayou.as_delta.given_settings import conf_given, get_given, note, note_launch, pass_on, set_given, unset_given
from bayou.as_delta.settings import overrides, submit_arguments, without_delta
from bayou.spark.backend import is_of_connect
from bayou.spark.enable import enable
from bayou.spark.session.running_context import running_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark import SparkContext


_SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_LOCAL_SERVER = "SPARK_LOCAL_REMOTE"
"""PySpark sets this variable when it starts a server for `remote("local")`. That server's own session stays as it is."""
_enabling = threading.local()


def wrap_pyspark() -> None:
    """Wrap PySpark's methods, each at most once, and also if called again."""
    context = getattr(pyspark, "SparkContext", None)  # the client of Spark Connect has none
    if context is not None:
        _wrap(context, "__init__", _clean_configuration)
        _wrap(context, "_ensure_initialized", _clean_launch)
        _wrap(context, "getConf", conf_given)
    _wrap(SparkSession, "__init__", _enable_made)
    _wrap(RuntimeConfig, "get", get_given)
    _wrap(RuntimeConfig, "set", set_given)
    _wrap(RuntimeConfig, "unset", unset_given)
    _wrap_builder(SparkSession.Builder)
    if is_remote() or "pyspark.sql.connect.session" in sys.modules:
        _wrap_connect()


def _wrap_connect() -> None:
    """Wrap the client of Spark Connect. A process that uses classic sessions may lack what it imports, and is spared the time."""
    from bayou.spark.portable.session import session_class, settings_class  # noqa: PLC0415  (see above)

    session, settings = session_class(), settings_class()
    _wrap_builder(session.Builder)
    for name in ("newSession", "cloneSession"):
        if name in session.__dict__:  # as of PySpark 4.1
            _wrap(session, name, _enable_returned)
    _wrap(settings, "get", get_given)
    _wrap(settings, "set", set_given)
    _wrap(settings, "unset", unset_given)


def _wrap_builder(builder: type[Any]) -> None:
    for name in ("getOrCreate", "create"):
        if name in builder.__dict__:
            _wrap(builder, name, _clean_builder)


def enable_running() -> None:
    """Enable the running session, if there is one."""
    if is_remote() or running_context() is not None:
        running = SparkSession.getActiveSession()
        if running is not None:
            _enable(running)


def options_of(builder: SparkSession.Builder) -> dict[str, Any]:
    """Return the options of a builder."""
    return dict(builder._options)  # noqa: SLF001  (PySpark has no public way)


def set_options(builder: SparkSession.Builder, options: dict[str, Any]) -> None:
    """Replace the options of a builder."""
    builder._options.clear()  # noqa: SLF001
    builder._options.update(options)  # noqa: SLF001


def _wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method or class method by what `make` returns for it, unless it is already replaced."""
    found = owner.__dict__[name]
    inner = found.__func__ if isinstance(found, classmethod) else found
    if getattr(inner, "by_bayou", False):
        return
    wrapped: Any = functools.wraps(inner)(make(inner))
    wrapped.by_bayou = True
    setattr(owner, name, classmethod(wrapped) if isinstance(found, classmethod) else wrapped)


def _clean_configuration(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `SparkContext(conf=...)`: pass the configuration without Delta's own settings."""

    def init(self: SparkContext, *arguments: Any, **options: Any) -> None:
        for each in (*arguments, *options.values()):
            if isinstance(each, SparkConf):
                note(self, dict(each.getAll()))
        original(
            self,
            *[_clean(each) if isinstance(each, SparkConf) else each for each in arguments],
            **{name: _clean(each) if isinstance(each, SparkConf) else each for name, each in options.items()},
        )

    return init


def _clean(configuration: SparkConf) -> SparkConf:
    """Return a configuration without Delta's own settings: the same object if it has none of them."""
    before = dict(configuration.getAll())
    after = without_delta(before)
    return configuration if after == before else SparkConf(loadDefaults=False).setAll(list(after.items()))


def _clean_launch(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap the start of the JVM: load none of Delta's packages from the environment or from `spark-defaults.conf`."""

    def ensure_initialized(cls: type[SparkContext], *arguments: Any, **options: Any) -> None:
        if cls._gateway:
            original(cls, *arguments, **options)
            return
        from bayou.spark.native.session.launch import change_launch_settings  # noqa: PLC0415  (only a launch needs it)

        with _clean_environment():
            original(cls, *arguments, **options)
        change_launch_settings(_noted_and_cleaned)

    return ensure_initialized


def _noted_and_cleaned(properties: Mapping[str, str]) -> Mapping[str, str]:
    """Return the JVM's Spark properties without Delta's own. Note those, so that the program can read them back."""
    note_launch(properties)
    return without_delta(properties)


@contextmanager
def _clean_environment() -> Iterator[None]:
    """Remove delta-spark's packages and JARs from the arguments of `spark-submit` in the environment, until the block ends.

    PySpark starts the JVM with these arguments. They override `spark-defaults.conf`, which bayou does not change.
    """
    original = os.environ.get(_SUBMIT_ARGUMENTS)
    cleaned = submit_arguments(original or "pyspark-shell")
    for name, value in overrides(_lines_of_defaults()).items():
        # The last `--conf` wins, and the user's own arguments take precedence over the file: put the override before them.
        cleaned = f"--conf {shlex.quote(f'{name}={value}')} {cleaned}"
    os.environ[_SUBMIT_ARGUMENTS] = cleaned
    try:
        yield
    finally:
        if original is None:
            del os.environ[_SUBMIT_ARGUMENTS]
        else:
            os.environ[_SUBMIT_ARGUMENTS] = original


def _lines_of_defaults() -> list[str]:
    """Return the lines of the `spark-defaults.conf` that Spark will read; none if it cannot be read."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf")) / "spark-defaults.conf"
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _clean_builder(original: Callable[..., SparkSession]) -> Callable[..., SparkSession]:
    """Wrap a method of builders that returns a session: leave out Delta's options, and enable the session."""

    def get_or_create(self: SparkSession.Builder) -> SparkSession:
        note(self, options_of(self))
        set_options(self, without_delta(options_of(self)))
        session = original(self)
        if is_of_connect(session):
            _wrap_connect()
        pass_on(self, session.client if is_of_connect(session) else session.sparkContext)
        _enable(session)
        return session

    return get_or_create


def _enable_returned(original: Callable[..., SparkSession]) -> Callable[..., SparkSession]:
    """Wrap a method that returns another session of Spark Connect."""

    def another(self: SparkSession, *arguments: Any, **options: Any) -> SparkSession:
        session = original(self, *arguments, **options)
        pass_on(self.client, session.client)
        _enable(session)
        return session

    return another


def _enable_made(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `SparkSession.__init__`, for sessions without a builder: `SparkSession(context)`, `newSession()`, streaming batches."""

    def init(self: SparkSession, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        if not os.environ.get(_LOCAL_SERVER):
            _enable(self)

    return init


def _enable(spark: Any) -> None:
    """Enable a session. Skip those that enabling itself creates."""
    if not getattr(_enabling, "now", False):
        _enabling.now = True
        try:
            enable(spark)
        finally:
            _enabling.now = False
