# SPDX-License-Identifier: Apache-2.0
"""Order rows along a curve through some columns, and write them as files of a good size.

There are three jobs for any number of columns, cubes and partitions. The first samples the columns, and finds the bounds that
divide their values into ranks. The second counts the rows of each cell. Python assigns the cells to files. The third reads the
files, sends each row to the task of its file, and writes. Cubes that become one file need only the third.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.maintenance.cells import CellFiles, Grid, assign_files, keys_of_tasks
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.maintenance.rewrite import rewrite_rows
from bayou.spark.read.stored_rows import FILE, GROUP, ROW, rows_by_group
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.maintenance.curve_columns import CurveColumn
    from bayou.spark.read.session_table import SessionTable

_PLACE: Final = "__bayou_place"
"""The column with the position of a row's cell among the cells."""
_OF_A_BOUND: Final = 64
"""How many rows of the sample there are for each bound."""
_LEAST_SAMPLE: Final = 8192
_MOST_SAMPLE: Final = 4_000_000
"""The maximum number of rows in the sample, for all cubes together."""
_BYTES_OF_A_ROW: Final = 8
"""The assumed bytes of a row if the log does not state the number of rows."""
_SHARES: Final = 1 << 20
"""Into how many parts a cell can be split."""
_SEED: Final = 42


def write_in_order(
    table: SessionTable,
    snapshot: Snapshot,
    positions: pa.Array,
    cubes: pa.Array,
    outputs: Sequence[int],
    columns: Sequence[CurveColumn],
    *,
    uncommitted: UncommittedFiles,
) -> NewFiles:
    """Rewrite the rows of some files, those of each cube along a curve. Nothing is committed.

    Task numbers follow the cubes: the first `outputs[0]` tasks write the files of cube 0, and so on.

    Args:
        cubes: for each file the number of its cube; the files of a cube are of one partition.
        uncommitted: takes over the new files.

    Raises:
        InvalidCommitError: the new files do not hold as many rows as the old ones.
    """
    cells = None if max(outputs) == 1 else _Cells(table, snapshot, positions, cubes, outputs, columns)
    rows = rows_by_group(table.application, table.spark, snapshot, positions, cubes, options=table.options)
    arranged = _arranged(table, rows, outputs, cells)
    return rewrite_rows(table, snapshot, positions, arranged, uncommitted, is_arranged=True)


def first_tasks(outputs: Sequence[int]) -> list[int]:
    """Return the number of each cube's first task."""
    return [0, *accumulate(outputs)][: len(outputs)]


class _Cells:
    """The cells of the rows to order."""

    def __init__(
        self,
        table: SessionTable,
        snapshot: Snapshot,
        positions: pa.Array,
        cubes: pa.Array,
        outputs: Sequence[int],
        columns: Sequence[CurveColumn],
    ) -> None:
        self._table = table
        self._outputs = outputs
        self._grid = Grid.of(len(columns), outputs)
        self._used = columns[: self._grid.columns]
        divided = pa.array([count > 1 for count in outputs]).take(cubes)
        self._rows = rows_by_group(
            table.application,
            table.spark,
            snapshot,
            positions.filter(divided),
            cubes.filter(divided),
            columns=[column.top for column in self._used],
            options=table.options,
        )
        guessed = pc.divide(snapshot.files(["size"])["size"].combine_chunks().take(positions), _BYTES_OF_A_ROW)
        rows = pc.coalesce(snapshot.live_rows(positions), guessed)
        counts = pa.table({"cube": cubes, "rows": rows}).group_by("cube").aggregate([("rows", "sum")])
        rows_by_cube = dict(zip(counts["cube"].to_pylist(), counts["rows_sum"].to_pylist(), strict=True))
        self._num_rows = [rows_by_cube[number] for number in range(len(outputs))]
        self._bounds = self._found_bounds()
        self.files = self._assigned()

    def key(self) -> Column:
        """Return the cell of a row."""
        backend, spark = self._table.application.backend, self._table.spark
        lookups = backend.lookups(spark)
        key = F.col(GROUP).cast("bigint")
        for column, bounds in zip(self._used, self._bounds, strict=True):
            ranked = F.coalesce(lookups.rank(bounds, F.col(GROUP), backend.own_column(spark, column.value)) + 1, F.lit(0))
            key = F.shiftleft(key, self._grid.bits).bitwiseOR(ranked.cast("bigint"))
        return key

    def _found_bounds(self) -> list[Any]:
        """Return the bounds of each column's values in each cube, from a sample."""
        phase("sampling")
        backend, spark = self._table.application.backend, self._table.spark
        lookups = backend.lookups(spark)
        of_cube = max(_LEAST_SAMPLE, _OF_A_BOUND * self._grid.most_bounds)
        of_cube = min(of_cube, max(self._grid.most_bounds, _MOST_SAMPLE // len(self._outputs)))
        shares = pa.array([min(1.0, of_cube / max(1, rows)) for rows in self._num_rows], pa.float64())
        sample = self._rows.where(F.rand(_SEED) < lookups.looked_up(shares, F.col(GROUP)))
        names = [f"v{number}" for number in range(len(self._used))]
        values = [backend.own_column(spark, each.cut).alias(name) for each, name in zip(self._used, names, strict=True)]
        sampled = sample.select(GROUP, *values)
        nothing = [F.lit(None).cast(field.dataType) for field in sampled.schema.fields[1:]]
        # A cube may have no row in the sample.
        empty_cubes = spark.range(0, len(self._outputs), 1, 1).select(F.col("id").cast("int"), *nothing)
        lists = (F.sort_array(F.collect_list(name)).alias(name) for name in names)
        ascending = sampled.union(empty_cubes).groupBy(GROUP).agg(*lists)
        of_cubes = ascending.select(GROUP, *(self._quantiles(name).alias(name) for name in names))
        row = of_cubes.agg(F.sort_array(F.collect_list(F.struct(GROUP, *names))).alias("cubes"))
        columns = []
        for name in names:
            sizes = F.transform(f"cubes.{name}", lambda each: F.size(each).cast("string"))
            columns += [F.flatten(f"cubes.{name}").alias(name), F.array_join(sizes, ",").alias(f"{name}_sizes")]
        return lookups.bounds_of(row.select(*columns), [each.kind for each in self._used])

    def _quantiles(self, ascending: str) -> Column:
        """Return distinct values that divide some values into equal parts, at most as many as the grid has bounds."""
        parts = self._grid.most_bounds + 1
        size = F.size(ascending)
        places = F.sequence(F.lit(1), F.lit(parts - 1))
        bounds = F.transform(places, lambda part: F.get(ascending, F.floor(size * part / parts).cast("int")))
        return F.array_compact(F.array_distinct(bounds))

    def _assigned(self) -> CellFiles:
        """Return the file of each cell, by its number of rows."""
        phase("counting")
        counted = self._rows.select(self.key().alias("key")).groupBy("key").count().collect()
        keys, counts = pa.array([cell[0] for cell in counted], pa.int64()), pa.array([cell[1] for cell in counted], pa.int64())
        return assign_files(keys, counts, self._grid, self._outputs, first_tasks(self._outputs))


def _arranged(table: SessionTable, rows: DataFrame, outputs: Sequence[int], cells: _Cells | None) -> DataFrame:
    """Repartition the rows into one partition for each new file."""
    backend, count = table.application.backend, sum(outputs)
    lookups = backend.lookups(table.spark)
    names = [quoted_name(name) for name in backend.names_of(rows) if name not in (GROUP, FILE, ROW)]
    file = lookups.looked_up(pa.array(first_tasks(outputs), pa.int32()), F.col(GROUP))
    if cells is not None:
        files = cells.files
        rows = rows.withColumn(_PLACE, lookups.place_in(files.keys, cells.key()))
        of_cell = lookups.looked_up(files.first, F.col(_PLACE))
        if files.are_split:
            share = F.pmod(F.hash(F.col(ROW), F.col(FILE)), F.lit(_SHARES)) / _SHARES
            of_cell = of_cell + lookups.looked_up(files.width, F.col(_PLACE)) * share
        is_one = lookups.looked_up(pa.array([int(each == 1) for each in outputs], pa.int32()), F.col(GROUP)) == 1
        file = F.when(is_one, file).otherwise(F.floor(of_cell).cast("int"))
    key = lookups.looked_up(pa.array(keys_of_tasks(count), pa.int32()), file)
    return rows.repartition(count, key).select(*names)
