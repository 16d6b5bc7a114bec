# SPDX-License-Identifier: Apache-2.0
"""The version of delta-spark that bayou replaces, and its entry for `importlib.metadata`."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, DistributionFinder
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NAME: Final = "delta-spark"
_METADATA: Final = {
    "3": ("delta-spark", ("pyspark<3.6.0,>=3.5.3", "importlib_metadata>=1.0.0")),
    "4": ("delta_spark", ("pyspark<=4.2.0,>=4.0.1", "importlib_metadata<=8.7.1,>=1.0.0")),
}
"""Its name as the package spells it, and its requirements, by the first number of its version."""
_NEWEST: Final = "4.4.0"
"""The version that bayou is compared with, on Spark 4.0 to 4.2. No delta-spark runs on a later Spark."""
_OF_SPARK_3: Final = "3.3.2"
"""The last version that runs on Spark 3.5."""


def delta_spark_version(spark_version: str) -> str:
    """Return the version of delta-spark that bayou replaces on a version of PySpark, such as `4.0.1`."""
    return _OF_SPARK_3 if spark_version.startswith("3.") else _NEWEST


def artifact(spark_version: str) -> str:
    """Return the name of delta-spark's JAR for a version of PySpark, as `configure_spark_with_delta_pip` spells it."""
    if spark_version.startswith("3."):
        return "delta-spark_2.12"
    return f"delta-spark_{'.'.join(spark_version.split('.')[:2])}_2.13"


class StandInDistribution(Distribution):
    """The metadata of delta-spark, without its files."""

    def __init__(self, version: str) -> None:
        self._version = version

    def read_text(self, filename: str) -> str | None:
        """Return the content of a metadata file; None unless it is `METADATA`."""
        if filename != "METADATA":
            return None
        name, requirements = _METADATA[self._version.partition(".")[0]]
        fields = [("Metadata-Version", "2.1"), ("Name", name), ("Version", self._version)]
        fields += [("Summary", "bayou, in the place of delta-spark"), *(("Requires-Dist", each) for each in requirements)]
        return "".join(f"{field}: {value}\n" for field, value in fields)

    def locate_file(self, path: Any) -> Path:
        """Raise FileNotFoundError: the entry has no files."""
        raise FileNotFoundError(f"{path}: bayou stands for delta-spark, and has none of its files")


class StandInFinder(DistributionFinder):
    """Finds the metadata of delta-spark, and no modules."""

    def __init__(self, version: str) -> None:
        self._version = version

    def find_spec(self, *_: Any) -> None:
        """Find no module."""

    def find_distributions(self, context: DistributionFinder.Context = DistributionFinder.Context()) -> Iterable[Distribution]:  # noqa: B008
        """Yield the entry of delta-spark if the context asks for it or for everything."""
        asked = getattr(context, "name", None)
        if asked is None or re.sub(r"[-_.]+", "-", asked).lower() == _NAME:
            yield StandInDistribution(self._version)
