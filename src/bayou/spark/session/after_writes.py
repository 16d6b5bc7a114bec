# SPDX-License-Identifier: Apache-2.0
"""Call registered functions after each committed write, such as auto compaction.

The layer of the writers must not import auto compaction, so auto compaction registers itself here.
"""

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
    """A version that a session has committed.

    Attributes:
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


def follow_writes(function: Callable[[NewVersion], object]) -> None:
    """Register a function to call after each write, outside its transaction. The function must not raise.

    Registering the same function again changes nothing.
    """
    if function not in _followers:
        _followers.append(function)


def notify_written(version: NewVersion) -> None:
    """Call all registered functions."""
    for function in _followers:
        function(version)
