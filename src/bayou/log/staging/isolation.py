# SPDX-License-Identifier: Apache-2.0
"""Isolation levels: how much of what others did a commit may overlook."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from bayou.protocol import properties


class IsolationLevel(enum.Enum):
    """What a commit is checked against; the values are the log's names.

    Source: delta-spark, `isolationLevels.scala`.
    """

    SERIALIZABLE = "Serializable"
    """As if every commit had run alone, in the order of the versions."""

    WRITE_SERIALIZABLE = "WriteSerializable"
    """As if every commit had run alone, in some order: appends that read nothing may come before or after."""

    SNAPSHOT = "SnapshotIsolation"
    """For commits that change no data: added files are no matter, removed ones are."""

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> IsolationLevel:
        """The level that a table asks for through `delta.isolationLevel`; Serializable where it names none that is known."""
        wanted = properties.ISOLATION_LEVEL.read(configuration).lower()
        settable = (cls.SERIALIZABLE, cls.WRITE_SERIALIZABLE)
        return next((level for level in settable if level.value.lower() == wanted), cls.SERIALIZABLE)
