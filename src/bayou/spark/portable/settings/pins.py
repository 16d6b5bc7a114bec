# SPDX-License-Identifier: Apache-2.0
"""Change settings of a session for one request of bayou, and restore them."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from bayou.spark.portable.client import effective_settings, set_settings, unset_settings
from bayou.spark.portable.settings.known import settings_of
from bayou.spark.program_calls import program_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.portable.settings.known import Settings


@dataclass(frozen=True, slots=True)
class SessionConf:
    """The settings of a session at one moment.

    Attributes:
        values: those that are set.
        time_zone: the session's time zone.
    """

    values: Mapping[str, str] = field(repr=False)
    time_zone: str

    def get(self, name: str, default: str) -> str:
        """Return a setting, or the default if it is not set."""
        return self.values.get(name, default)


_users: Final[WeakKeyDictionary[Settings, Counter[str]]] = WeakKeyDictionary()


@contextlib.contextmanager
def pinned(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Within the block, give settings of a session these values. A session that has them already sends one request, for all.

    The server has no settings for a single request. Another thread of the program that uses the session meanwhile sees the
    changed values, too. The last of several concurrent blocks restores them.
    """
    settings = settings_of(spark)
    changed = _change(spark, settings, wanted)
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # the program wants to know the first error
            _restore(spark, settings, changed)
        raise
    _restore(spark, settings, changed)


def _change(spark: SparkSession, settings: Settings, wanted: Mapping[str, str]) -> list[str]:
    with settings.lock, program_call():
        users = _users.setdefault(settings, Counter())
        in_use = [name for name in wanted if users[name]]
        free = [name for name in wanted if name not in in_use]
        current = effective_settings(spark, free) if free else {}
        others = [name for name in free if (current[name] or "").lower() != wanted[name].lower()]
        others = [name for name in others if current[name] is not None]  # the rest is unknown to this Spark
        if others:
            stated = spark.conf.getAll
            settings.pinned |= {name: (stated.get(name), current[name]) for name in others}
            try:
                settings.pinning(lambda: set_settings(spark, {name: wanted[name] for name in others}))
            except BaseException:  # the server may have changed some of them
                users.update(others)
                with contextlib.suppress(Exception):  # the program wants to know the first error
                    _restore(spark, settings, others)
                raise
        changed = [*in_use, *others]
        users.update(changed)
        return changed


def _restore(spark: SparkSession, settings: Settings, changed: list[str]) -> None:
    """Restore the settings that no other block needs, all that can be restored. Raise the first error."""
    errors: list[Exception] = []
    with settings.lock:
        users = _users[settings]
        users.subtract(changed)
        before = {name: settings.pinned.pop(name)[0] for name in changed if not users[name] and name in settings.pinned}
        again = {name: value for name, value in before.items() if value is not None}
        absent = [name for name, value in before.items() if value is None]

        def restore(some: Mapping[str, str], others: Sequence[str]) -> None:
            try:
                if some:
                    set_settings(spark, some)
                if others:
                    unset_settings(spark, others)
            except Exception as error:  # noqa: BLE001  (the other settings are restored all the same)
                errors.append(error)

        def restore_all() -> None:
            restore(again, absent)
            if errors:
                for name, value in before.items():
                    restore({} if value is None else {name: value}, [name] if value is None else [])

        settings.pinning(restore_all)
    if errors:
        raise errors[0]
