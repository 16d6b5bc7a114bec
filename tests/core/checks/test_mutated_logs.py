# SPDX-License-Identifier: Apache-2.0
"""Logs with random damage: the check ends with a report and without a crash, and what it calls sound can be read."""

from __future__ import annotations

import json
import os
import random

from tests.core.checks.building import found
from tests.support.cases import in_one_test

from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

SEEDS = range(int(os.environ.get("CHECKED_LOGS", "100")))
KINDS = (None, "classic", "multipart", "v2-json", "v2-parquet")
VALUES = (None, True, 0, -1, 1 << 70, 1.5, "", "x", "\x00", "{}", "é\ud800", [], [1], {}, {"a": 1}, [["x"]])


def table(kind):
    builder = TableBuilder(store=MemoryStore()).create(
        {"id": "long", "p": "string"},
        partition_by=["p"],
        configuration={"delta.appendOnly": "false"},
        actions=[
            add("a", partitionValues={"p": "1"}, stats={"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 2}}),
            add("b", partitionValues={"p": None}, tags={"k": "v"}),
            {"txn": {"appId": "x", "version": 1}},
        ],
    )
    builder.commit(remove("a"), add("c", partitionValues={"p": "2"}, stats={"numRecords": 1}))
    if kind:
        builder.checkpoint(kind)
    builder.checksum()
    builder.commit(add("d", partitionValues={"p": "3"})).compact(1, 2)
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


@in_one_test("seed", SEEDS)
def test_a_damaged_log_gives_a_report(seed):
    chance = random.Random(seed)
    builder = table(chance.choice(KINDS))
    for _ in range(chance.randrange(1, 4)):
        damage_action(builder, chance)
    if chance.random() < 0.5:
        damage_bytes(builder, chance)
    report = found(builder, files=chance.random() < 0.3, footers=chance.random() < 0.3)
    if report.exit_code == 0:
        builder.log().snapshot().files().validate(full=True)
