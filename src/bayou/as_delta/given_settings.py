# SPDX-License-Identifier: Apache-2.0
"""What a program set for delta-spark and Spark was not given: programs, and their tests, read it back.

It is noted on the builder and on the context; `spark.conf.get` and `SparkContext.getConf` look there first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark import SparkContext

from bayou.as_delta.default_settings import DEFAULTS
from bayou.as_delta.settings import CATALOGS, is_class, kept_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark import SparkConf
    from pyspark.sql import SparkSession
    from pyspark.sql.conf import RuntimeConfig

_NOTES: Final = "_bayou_given"
_of_launch: dict[str, str] = {}


def note(owner: SparkContext | SparkSession.Builder, settings: Mapping[str, Any]) -> None:
    """Notes on a context or a builder what it was given and is left out, by name."""
    notes: dict[str, str] = owner.__dict__.setdefault(_NOTES, {})
    notes.update(_left_out(settings))


def note_launch(settings: Mapping[str, Any]) -> None:
    """Notes what the JVM was started with; it holds for each context in it."""
    _of_launch.update(_left_out(settings))


def pass_on(builder: SparkSession.Builder, context: SparkContext) -> None:
    """Notes on a builder's context what the builder was given."""
    note(context, noted(builder))


def noted(owner: SparkContext | SparkSession.Builder) -> dict[str, str]:
    """What is noted on a context or a builder, by name."""
    return dict(owner.__dict__.get(_NOTES, {}))


def _left_out(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items() if kept_value(name, value) != value}


def _of_running() -> dict[str, str]:
    running = SparkContext._active_spark_context  # noqa: SLF001  (PySpark's way to ask without making one)
    return {**_of_launch, **({} if running is None else noted(running))}


def get_given(original: Callable[..., Any]) -> Callable[..., Any]:
    """`spark.conf.get`: what the program set; where it set nothing and names no default, what delta-spark registers as one."""

    def get(self: RuntimeConfig, key: str, *default: Any, **options: Any) -> Any:
        given = _of_running()
        if key in given:
            return given[key]
        if not default and not options and key in DEFAULTS:
            return original(self, key, DEFAULTS[key])
        return original(self, key, *default, **options)

    return get


def set_given(original: Callable[..., None]) -> Callable[..., None]:
    """`spark.conf.set`: a catalog of Delta's is noted, and not set."""

    def set_(self: RuntimeConfig, key: str, value: Any) -> None:
        running = SparkContext._active_spark_context  # noqa: SLF001  (as above)
        if running is not None and str(key).startswith(CATALOGS):
            if is_class(str(value)):
                return note(running, {key: value})
            running.__dict__.get(_NOTES, {}).pop(key, None)
        return original(self, key, value)

    return set_


def unset_given(original: Callable[..., None]) -> Callable[..., None]:
    """`spark.conf.unset`: what was noted is forgotten."""

    def unset(self: RuntimeConfig, key: str) -> None:
        running = SparkContext._active_spark_context  # noqa: SLF001  (as above)
        if running is not None:
            running.__dict__.get(_NOTES, {}).pop(key, None)
        return original(self, key)

    return unset


def conf_given(original: Callable[..., SparkConf]) -> Callable[..., SparkConf]:
    """`SparkContext.getConf`: with what the program set."""

    def get_conf(self: SparkContext) -> SparkConf:
        return original(self).setAll(list({**_of_launch, **noted(self)}.items()))

    return get_conf
