# SPDX-License-Identifier: Apache-2.0
"""Which delta-spark bayou stands for, and the entry that `importlib.metadata` finds for it."""

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
"""Its name, as it spells it, and what it requires, by the first number of its version."""
_NEWEST: Final = "4.4.0"
"""What bayou is compared with; it runs on Spark 4.0 to 4.2, and none runs on a later one."""
_OF_SPARK_3: Final = "3.3.2"
"""Of the last line that runs on Spark 3.5."""


def delta_spark_version(spark_version: str) -> str:
    """The version of delta-spark that a program on a Spark would have, as far as bayou stands for it.

    Args:
        spark_version: PySpark's version, such as `4.0.1`.
    """
    return _OF_SPARK_3 if spark_version.startswith("3.") else _NEWEST


def artifact(spark_version: str) -> str:
    """The name of delta-spark's JAR for a Spark, as its `configure_spark_with_delta_pip` spells it.

    Args:
        spark_version: PySpark's version, such as `4.0.1`.
    """
    if spark_version.startswith("3."):
        return "delta-spark_2.12"
    return f"delta-spark_{'.'.join(spark_version.split('.')[:2])}_2.13"


class StandInDistribution(Distribution):
    """The metadata of delta-spark, without its files."""

    def __init__(self, version: str) -> None:
        self._version = version

    def read_text(self, filename: str) -> str | None:
        """The text of a metadata file; there is `METADATA` only."""
        if filename != "METADATA":
            return None
        name, requirements = _METADATA[self._version.partition(".")[0]]
        fields = [("Metadata-Version", "2.1"), ("Name", name), ("Version", self._version)]
        fields += [("Summary", "bayou, in the place of delta-spark"), *(("Requires-Dist", each) for each in requirements)]
        return "".join(f"{field}: {value}\n" for field, value in fields)

    def locate_file(self, path: Any) -> Path:
        """There are no files.

        Raises:
            FileNotFoundError: always.
        """
        raise FileNotFoundError(f"{path}: bayou stands for delta-spark, and has none of its files")


class StandInFinder(DistributionFinder):
    """Finds the metadata of delta-spark, and no modules."""

    def __init__(self, version: str) -> None:
        self._version = version

    def find_spec(self, *_: Any) -> None:
        """Modules are others' to find."""

    def find_distributions(self, context: DistributionFinder.Context = DistributionFinder.Context()) -> Iterable[Distribution]:  # noqa: B008
        """The entry of delta-spark, where it or everything is asked for."""
        asked = getattr(context, "name", None)
        if asked is None or re.sub(r"[-_.]+", "-", asked).lower() == _NAME:
            yield StandInDistribution(self._version)
