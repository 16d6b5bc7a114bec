# SPDX-License-Identifier: Apache-2.0
"""Create copies of a session with bayou's settings. The user's session is never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_SQL_CONF = "org.apache.spark.sql.internal.SQLConf"


def pinned_session(jvm: Jvm, session: JavaObject, settings: Mapping[str, str]) -> JavaObject:
    """Return the session if it has the settings, otherwise a copy that has those that this Spark knows."""
    if not settings:
        return session
    return jvm.static("bayou.PinnedSettings").of(session, pairs_of(settings))


def default_session(jvm: Jvm, session: JavaObject, settings: Mapping[str, str], prefix: str) -> JavaObject:
    """Return a copy of a session in which the settings with a prefix have Spark's defaults. Then set `settings` on it.

    Args:
        prefix: the prefix of the settings to reset. Static settings, which cannot change on a running session, stay.
    """
    copy = session.cloneSession()
    conf, companion = copy.sessionState().conf(), jvm.module(_SQL_CONF)
    for name in _names(copy):
        if name.startswith(prefix) and not companion.isStaticConfigKey(name):
            conf.unsetConf(name)
    for name, value in settings.items():
        conf.setConfString(name, value)
    return copy


def pairs_of(settings: Mapping[str, str]) -> str:
    """Return settings in the form of the adapters: names and values alternate, each ended by NUL."""
    return "".join(f"{name}\0{value}\0" for name, value in settings.items())


def _names(session: JavaObject) -> Iterator[str]:
    text: str = session.conf().getAll().keys().mkString("\0")
    return filter(None, text.split("\0"))
