# SPDX-License-Identifier: Apache-2.0
"""Transfer per-file facts into the JVM in a number of py4j calls that does not depend on the number of files.

Each Arrow column crosses as one byte buffer. The loop over it runs in the JVM: `java.lang.invoke` composes existing methods into
a function of an index, and a stream maps it over a range. No class is compiled.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from bayou.spark.jvm.core.session import dataset

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_INTERNAL_ROW = "org.apache.spark.sql.catalyst.InternalRow"
_PARTITION_DIRECTORY = "org.apache.spark.sql.execution.datasources.PartitionDirectory"
_ARROW_CONVERTERS = "org.apache.spark.sql.execution.arrow.ArrowConverters"

_SPARK_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
}

LOCAL_BATCH_BYTES = 16 << 20
"""The maximum size of an Arrow batch. Above 48 MB Spark would make an RDD of them, and run a job.

Source: `spark.sql.execution.arrow.localRelationThreshold`.
"""


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files grouped by the directory in which Spark sees them.

    Attributes:
        uris: absolute URIs of the files, not percent-encoded; the files of one directory are adjacent.
        sizes: bytes.
        modification_times: milliseconds since the epoch.
        ends: for each directory, the position after its last file.
        rows: for each directory, the index of its row of constants.
    """

    uris: pa.Array
    sizes: pa.Array
    modification_times: pa.Array
    ends: pa.Array
    rows: pa.Array


class Bulk:
    """The bulk transfers of one JVM."""

    _instances: WeakKeyDictionary[Jvm, Bulk] = WeakKeyDictionary()

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._handles = jvm.static("java.lang.invoke.MethodHandles")
        self._lookup = self._handles.publicLookup()
        self._int = jvm.static("java.lang.Integer").TYPE

    @classmethod
    def of(cls, jvm: Jvm) -> Bulk:
        """Return the transfers of this JVM. They compose their method handles once."""
        if jvm not in cls._instances:
            cls._instances[jvm] = cls(jvm)
        return cls._instances[jvm]

    def strings(self, values: pa.Array) -> JavaObject:
        """Return a `String[]`. The values hold no NULL and no NUL character."""
        if len(values) == 0:
            return self._jvm.gateway.new_array(self._jvm.static("java.lang.String"), 0)
        together = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values.cast(pa.string()))
        joined = pc.binary_join(together, "\0")[0]
        buffer = self._jvm.static("java.nio.ByteBuffer").wrap(bytearray(joined.as_buffer()))
        # A CharBuffer stays in the JVM; py4j would return a String to Python.
        text = self._jvm.static("java.nio.charset.StandardCharsets").UTF_8.decode(buffer)
        return self._jvm.static("java.util.regex.Pattern").compile("\0").split(text, -1)

    def longs(self, values: pa.Array) -> JavaObject:
        """Return a `long[]`. The values hold no NULL."""
        return self._primitives(values.cast(pa.int64()), self._jvm.static("long"), "asLongBuffer")

    def ints(self, values: pa.Array) -> JavaObject:
        """Return an `int[]`. The values hold no NULL."""
        return self._primitives(values.cast(pa.int32()), self._jvm.static("int"), "asIntBuffer")

    def doubles(self, values: pa.Array) -> JavaObject:
        """Return a `double[]`. The values hold no NULL."""
        return self._primitives(values.cast(pa.float64()), self._jvm.static("double"), "asDoubleBuffer")

    def _primitives(self, values: pa.Array, kind: Any, view: str) -> JavaObject:
        width = values.type.bit_width // 8
        buffer = values.buffers()[1].slice(values.offset * width, len(values) * width) if len(values) else b""
        out = self._jvm.gateway.new_array(kind, len(values))
        little = self._jvm.static("java.nio.ByteOrder").LITTLE_ENDIAN
        getattr(self._jvm.static("java.nio.ByteBuffer").wrap(bytearray(buffer)).order(little), view)().get(out)
        return out

    def rows(self, session: JavaObject, table: pa.Table, projection: list[str]) -> JavaObject:
        """Return the rows of an Arrow table as an array of `InternalRow`s, computed by Spark without a job.

        Args:
            session: the JVM session that evaluates the expressions. Its settings must be pinned: some change how Spark reads Arrow.
            projection: SQL expressions, one for each column of the result.
        """
        batches = [
            bytearray(batch.serialize().to_pybytes())
            for batch in table.combine_chunks().to_batches(_rows_for(table, LOCAL_BATCH_BYTES))
        ]
        arrays = [self._rows_of_batch(session, batch, table.schema, projection) for batch in batches]
        if len(arrays) == 1:
            return arrays[0]
        joined = self._jvm.gateway.new_array(self._jvm.static(_INTERNAL_ROW), sum(map(len, arrays)))
        position = 0
        for array in arrays:
            self._jvm.static("java.lang.System").arraycopy(array, 0, joined, position, len(array))
            position += len(array)
        return joined

    def _rows_of_batch(self, session: JavaObject, batch: bytearray, schema: pa.Schema, projection: list[str]) -> JavaObject:
        fields = [{"name": f.name, "type": _SPARK_TYPES[f.type], "nullable": True, "metadata": {}} for f in schema]
        frame = self._dataset(session, batch, json.dumps({"type": "struct", "fields": fields}))
        expressions = self.strings(pa.array(projection, pa.string()))
        return frame.selectExpr(expressions).queryExecution().executedPlan().executeCollect()

    def dataset(self, session: JavaObject, own: JavaObject, table: pa.Table, schema: str) -> JavaObject:
        """Return a small Arrow table as a Dataset that can be collected without a job.

        Args:
            session: the user's JVM session, which the Dataset belongs to.
            own: the JVM session that creates the rows. Its settings must be pinned: some change how Spark reads Arrow.
            schema: the Spark schema, in Spark's JSON.
        """
        # Combined chunks are one batch, or none if the table is empty.
        batches = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        made = self._dataset(own, bytearray(batches[0].serialize().to_pybytes()), schema)
        return dataset(self._jvm, session, made.queryExecution().analyzed())

    def _dataset(self, session: JavaObject, batch: bytearray, schema: str) -> JavaObject:
        one = self._jvm.static("java.util.Collections").singletonList(batch).iterator()
        iterator = self._jvm.static("scala.collection.JavaConverters").asScalaIteratorConverter(one).asScala()
        return self._jvm.call(self._jvm.module(_ARROW_CONVERTERS), "toDataFrame", iterator, schema, session)

    def directories(self, group: FileGroup, rows: JavaObject | None) -> JavaObject:
        """Return a Scala `Seq` of `PartitionDirectory`, like `FileIndex.listFiles`.

        The rows are an array of `InternalRow`s; None for a single directory without constants.
        """
        statuses = self._statuses(group)
        if rows is None:
            rows = self._jvm.gateway.new_array(self._jvm.static(_INTERNAL_ROW), 1)
            rows[0] = self._jvm.static(_INTERNAL_ROW).empty()
        ends = group.ends.cast(pa.int64())
        starts = pa.concat_arrays([pa.array([0], pa.int64()), ends])[: len(ends)]
        per_group = self._bind(self._directory, [rows, self.ints(group.rows), statuses, self.ints(starts), self.ints(ends)])
        made = self._map_range(len(ends), per_group)
        return self._jvm.static("org.apache.spark.api.python.PythonUtils").toSeq(self._jvm.static("java.util.Arrays").asList(made))

    def _statuses(self, group: FileGroup) -> JavaObject:
        arrays = [self.longs(group.sizes), self.longs(group.modification_times), self.strings(group.uris)]
        made = self._map_range(len(group.uris), self._bind(self._status, arrays))
        return self._jvm.static("java.util.Arrays").copyOf(made, len(group.uris), self._class("[Lorg.apache.hadoop.fs.FileStatus;"))

    def matching(self, rows: JavaObject, predicate: JavaObject) -> list[int]:
        """Return the positions of the rows for which a bound Catalyst predicate is true."""
        row_class = self._jvm.java_class(_INTERNAL_ROW)
        boolean = self._jvm.static("java.lang.Boolean").TYPE
        evaluate = self._lookup.findVirtual(predicate.getClass(), "eval", self._type(boolean, row_class)).bindTo(predicate)
        row = self._element(self._class(f"[L{_INTERNAL_ROW};"))
        test = self._collect(evaluate, [row])
        bound = self._bind(test, [rows])
        function = self._jvm.static("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(
            self._class("java.util.function.IntPredicate"), bound
        )
        positions = self._jvm.static("java.util.stream.IntStream").range(0, len(rows)).filter(function).toArray()
        text = self._jvm.static("java.util.Arrays").toString(positions)
        return [int(number) for number in text[1:-1].split(", ") if number]

    # The composed functions: (arrays..., index) -> object. They are made once; `_bind` passes them their arrays.

    @cached_property
    def _status(self) -> JavaObject:
        """(long[] sizes, long[] times, String[] uris, int i) -> FileStatus."""
        long, boolean = self._jvm.static("java.lang.Long").TYPE, self._jvm.static("java.lang.Boolean").TYPE
        path = self._class("org.apache.hadoop.fs.Path")
        nothing = self._jvm.static("java.lang.Void").TYPE
        make = self._lookup.findConstructor(
            self._class("org.apache.hadoop.fs.FileStatus"),
            self._type(nothing, long, boolean, self._int, long, long, path),
        )
        make = self._handles.insertArguments(make, 1, self._jvm.objects([False, 0]))  # no directory, no replication
        new_path = self._lookup.findConstructor(path, self._type(nothing, self._class("java.lang.String")))
        longs = self._element(self._class("[J"))
        uri = self._handles.filterReturnValue(self._element(self._class("[Ljava.lang.String;")), new_path)
        # The block size is the file's size: bayou's files have no block locations for which it would matter.
        collected = self._collect(make, [longs, longs, longs, uri])
        kinds = [self._class("[J"), self._class("[J"), self._class("[Ljava.lang.String;"), self._int]
        return self._permute(collected, kinds, [0, 3, 0, 3, 1, 3, 2, 3])

    @cached_property
    def _directory(self) -> JavaObject:
        """(InternalRow[] rows, int[] which, FileStatus[] files, int[] starts, int[] ends, int i) -> PartitionDirectory."""
        directory = self._jvm.java_class(_PARTITION_DIRECTORY)
        row, statuses = self._jvm.java_class(_INTERNAL_ROW), self._class("[Lorg.apache.hadoop.fs.FileStatus;")
        objects, rows, ints = self._class("[Ljava.lang.Object;"), self._class(f"[L{_INTERNAL_ROW};"), self._class("[I")
        make = self._lookup.findStatic(directory, "apply", self._type(directory, row, statuses))
        copy = self._lookup.findStatic(
            self._class("java.util.Arrays"), "copyOfRange", self._type(objects, objects, self._int, self._int)
        )
        copy = copy.asType(self._type(statuses, statuses, self._int, self._int))
        slices = self._collect(copy, [self._handles.identity(statuses), self._element(ints), self._element(ints)])
        constants = self._collect(self._element(rows), [self._handles.identity(rows), self._element(ints)])
        made = self._collect(make, [constants, slices])
        return self._permute(made, [rows, ints, statuses, ints, ints, self._int], [0, 1, 5, 2, 3, 5, 4, 5])

    def _collect(self, outer: JavaObject, inner: list[JavaObject]) -> JavaObject:
        """Return `outer(inner0(...), inner1(...), ...)` with the parameters of all inner functions in sequence."""
        for position in reversed(range(len(inner))):
            outer = self._handles.collectArguments(outer, position, inner[position])
        return outer

    def _permute(self, handle: JavaObject, parameters: list[JavaObject], order: list[int]) -> JavaObject:
        kind = self._type(handle.type().returnType(), *parameters)
        return self._handles.permuteArguments(handle, kind, self._jvm.array(self._jvm.static("int"), order))

    def _bind(self, handle: JavaObject, arrays: list[JavaObject]) -> JavaObject:
        return self._handles.insertArguments(handle, 0, self._jvm.objects(arrays))

    def _map_range(self, count: int, handle: JavaObject) -> JavaObject:
        function = self._jvm.static("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(
            self._class("java.util.function.IntFunction"), handle
        )
        return self._jvm.static("java.util.stream.IntStream").range(0, count).mapToObj(function).toArray()

    def _element(self, array_class: JavaObject) -> JavaObject:
        return self._handles.arrayElementGetter(array_class)

    def _type(self, returns: JavaObject, *parameters: JavaObject) -> JavaObject:
        kinds = self._jvm.array(self._jvm.static("java.lang.Class"), parameters)
        return self._jvm.static("java.lang.invoke.MethodType").methodType(returns, kinds)

    def _class(self, name: str) -> JavaObject:
        return self._jvm.static("java.lang.Class").forName(name, False, self._jvm.loader)


def _rows_for(table: pa.Table, nbytes: int) -> int:
    rows: int = table.num_rows
    return max(1, min(rows, nbytes * max(rows, 1) // max(int(table.nbytes), 1)))
