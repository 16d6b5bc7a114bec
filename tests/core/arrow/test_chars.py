# SPDX-License-Identifier: Apache-2.0
"""CHAR columns are padded as Spark pads them, and trailing spaces do not count in filters on them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.core.arrow.tables import snapshot

from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.schema import StructField, StructType


def column(name, declared):
    return StructField(name, "string", metadata={DECLARED_TYPE: declared})


def test_chars_are_padded_and_varchars_are_not():
    columns = StructType((column("c", "char(3)"), column("v", "varchar(3)")))
    found = snapshot(columns, [pa.table({"c": ["a", None, "é"], "v": ["a", None, "b "]})]).to_arrow()
    assert found.to_pydict() == {"c": ["a  ", None, "é  "], "v": ["a", None, "b "]}


def test_chars_inside_structs_and_lists_are_padded():
    inner = StructType((StructField("c", "string"),))
    columns = StructType((StructField("s", inner, metadata={DECLARED_TYPE: "struct<c:char(2)>"}),))
    found = snapshot(columns, [pa.table({"s": [{"c": "x"}, {"c": "yz"}]})])
    assert found.to_arrow(where=[("s.c", "==", "x")]).to_pylist() == [{"s": {"c": "x "}}]


def test_chars_of_partition_columns_are_padded():
    columns = StructType((StructField("id", "long"), column("p", "char(3)")))
    files = [(pa.table({"id": [number]}), {"partitionValues": {"p": text}}) for number, text in enumerate(["a", "a  ", None])]
    found = snapshot(columns, files, partition_by=["p"])
    assert found.to_arrow(["p"]).to_pydict() == {"p": ["a  ", "a  ", None]}
    for text in ("a", "a ", "a    "):
        assert found.to_arrow(["id"], [("p", "==", text)])["id"].to_pylist() == [0, 1]


STORED = ["a", "a  ", "b  ", "b", None]
KEPT = {
    ("==", "a"): [0, 1],
    ("==", "a      "): [0, 1],
    ("!=", "a "): [2, 3],
    (">", "a  "): [2, 3],
    ("<=", "a"): [0, 1],
    ("==", "a  b"): [],
}


@pytest.mark.parametrize(("operator", "text"), KEPT)
def test_trailing_spaces_do_not_count_in_a_filter_whatever_the_statistics_have(operator, text):
    files = []
    for number, stored in enumerate(STORED):
        bounds = {} if stored is None else {"minValues": {"c": stored}, "maxValues": {"c": stored}}
        stats = {"numRecords": 1, "nullCount": {"c": int(stored is None), "id": 0}, **bounds}
        files.append((pa.table({"id": [number], "c": pa.array([stored], pa.string())}), {"stats": stats}))
    found = snapshot(StructType((StructField("id", "long"), column("c", "char(3)"))), files)
    assert found.to_arrow(["id"], [("c", operator, text)])["id"].to_pylist() == KEPT[operator, text]
    assert found.files(["path"], where=[("c", operator, text)]).num_rows >= len(KEPT[operator, text])


def test_a_list_of_files_has_those_whose_chars_differ_in_spaces_only():
    files = []
    for number, stored in enumerate(["a", "a  ", "b  "]):
        stats = {"numRecords": 1, "nullCount": {"c": 0, "id": 0}, "minValues": {"c": stored, "id": number}}
        stats["maxValues"] = stats["minValues"]
        files.append((pa.table({"id": [number], "c": [stored]}), {"stats": stats}))
    found = snapshot(StructType((StructField("id", "long"), column("c", "char(3)"))), files)
    assert found.files(["path"], where=[("c", "==", "a")]).num_rows >= 2
    assert found.files(["path"], where=[("c", "==", "a "), ("id", "==", 1)]).num_rows == 1


def test_lists_and_negations_of_chars():
    columns = StructType((StructField("id", "long"), column("c", "char(3)")))
    found = snapshot(columns, [pa.table({"id": range(5), "c": STORED})])
    assert found.to_arrow(["id"], [("c", "in", ["a", "z"])])["id"].to_pylist() == [0, 1]
    assert found.to_arrow(["id"], [("c", "not in", ["a", "z"])])["id"].to_pylist() == [2, 3]
    assert found.to_arrow(["id"], [[("c", "==", "a")], [("id", "==", 4)]])["id"].to_pylist() == [0, 1, 4]
