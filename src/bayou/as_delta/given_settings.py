# SPDX-License-Identifier: Apache-2.0
"""Keep the settings that a program made for delta-spark and that Spark does not get, so that the program can read them back.

They are noted on the builder, and on the context or on the client of Spark Connect. The wrapped `spark.conf.get` and
`SparkContext.getConf` look there first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bayou.as_delta.default_settings import DEFAULTS
from bayou.as_delta.settings import CATALOGS, is_class, kept_value
from bayou.spark.session.running_context import running_context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark import SparkConf, SparkContext
    from pyspark.sql.conf import RuntimeConfig

_NOTES: Final = "_bayou_given"
_of_launch: dict[str, str] = {}


def note(owner: Any, settings: Mapping[str, Any]) -> None:
    """Note the original values of the settings that Spark gets without delta-spark's parts, on a builder, context or client."""
    notes: dict[str, str] = owner.__dict__.setdefault(_NOTES, {})
    notes.update(_left_out(settings))


def note_launch(settings: Mapping[str, Any]) -> None:
    """Note the left-out settings that the JVM was started with. They hold for each context in it."""
    _of_launch.update(_left_out(settings))


def pass_on(builder: Any, owner: Any) -> None:
    """Copy the notes of a builder or a client to the context or to the client of another session."""
    note(owner, noted(builder))


def noted(owner: Any) -> dict[str, str]:
    """Return the notes of a builder, a context or a client, by name."""
    return dict(owner.__dict__.get(_NOTES, {}))


def _left_out(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that name something of delta-spark, with their original values."""
    return {name: str(value) for name, value in settings.items() if kept_value(name, value) != value}


def _owner_of(conf: RuntimeConfig) -> Any:
    """Return what has the notes for `spark.conf`: the client of a session of Spark Connect, else the running context or None."""
    client = getattr(conf, "_client", None)
    return running_context() if client is None else client


def _given(conf: RuntimeConfig) -> dict[str, str]:
    owner = _owner_of(conf)
    return {**_of_launch, **({} if owner is None else noted(owner))}


def get_given(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `spark.conf.get`: return the program's value; if it set none and passes no default, delta-spark's registered default."""

    def get(self: RuntimeConfig, key: str, *default: Any, **options: Any) -> Any:
        given = _given(self)
        if key in given:
            return given[key]
        if not default and not options and key in DEFAULTS:
            return original(self, key, DEFAULTS[key])
        return original(self, key, *default, **options)

    return get


def set_given(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `spark.conf.set`: note a catalog of Delta's instead of setting it."""

    def set_(self: RuntimeConfig, key: str, value: Any) -> None:
        owner = _owner_of(self)
        if owner is not None and str(key).startswith(CATALOGS):
            if is_class(str(value)):
                return note(owner, {key: value})
            owner.__dict__.get(_NOTES, {}).pop(key, None)
        return original(self, key, value)

    return set_


def unset_given(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap `spark.conf.unset`: delete the note too."""

    def unset(self: RuntimeConfig, key: str) -> None:
        owner = _owner_of(self)
        if owner is not None:
            owner.__dict__.get(_NOTES, {}).pop(key, None)
        return original(self, key)

    return unset


def conf_given(original: Callable[..., SparkConf]) -> Callable[..., SparkConf]:
    """Wrap `SparkContext.getConf`: add the noted settings."""

    def get_conf(self: SparkContext) -> SparkConf:
        return original(self).setAll(list({**_of_launch, **noted(self)}.items()))

    return get_conf
