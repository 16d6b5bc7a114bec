# SPDX-License-Identifier: Apache-2.0
"""Read the methods and constructors of a Java class of the running Spark from Java's own descriptions.

Spark releases, even patch releases, append parameters and change types. bayou asks the running class, once per class, and never
derives a signature from Spark's version or from another class.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bayou.errors import DeltaError, failed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

Parameters: TypeAlias = "tuple[str, ...]"
"""The types of a method's parameters, as Java names them, for example `("int", "java.lang.String")`."""

_MISSING = re.compile(r"(?:Method|Constructor) (.+?\(\[.*?\]\)) does not exist|([\w.$]+) does not exist in the JVM")
"""py4j's messages for a call that fits nothing (py4j 0.10.9)."""
_MEMBER = re.compile(r"([\w$.]+)\(([^)]*)\)")


def parse_members(text: str) -> list[tuple[str, Parameters]]:
    """Parse Scala's string of reflection objects into the name and parameters of each method or constructor.

    Args:
        text: for example `Array(public static int a.B.f(int,java.lang.String) throws a.E, public a.B(int))`.
    """
    members = []
    for text_of_member in text.removeprefix("Array(").split(", "):
        member = _MEMBER.search(text_of_member)
        if member is not None:
            name, parameters = member.groups()
            members.append((name.rpartition(".")[2], tuple(filter(None, parameters.split(",")))))
    return members


def by_name(members: Sequence[tuple[str, Parameters]]) -> Mapping[str, list[Parameters]]:
    """Return the parameters of each overload, by the method's name."""
    overloads: dict[str, list[Parameters]] = {}
    for name, parameters in members:
        overloads.setdefault(name, []).append(parameters)
    return overloads


def fitting(overloads: Sequence[Parameters], count: int) -> Parameters | None:
    """Return the shortest overload that takes at least `count` arguments, or None."""
    return min((parameters for parameters in overloads if len(parameters) >= count), key=len, default=None)


def unknown_signature(spark_version: str, owner: str, method: str, overloads: Sequence[Parameters], wanted: str) -> DeltaError:
    """Return the error for a method of Spark with an unknown signature.

    Args:
        method: its name; `<init>` for a constructor.
        wanted: the arguments that bayou wanted to pass, in words.
    """
    takes = " or ".join(f"({', '.join(each)})" for each in overloads) or "nothing, because it is not there"
    return failed("unknown-signature", spark_version=spark_version, member=f"{owner}.{method}", parameters=takes, wanted=wanted)


def missing_call(spark_version: str, error: BaseException) -> DeltaError | None:
    """Return the error for a call that failed because this Spark lacks the method or class, or None for any other failure."""
    match = _MISSING.search(str(error))
    if match is None:
        return None
    return failed("unknown-call", spark_version=spark_version, member=match[1] or match[2])
