# SPDX-License-Identifier: Apache-2.0
"""What a Java class of the running Spark can be called with: its methods and constructors, read from Java's own descriptions.

Spark releases, and patches of one release, append parameters and change types. bayou asks the class that is there, once for each
class, and never derives a signature from Spark's version or from another class.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bayou.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

Parameters: TypeAlias = "tuple[str, ...]"
"""The types of one method's parameters, as Java names them, for example `("int", "java.lang.String")`."""

NEXT_STEP = "use a Spark release that the README lists, or report this message to bayou."
_MISSING = re.compile(r"(?:Method|Constructor) (.+?\(\[.*?\]\)) does not exist|([\w.$]+) does not exist in the JVM")
"""What py4j says of a call that fits nothing (py4j 0.10.9)."""
_MEMBER = re.compile(r"([\w$.]+)\(([^)]*)\)")


def parse_members(text: str) -> list[tuple[str, Parameters]]:
    """The name and the parameters of each method or constructor in Scala's text of an array of Java's reflection objects.

    Args:
        text: for example `Array(public static int a.B.f(int,java.lang.String) throws a.E, public a.B(int))`.

    Returns:
        One pair for each, in order. A constructor has its class's name.
    """
    found = []
    for each in text.removeprefix("Array(").split(", "):
        member = _MEMBER.search(each)
        if member is not None:
            name, parameters = member.groups()
            found.append((name.rpartition(".")[2], tuple(filter(None, parameters.split(",")))))
    return found


def by_name(members: Sequence[tuple[str, Parameters]]) -> Mapping[str, list[Parameters]]:
    """The parameters of each overload, by the method's name."""
    found: dict[str, list[Parameters]] = {}
    for name, parameters in members:
        found.setdefault(name, []).append(parameters)
    return found


def fitting(overloads: Sequence[Parameters], count: int) -> Parameters | None:
    """The overload with the fewest parameters that takes at least `count` arguments; None if none does."""
    return min((each for each in overloads if len(each) >= count), key=len, default=None)


def unknown_signature(spark_version: str, owner: str, method: str, overloads: Sequence[Parameters], wanted: str) -> SessionError:
    """The error for a method of Spark's that cannot be called as bayou knows it.

    Args:
        method: its name; `<init>` for a constructor.
        wanted: what bayou wanted to call it with, in words.
    """
    takes = " or ".join(f"({', '.join(each)})" for each in overloads) or "nothing: it is not there"
    message = f"Spark {spark_version} has another {owner}.{method} than bayou knows. It takes {takes}; bayou has {wanted}."
    return SessionError(message, next_step=NEXT_STEP)


class MissingClassError(SessionError, LookupError):
    """This Spark has none of the classes by which bayou knows something of Spark's."""


def missing_class(spark_version: str, names: Sequence[str]) -> MissingClassError:
    """The error for a class that this Spark does not have."""
    message = f"Spark {spark_version} has no class {' or '.join(names)}, which bayou needs for this."
    return MissingClassError(message, next_step=NEXT_STEP)


def missing_call(spark_version: str, error: BaseException) -> SessionError | None:
    """The error for a call that py4j could not make, because this Spark has no such method or class; None for another error."""
    found = _MISSING.search(str(error))
    if found is None:
        return None
    message = f"Spark {spark_version} has no {found[1] or found[2]}, which bayou calls for this."
    return SessionError(message, next_step=NEXT_STEP)
