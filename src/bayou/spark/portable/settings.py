# SPDX-License-Identifier: Apache-2.0
"""Change settings of a session for one request of bayou, and restore them."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from bayou.spark.portable.client import client_of, effective_settings, set_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SessionConf:
    """The settings of a session at one moment.

    Attributes:
        values: those that are set.
        time_zone: the session's time zone.
    """

    values: Mapping[str, str]
    time_zone: str

    def get(self, name: str, default: str) -> str:
        """Return a setting, or the default if it is not set."""
        return self.values.get(name, default)


class _Pins:
    """The settings of one client that are changed at the moment."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users: Counter[str] = Counter()
        self.before: dict[str, str | None] = {}


_pins: Final[WeakKeyDictionary[Any, _Pins]] = WeakKeyDictionary()
_making: Final = threading.Lock()


@contextlib.contextmanager
def pinned(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Within the block, give settings of a session these values. A session that has them already sends one request, for all.

    The server has no settings for a single request. Another thread of the program that uses the session meanwhile sees the
    changed values, too. The last of several concurrent blocks restores them.
    """
    with _making:
        pins = _pins.setdefault(client_of(spark), _Pins())
    changed = _change(spark, pins, wanted)
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # the program wants to know the first error
            _restore(spark, pins, changed)
        raise
    _restore(spark, pins, changed)


def _change(spark: SparkSession, pins: _Pins, wanted: Mapping[str, str]) -> list[str]:
    with pins.lock:
        current = effective_settings(spark, list(wanted))
        in_use = [name for name in wanted if pins.users[name]]
        others = [name for name in wanted if name not in in_use and (current[name] or "").lower() != wanted[name].lower()]
        others = [name for name in others if current[name] is not None]  # the rest is unknown to this Spark
        stated = dict(spark.conf.getAll) if others else {}
        for name in others:
            pins.before[name] = stated.get(name)
        if others:
            set_settings(spark, {name: wanted[name] for name in others})
        changed = [*in_use, *others]
        pins.users.update(changed)
        return changed


def _restore(spark: SparkSession, pins: _Pins, changed: list[str]) -> None:
    """Restore the settings that no other block needs, all that can be restored. Raise the first error."""
    errors = []
    with pins.lock:
        pins.users.subtract(changed)
        for name in changed:
            if pins.users[name] or name not in pins.before:
                continue
            before = pins.before.pop(name)
            try:
                spark.conf.unset(name) if before is None else spark.conf.set(name, before)
            except Exception as error:  # noqa: BLE001  (the other settings are restored all the same)
                errors.append(error)
    if errors:
        raise errors[0]
