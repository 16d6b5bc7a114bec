# SPDX-License-Identifier: Apache-2.0
"""Two tables with files that differ in their statistics, and the files that a query reads of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bayou

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

FILES = 4
COLUMNS = (
    "id",
    "int(id % 4) as x",
    "id * 10 as y",
    "concat('k', lpad(string(id), 2, '0')) as s",
    "named_struct('f', int(id), 'g', 'g') as st",
    "if(id % 5 = 0, null, id) as n",
)


@dataclass(frozen=True)
class Table:
    """A table with the ids 0 to 9 in file 0, 10 to 19 in file 1, and so on."""

    path: str
    files: tuple[str, ...]

    @contextmanager
    def only(self, numbers: set[int]) -> Iterator[None]:
        """Within it, all other files of the table are gone."""
        hidden = [Path(file) for number, file in enumerate(self.files) if number not in numbers]
        for file in hidden:
            file.rename(file.with_suffix(".gone"))
        try:
            yield
        finally:
            for file in hidden:
                file.with_suffix(".gone").rename(file)

    def read_by(self, frame: DataFrame) -> set[int]:
        """The numbers of the files that a query reads of the table."""
        names = {Path(file).name: number for number, file in enumerate(self.files)}
        return {names[name] for file in frame.inputFiles() if (name := file.rpartition("/")[2]) in names}


def table_in(spark, path) -> Table:
    files: list[str] = []
    for number in range(FILES):
        frame = spark.range(number * 10, number * 10 + 10, 1, 1).selectExpr(*COLUMNS)
        bayou.write(frame, path, mode="append")
        files += set(bayou.open(path).snapshot().files(["path"])["path"].to_pylist()) - set(files)
    return Table(path, tuple(str(Path(path) / each) for each in files))


@pytest.fixture(scope="session")
def tables(spark, tmp_path_factory):
    """The tables a and b."""
    folder = tmp_path_factory.mktemp("pruning")
    return table_in(spark, str(folder / "a")), table_in(spark, str(folder / "b"))


def rows(frame):
    return sorted(map(str, frame.collect()))
