# SPDX-License-Identifier: Apache-2.0
"""Call functions after a committed write. Writers cannot import auto compaction, so it is registered here."""

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
    """A version that a session has written. `storage_options` are options for the file system."""

    application: Application
    spark: SparkSession
    log: DeltaLog
    version: int
    storage_options: Mapping[str, str] = field(repr=False)
    settings: Mapping[str, str] = field(repr=False)


_followers: Final[list[Callable[[NewVersion], object]]] = []


def follow_writes(act: Callable[[NewVersion], object]) -> None:
    """Register a function to call after each write, outside its transaction. The function must not raise.

    Registering the same function again changes nothing.
    """
    if act not in _followers:
        _followers.append(act)


def notify_written(version: NewVersion) -> None:
    """Call all registered functions."""
    for act in _followers:
        act(version)
