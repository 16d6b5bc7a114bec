# SPDX-License-Identifier: Apache-2.0
"""Recognise the Spark settings that name delta-spark's JARs, and remove those names.

A setting that lists several things keeps the others; one whose list becomes empty is removed.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

PACKAGES: Final = "spark.jars.packages"
JARS: Final = "spark.jars"
EXTENSIONS: Final = "spark.sql.extensions"
CATALOGS: Final = "spark.sql.catalog."

# Classes of the open JARs, wherever Spark's own packages are, and of Databricks' runtime.
_CLASS: Final = re.compile(r"(io\.delta|(\w+\.)+sql\.(delta|transaction\.tahoe))\.[\w.$]+")
_JAR: Final = re.compile(r"delta-(core|spark|storage|contribs|connect|kernel|iceberg|hudi|sharing|standalone)[-_][^/]*\.jar")
_ARGUMENTS: Final = {"--packages": PACKAGES, "--jars": JARS}


def is_package(coordinates: str) -> bool:
    """Whether Maven coordinates name a package of Delta Lake."""
    return coordinates.strip().startswith("io.delta:")


def is_class(name: str) -> bool:
    """Whether a class is from one of delta-spark's JARs."""
    return _CLASS.fullmatch(name.strip()) is not None


def is_jar(path: str) -> bool:
    """Whether a path or URL leads to a JAR of Delta Lake."""
    return _JAR.fullmatch(re.split(r"[/\\]", path.strip())[-1]) is not None


_LISTS: Final[dict[str, Callable[[str], bool]]] = {PACKAGES: is_package, JARS: is_jar, EXTENSIONS: is_class}


def kept_value(name: str, value: Any) -> Any:
    """Return a setting's value without delta-spark's parts; None if nothing remains. Other settings keep their value."""
    if not isinstance(value, str):
        return value
    if name.startswith(CATALOGS) and is_class(value):
        return None
    belongs = _LISTS.get(name)
    parts = value.split(",")
    if belongs is None or not any(map(belongs, parts)):
        return value
    return ",".join(part.strip() for part in parts if part.strip() and not belongs(part)) or None


def without_delta(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without what stock Spark lacks: Delta's extension, catalogs, packages and JARs."""
    kept = {name: (value, kept_value(name, value)) for name, value in settings.items()}
    return {name: after for name, (before, after) in kept.items() if after is not None or before is None}


def submit_arguments(text: str) -> str:
    """Return the arguments of `spark-submit`, as in `PYSPARK_SUBMIT_ARGS`, without delta-spark's parts."""
    words = shlex.split(text)
    kept: list[str] = []
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        is_last = at + 1 == len(words) and not equals
        if is_last or (name not in _ARGUMENTS and name not in {"--conf", "-c"}):
            kept.append(words[at])
            at += 1
            continue
        if not equals:
            at += 1
            value = words[at]
        at += 1
        changed = _argument(name, value)
        if changed is not None:
            kept += [f"{name}={changed}"] if equals else [name, changed]
    return text if kept == words else shlex.join(kept)


def _argument(name: str, value: str) -> str | None:
    if name in _ARGUMENTS:
        found: str | None = kept_value(_ARGUMENTS[name], value)
        return found
    setting, equals, given = value.partition("=")
    after = kept_value(setting.strip(), given)
    return None if after is None else setting + equals + str(after)


def overrides(lines: Iterable[str]) -> dict[str, str]:
    """Return the settings for `spark-submit` that remove packages and JARs of Delta Lake from a `spark-defaults.conf`.

    Args:
        lines: the lines of the file: a name, blanks, `=` or `:`, and a value.
    """
    found = {}
    for line in lines:
        name, _, value = re.sub(r"[\s=:]+", " ", line.strip(), count=1).partition(" ")
        if name in {PACKAGES, JARS}:
            after = kept_value(name, value.strip())
            if after != value.strip():
                found[name] = after or ""
    return found
