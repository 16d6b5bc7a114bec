# SPDX-License-Identifier: Apache-2.0
"""The error of a command that this version of bayou does not have, and delta-spark's checks of arguments."""

from __future__ import annotations

from typing import Any, Final

from bayou.errors import DeltaError, failed


def not_yet(command: str, table: str | None = None, *, next_step: str = "") -> DeltaError:
    """Return the error of a command that this version of bayou lacks.

    Args:
        command: the command, as SQL or as a method names it.
        table: the table that it is about, where one is known.
        next_step: what the reader can do instead.
    """
    return failed("DELTA_OPERATION_NOT_ALLOWED/not-yet", table=table, next_step=next_step or None, features=(command,))


_KINDS: Final = {str: "a string", int: "an int", bool: "a boolean", dict: "a dict"}


def check_kind(value: Any, kind: type, name: str) -> None:
    """Refuse an argument of another type, as delta-spark's Python does.

    Raises:
        ValueError: it is one.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} needs to be {_KINDS[kind]} but got '{type(value)}'.")  # noqa: TRY004  (delta-spark's error)
