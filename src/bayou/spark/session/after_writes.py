# SPDX-License-Identifier: Apache-2.0
"""What follows a write that is committed. Writers cannot import what compacts their table, so that it is registered here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version that a session has written.

    Attributes:
        application: the application.
        spark: the session.
        log: the table's log.
        version: the version.
        storage_options: options for the file system.
        settings: the session's settings.
    """

    application: Application
    spark: SparkSession
    log: DeltaLog
    version: int
    storage_options: Mapping[str, str] = field(repr=False)
    settings: Mapping[str, str] = field(repr=False)


_followers: Final[list[Callable[[NewVersion], object]]] = []


def follow_writes(act: Callable[[NewVersion], object]) -> None:
    """Calls a function after each write, outside of its transaction. The function must not raise.

    Args:
        act: the function. It is registered once, however often this is called.
    """
    if act not in _followers:
        _followers.append(act)


def tell_written(version: NewVersion) -> None:
    """Tells all followers of a write."""
    for act in _followers:
        act(version)
