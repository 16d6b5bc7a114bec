# SPDX-License-Identifier: Apache-2.0
"""Logs with any bytes changed: a right answer or an error of bayou's own, never anything else."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import DeltaError
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=5,
)
KINDS = st.sampled_from([None, "classic", "multipart", "v2-json", "v2-parquet"])


def table(kind=None):
    builder = TableBuilder(store=MemoryStore()).create(
        {"id": "long", "p": "string"},
        partition_by=["p"],
        actions=[
            add("a", partitionValues={"p": "1"}, stats={"numRecords": 1}),
            add("b", partitionValues={"p": None}, tags={"k": "v"}),
            {"txn": {"appId": "x", "version": 1}},
        ],
    )
    builder.commit(remove("a"), add("c", partitionValues={"p": "2"}))
    if kind:
        builder.checkpoint(kind)
        builder.checksum()
    return builder.commit(add("d", partitionValues={"p": "3"}))


def look_at_everything(log):
    snapshot = log.snapshot()
    files = snapshot.files()
    files.validate(full=True)
    assert files.num_rows == len(snapshot.files(["path"]))
    for fact in ("schema", "num_files", "size_bytes", "transactions", "domain_metadata", "timestamp", "properties"):
        getattr(snapshot, fact)
    snapshot.partition_texts()
    snapshot.partitions()
    snapshot.statistics({("id",): "long"})
    snapshot.tombstones()
    log.history()
    log.changes(0)
    log.version_at("2024-01-01")


def is_typed(log):
    try:
        look_at_everything(log)
    except DeltaError as found:
        error = found
    else:
        return
    assert error.table, error
    assert str(error)


@given(st.data(), KINDS)
def test_changed_bytes_of_any_file_give_a_typed_error_or_a_table(data, kind):
    builder = table(kind)
    folders = ("_delta_log/", "_delta_log/_sidecars/")
    files = [each.path for folder in folders for each in builder.store.list_from(folder)]
    for path in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=2, unique=True)):
        content = bytearray(builder.store.read(path))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "empty", "delete", "double"])):
            case "flip":
                for place in data.draw(st.lists(st.integers(0, max(len(content) - 1, 0)), min_size=1, max_size=5)):
                    if content:
                        content[place % len(content)] = data.draw(st.integers(0, 255))
            case "cut":
                del content[data.draw(st.integers(0, len(content))) :]
            case "insert":
                place = data.draw(st.integers(0, len(content)))
                content[place:place] = data.draw(st.binary(max_size=5))
            case "empty":
                content.clear()
            case "double":
                content = content * 2
            case "delete":
                builder.delete(path)
                continue
        builder.write(path, bytes(content))
    is_typed(builder.log())


def mutate(data, value):
    """The value with one thing inside it replaced, removed or added."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: mutate(data, value[key])}
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {name: each for name, each in value.items() if name != key}
    return data.draw(JSON)


@given(st.data(), KINDS)
def test_changed_actions_give_a_typed_error_or_a_table(data, kind):
    builder = table(kind)
    names = [each.path for each in builder.store.list_from("_delta_log/") if not each.name.endswith("parquet")]
    path = data.draw(st.sampled_from(names))
    lines = [json.loads(line) for line in builder.store.read(path).splitlines()]
    place = data.draw(st.integers(0, len(lines) - 1))
    lines[place] = mutate(data, lines[place])
    builder.write(path, "\n".join(map(json.dumps, lines)))
    is_typed(builder.log())
