# SPDX-License-Identifier: Apache-2.0
"""Small tables with random damage in their logs, for the tests of the check."""

from __future__ import annotations

import json
import random
import re
from functools import cache

import pyarrow as pa
from tests.core.checks.building import parquet

from bayou.storage import LocalStore, MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

COMMIT = re.compile(r"_delta_log/\d{20}\.json")
KINDS = (None, "classic", "multipart", "v2-json", "v2-parquet")
VALUES = (None, True, 0, -1, 1 << 70, 1.5, "", "x", "\x00", "{}", "é\ud800", [], [1], {}, {"a": 1}, [["x"]])


FILES = {"a": [1, 2], "b": [3, None], "c": [4], "d": [5, 6, 7]}
"""The data files, and their values of the column `id`."""


@cache
def content_of(file):
    return parquet({"id": pa.array(FILES[file], pa.int64()), "t": pa.array([f"row {each}" for each in FILES[file]])})


def added(file, partition, **more):
    return add(file, partitionValues={"p": partition}, size=len(content_of(file)), **more)


def table(kind):
    """A table of three versions with data files, and a checkpoint of some kind at its second version."""
    builder = TableBuilder(store=MemoryStore())
    for file in FILES:
        builder.write(file, content_of(file))
    builder.create(
        {"id": "long", "p": "string", "t": "string"},
        partition_by=["p"],
        configuration={"delta.appendOnly": "false"},
        actions=[
            added("a", "1", stats={"numRecords": 2, "minValues": {"id": 1}, "maxValues": {"id": 2}, "nullCount": {"id": 0}}),
            added("b", None, tags={"k": "v"}),
            {"txn": {"appId": "x", "version": 1}},
        ],
    )
    builder.commit(remove("a"), added("c", "2", stats={"numRecords": 1}))
    if kind:
        builder.checkpoint(kind)
    builder.checksum()
    builder.commit(added("d", "3")).compact(1, 2)
    return builder


def names(builder):
    return [each.path for folder in ("_delta_log/", "_delta_log/_sidecars/") for each in builder.store.list_from(folder)]


def damage_bytes(builder, chance):
    path = chance.choice(names(builder))
    content = bytearray(builder.store.read(path))
    place = chance.randrange(len(content))
    match chance.choice(["flip", "cut", "insert", "empty", "delete", "double"]):
        case "flip":
            content[place] = chance.randrange(256)
        case "cut":
            del content[place:]
        case "insert":
            content[place:place] = chance.randbytes(chance.randrange(1, 5))
        case "empty":
            content.clear()
        case "double":
            content = content * 2
        case "delete":
            builder.delete(path)
            return
    builder.write(path, bytes(content))


def mutated(value, chance):
    """The value with one thing inside it replaced, removed or renamed."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        rest = {name: each for name, each in value.items() if name != key}
        match chance.randrange(6):
            case 0:
                return rest
            case 1:
                return {**rest, chance.choice(["add", "x", "path", "metaData"]): value[key]}
            case _:
                return {**value, key: mutated(value[key], chance)}
    if isinstance(value, str) and value.startswith("{") and chance.random() < 0.8:
        return json.dumps(mutated(json.loads(value), chance))
    if isinstance(value, list) and value and chance.random() < 0.8:
        return [*value[1:], mutated(value[0], chance)]
    return chance.choice(VALUES)


def damage_action(builder, chance):
    path = chance.choice([each for each in names(builder) if not each.endswith("parquet")])
    lines = [json.loads(line) for line in builder.store.read(path).splitlines()]
    place = chance.randrange(len(lines))
    lines[place] = mutated(lines[place], chance)
    builder.write(path, "\n".join(map(json.dumps, lines)))


def damaged_table(seed):
    """A table with one to four pieces of damage, and the source of chance for more."""
    chance = random.Random(seed)
    builder = table(chance.choice(KINDS))
    for _ in range(chance.randrange(1, 4)):
        damage_action(builder, chance)
    if chance.random() < 0.5:
        damage_bytes(builder, chance)
    return builder, chance


def rearranged_table(seed):
    """A table with one or two pieces of damage whose values all occur somewhere in its log, so that more of them stay sound."""
    chance = random.Random(seed)
    builder = table(chance.choice(KINDS))
    for _ in range(chance.randrange(1, 3)):
        rearrange(builder, chance)
    return builder


def rearrange(builder, chance):
    """Move, double, drop or exchange lines or values, or delete a file that is not a commit."""
    texts = {path: builder.store.read(path).decode() for path in names(builder) if not path.endswith("parquet")}
    lines = {path: [json.loads(line) for line in text.splitlines()] for path, text in texts.items()}
    path, other = (chance.choice([each for each in sorted(lines) if lines[each]]) for _ in range(2))
    place = chance.randrange(len(lines[path]))
    match chance.randrange(7):
        case 0:
            chance.shuffle(lines[path])
        case 1:
            lines[path].insert(chance.randrange(len(lines[path]) + 1), lines[path][place])
        case 2:
            lines[path].pop(place)
        case 3:
            lines[other].insert(chance.randrange(len(lines[other]) + 1), lines[path].pop(place))
        case 4:
            optional = [each for each in names(builder) if not COMMIT.fullmatch(each)]
            for each in chance.sample(optional, min(1, len(optional))):
                builder.delete(each)
            return
        case 5:
            _insert_unknown(lines[path][place], chance)
        case _:
            donors = [each for every in lines.values() for line in every for each in leaves(line)]
            exchange(lines[path][place], donors, chance)
    for each in {path, other}:
        builder.write(each, "\n".join(map(json.dumps, lines[each])))


def _insert_unknown(line, chance):
    inner = [each for each in line.values() if isinstance(each, dict)]
    target = chance.choice([line, *inner])
    target["unknown"] = chance.choice(VALUES)


def leaves(value):
    """The values in a value that are neither objects nor lists."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if inner is None else [leaf for each in inner for leaf in leaves(each)]


def exchange(value, donors, chance):
    """Replace a leaf by another one of its type, in place."""
    places = [(value, key) for key in sorted(value)]
    while True:
        holder, key = chance.choice(places)
        inner = holder[key]
        if isinstance(inner, dict) and inner:
            places = [(inner, each) for each in sorted(inner)]
        elif isinstance(inner, list) and inner:
            places = [(inner, each) for each in range(len(inner))]
        else:
            alike = [each for each in donors if type(each) is type(inner)]
            holder[key] = chance.choice(alike) if alike and chance.random() < 0.8 else chance.choice(VALUES)
            return


def write_to(path, builder):
    """Write the files of a table to a folder of the local disk."""
    store = LocalStore(path)
    for folder in ("", "_delta_log/", "_delta_log/_sidecars/"):
        for each in builder.store.list_from(folder):
            store.put(each.path, builder.store.read(each.path))
