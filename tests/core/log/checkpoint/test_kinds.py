# SPDX-License-Identifier: Apache-2.0
"""V2 checkpoints with their sidecars, and checkpoints in parts."""

from __future__ import annotations

import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.tables.checkpoints import (
    NOW,
    STATS,
    V2,
    V2_POLICY,
    actions,
    builder,
    from_checkpoint_alone,
    hint,
    hinted_type,
    rewritten,
    rows,
    spark_type,
    state,
    vector,
)

from bayou.errors import InvalidOptionError
from bayou.log.checkpoint.last_checkpoint import json_checksum
from bayou.log.checkpoint.part_hash import part_of_others, parts_of
from bayou.log.checkpoint.writer import SIDECAR_ACTIONS, write_checkpoint
from bayou.protocol.actions import file_names
from bayou.testing.table_builder import add, remove

# ---- V2 ----


def test_a_v2_checkpoint_has_its_file_actions_in_sidecars():
    table = builder(*(add(f"f{number}", stats=STATS) for number in range(5)), protocol=V2, configuration=V2_POLICY)
    table.commit(remove("f0", deletionTimestamp=NOW), {"txn": {"appId": "a", "version": 1}})
    before = table.log().snapshot()
    written = write_checkpoint(before, now_ms=NOW, sidecar_actions=2)
    top, *sidecars = written.files
    assert re.fullmatch(r"_delta_log/0{19}1\.checkpoint\.[0-9a-f-]{36}\.json", top)
    assert all(re.fullmatch(rf"_delta_log/_sidecars/0{{19}}1\.checkpoint\.0{{9}}{number}\.[0-9a-f-]{{36}}\.parquet", path)
               for number, path in enumerate(sidecars, 1))  # fmt: skip
    lines = [json.loads(line) for line in table.store.read(top).splitlines()]
    assert [next(iter(line)) for line in lines] == ["checkpointMetadata", *["sidecar"] * 3, "protocol", "metaData", "txn"]
    assert [line["sidecar"] for line in lines[1:4]] == [
        {"path": path.rsplit("/", 1)[1], "sizeInBytes": table.store.size(path), "modificationTime": NOW} for path in sidecars
    ]
    assert [len(rows(table, path)) for path in sidecars] == [2, 2, 1]
    assert (written.size, written.num_adds) == (len(lines) + 5, 4)
    assert written.size_in_bytes == sum(table.store.size(path) for path in written.files)
    assert state(from_checkpoint_alone(table, written)) == state(before)


def test_the_hint_of_a_v2_checkpoint_is_complete():
    table = builder(add("a", stats=STATS), protocol=V2, configuration=V2_POLICY)
    written = write_checkpoint(table.log().snapshot(), now_ms=NOW)
    document = hint(table)
    told = document["v2Checkpoint"]
    lines = [json.loads(line) for line in table.store.read(written.files[0]).splitlines()]
    assert document["checksum"] == json_checksum(document)
    assert "checkpointSchema" not in document
    assert (told["path"], told["sizeInBytes"]) == (written.files[0].rsplit("/", 1)[1], table.store.size(written.files[0]))
    assert told["sidecarFiles"] == [lines[1]["sidecar"]]
    assert told["nonFileActions"] == [*lines[2:], lines[0]]
    tags = lines[0]["checkpointMetadata"]["tags"]
    assert (tags["sidecarNumActions"], tags["numOfAddFiles"]) == ("1", "1")
    assert tags["sidecarSizeInBytes"] == str(table.store.size(written.files[1]))
    file = pq.ParquetFile(io.BytesIO(table.store.read(written.files[1])))
    assert hinted_type(json.loads(tags["sidecarFileSchema"])) == spark_type(pa.struct(list(file.schema_arrow)))


def test_a_v2_checkpoint_without_files_has_no_sidecars():
    before, after = rewritten(builder(protocol=V2, configuration=V2_POLICY))
    assert len(after.segment.files) == 1
    assert state(after) == state(before)


@pytest.mark.parametrize(
    ("protocol", "configuration"), [(V2, None), (V2, {"delta.checkpointPolicy": "classic"}), (None, V2_POLICY)]
)
def test_a_checkpoint_is_classic_without_the_policy_or_without_the_feature(protocol, configuration):
    table = builder(add("a"), protocol=protocol, configuration=configuration)
    assert write_checkpoint(table.log().snapshot()).files == (file_names.checkpoint_path(0),)


def test_a_sidecar_holds_as_many_actions_as_delta_spark_s():
    assert SIDECAR_ACTIONS == 50_000


# ---- parts ----


def test_parts_are_a_hash_of_the_path():
    table = builder(*(add(f"f{number}") for number in range(20)), add("v", deletionVector=vector(1)))
    table.commit(*(remove(f"f{number}", deletionTimestamp=NOW) for number in range(5)))
    before = table.log().snapshot()
    written = write_checkpoint(before, now_ms=NOW, part_size=8)
    assert written.files == tuple(file_names.checkpoint_part_path(1, number, 3) for number in (1, 2, 3))
    assert (hint(table)["parts"], hint(table)["size"], written.num_adds) == (3, 23, 16)
    for part, path in enumerate(written.files):
        found = [*actions(table, path, "add"), *actions(table, path, "remove")]
        vectors = [each["deletionVector"] and "uab^-aqEH.-t@S}K{vb[*k^@1" for each in found]
        paths = pa.chunked_array([[each["path"] for each in found]])
        assert set(parts_of(paths, pa.chunked_array([vectors], pa.string()), 3).to_pylist()) == {part}
        assert len(actions(table, path, "protocol")) == (part == part_of_others(3))
    after = from_checkpoint_alone(table, written)
    assert sorted(after.files(["path"])["path"].to_pylist()) == sorted(before.files(["path"])["path"].to_pylist())


def test_parts_that_are_empty_are_written_too():
    table = builder(add("a"), add("b"))
    before = table.log().snapshot()
    written = write_checkpoint(before, part_size=1)
    assert len(written.files) == 2
    assert sorted(from_checkpoint_alone(table, written).files(["path"])["path"].to_pylist()) == ["a", "b"]


def test_one_part_is_a_classic_checkpoint():
    table = builder(add("a"), add("b"))
    assert write_checkpoint(table.log().snapshot(), part_size=2).files == (file_names.checkpoint_path(0),)
    assert "parts" not in hint(table)


def test_a_table_with_the_feature_v2checkpoint_gets_no_parts():
    table = builder(add("a"), protocol=V2)
    with pytest.raises(InvalidOptionError, match="v2Checkpoint"):
        write_checkpoint(table.log().snapshot(), part_size=10)
    assert [status.name for status in table.store.list_from("_delta_log/")] == ["00000000000000000000.json"]


@pytest.mark.parametrize("options", [{"part_size": 0}, {"sidecar_actions": 0}, {"part_size": -1}])
def test_sizes_are_positive(options):
    with pytest.raises(InvalidOptionError, match="positive"):
        write_checkpoint(builder().log().snapshot(), **options)
