# SPDX-License-Identifier: Apache-2.0
"""The classes of Spark that bayou knows by their simple names: each is in the JARs of the Spark that runs, or known to be missing.

A renamed class would not fail: a check for its name would answer no, and bayou would take another branch.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from pyspark import find_spark_home
from tests.smoke.operations import Place, operation

SOURCES = Path(__file__).resolve().parent.parent.parent / "src" / "bayou" / "spark"
COMPARED = re.compile(r"(?:getSimpleName\(\)|nodeName\(\)|name\.equals\(|[iI]nclude\(\")[^\n]*")
NAME = re.compile(r'"([A-Z][A-Za-z|0-9]+)"')
EXPRESSIONS = re.compile(r"_HARMLESS = (.*?)\n@dataclass", re.DOTALL)
OWN = {"DeltaStatement", "RowChange"}
SINCE = {
    "AddCheckConstraint": (4, 1),
    "AddConstraint": (4, 1),
    "AlterColumns": (4, 0),
    "Collate": (4, 0),
    "CompoundPlanStatement": (4, 0),
    "DropConstraint": (4, 1),
    "InsertReplaceUsing": (4, 2),
    "InsertReplaceWhere": (4, 2, 1),
    "MergeIntoWriter": (4, 0),
    "SemiStructuredExtract": (4, 1),
    "SingleStatement": (4, 0),
    "UnresolvedCollation": (4, 0),
    "VariableReference": (4, 0),
}
"""The first minor, or patch, that has a class."""
UNTIL = {"CatalogImpl": (4, 0)}
"""The first minor that no longer has a class under this name."""


@operation
def classes_are_called_as_bayou_knows_them(on: Place) -> None:
    version = tuple(int(part) for part in on.spark.version.split("-")[0].split(".")[:3])
    expected = {name for name in _known() if SINCE.get(name, (0,)) <= version < UNTIL.get(name, (99,))}
    missing = sorted(expected - _classes())
    if missing:
        raise AssertionError(f"Spark {on.spark.version} has no {', '.join(missing)}")


def _known() -> set[str]:
    """The names of Spark's classes that bayou's sources compare with."""
    found: set[str] = set()
    for file in [*SOURCES.rglob("*.py"), *SOURCES.rglob("*.java")]:
        text = file.read_text(encoding="utf-8")
        for part in COMPARED.findall(text):
            found |= {name for names in NAME.findall(part) for name in names.split("|")}
        for part in EXPRESSIONS.findall(text):
            found |= set(re.findall(r"\b[A-Z][a-z]\w+\b", part))
    return found - OWN


def _classes() -> set[str]:
    """The simple names of all classes in Spark's own JARs."""
    jars = Path(find_spark_home._find_spark_home()) / "jars"
    found = set()
    for jar in jars.glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.endswith(".class"):
                    found |= set(entry.removesuffix(".class").rpartition("/")[2].split("$"))
    return found
