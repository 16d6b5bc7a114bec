# SPDX-License-Identifier: Apache-2.0
"""Reach the JVM of an application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from bayou.errors import failed

if TYPE_CHECKING:
    from bayou.spark.backend import Backend
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


class HasBackend(Protocol):
    """An `Application`, which is above this module."""

    @property
    def backend(self) -> Backend:
        """What its sessions offer."""
        ...


class _WithJvm(Protocol):
    """What only `NativeBackend` has, which imports this module."""

    @property
    def jvm(self) -> Jvm: ...

    def workbench(self, session: JavaObject) -> JavaObject: ...


def jvm_of(application: HasBackend) -> Jvm:
    """Return the bridge into the JVM of a classic session.

    Raises:
        UnsupportedFeatureError: the session has none.
    """
    if not application.backend.is_native:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="this operation", features=("Spark Connect",))
    return cast("_WithJvm", application.backend).jvm


def workbench_of(application: HasBackend, session: JavaObject) -> JavaObject:
    """Return an internal session for planning, with the time zone of `session`."""
    return cast("_WithJvm", application.backend).workbench(session)
