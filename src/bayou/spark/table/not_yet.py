# SPDX-License-Identifier: Apache-2.0
"""delta-spark's commands that this version of bayou does not have, with their signatures.

Each checks its arguments as delta-spark does, and raises `UnsupportedFeatureError`, whose `features` name the command. A
program that is written for delta-spark thus fails where it asks for such a command, with the reason, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from bayou.errors import UnsupportedFeatureError
from bayou.spark.errors.conversion import raised_as_pyspark


def not_yet(command: str, table: str | None = None, *, next_step: str = "", feature: str = "") -> UnsupportedFeatureError:
    """The error of a command that this version of bayou does not have.

    Args:
        command: the command, as SQL or as a method names it.
        table: the table that it is about, where one is known.
        next_step: what the reader can do instead.
        feature: the command for `features`, if `command` says more.
    """
    return UnsupportedFeatureError(
        f"{command} is not in this version of bayou yet. Nothing was changed.",
        table=table,
        error_class="DELTA_OPERATION_NOT_ALLOWED",
        sql_state="0AKDC",
        next_step=next_step
        or "run it with another engine, such as delta-spark or delta-rs: the table stays an ordinary Delta table.",
        features=[feature or command],
    )


class CommandsNotYet:
    """The methods of delta-spark's `DeltaTable` that bayou's lacks; `DeltaTable` inherits them."""

    _path: str

    @raised_as_pyspark
    def clone(
        self,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002, N803
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Mapping[str, str] | None = None,
    ) -> Any:
        """Would make a table of its own from this one's latest version (CLONE).

        Args:
            target: where the clone goes.
            isShallow: whether it shares this table's files.
            replace: whether a table that is there is replaced.
            properties: its properties, beside this table's.

        Raises:
            ValueError: an argument is not of its type.
            UnsupportedFeatureError: always, for arguments that are.
        """
        self._no_clone(target, isShallow, replace, properties)

    @raised_as_pyspark
    def cloneAtVersion(  # noqa: N802
        self,
        version: int,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002, N803
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Mapping[str, str] | None = None,
    ) -> Any:
        """Would make a table of its own from a version of this one; see `clone`."""
        check_kind(version, int, "version")
        self._no_clone(target, isShallow, replace, properties)

    @raised_as_pyspark
    def cloneAtTimestamp(  # noqa: N802
        self,
        timestamp: str,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002, N803
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Mapping[str, str] | None = None,
    ) -> Any:
        """Would make a table of its own from this one as it was at a time; see `clone`."""
        check_kind(timestamp, str, "timestamp")
        self._no_clone(target, isShallow, replace, properties)

    def _no_clone(self, target: Any, is_shallow: Any, replace: Any, properties: Any) -> NoReturn:
        check_kind(target, str, "target")
        check_kind(is_shallow, bool, "isShallow")
        check_kind(replace, bool, "replace")
        if properties is not None:
            check_kind(properties, dict, "properties")
            for key, value in properties.items():
                check_kind(key, str, f"All property keys including {key}")
                check_kind(value, str, f"All property values including {value}")
        raise not_yet("CLONE", self._path)


_KINDS: Final = {str: "a string", int: "an int", bool: "a boolean", dict: "a dict"}


def check_kind(value: Any, kind: type, name: str) -> None:
    """Refuse an argument of another type, as delta-spark's Python does.

    Raises:
        ValueError: it is one.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} needs to be {_KINDS[kind]} but got '{type(value)}'.")  # noqa: TRY004  (delta-spark's error)
