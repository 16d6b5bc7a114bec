# SPDX-License-Identifier: Apache-2.0
"""Statements about metadata, run by delta-spark and by us: the commits that they leave say the same."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest
from tests.interop.metadata_stories import STORIES
from tests.interop.sampled import sampled

import bayou

pytestmark = pytest.mark.oracle

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ENABLED_AT = "delta.inCommitTimestampEnablementTimestamp"
SAID = ("operation", "operationParameters", "isolationLevel", "isBlindAppend", "readVersion", "userMetadata", "tags")
PRESENT = ("inCommitTimestamp", "timestamp", "txnId")

COUNTABLE = "bayou.countable"

REPEATED = "metadata that stay as they are are not written again"
NO_CHANGE = "what changes nothing makes no version"
READS = "a DROP FEATURE reads the table, and says so"
TEXT = "conditions are shown as SQL, without the numbers that Spark gave to columns"
NAMED_LATER = "the hidden columns of row tracking get their names when it is enabled"
IDS, VERSIONS = "delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName"
PRESERVED = "row ids are kept, and the commit says so"
# Where the commits of a story differ, and why: each reason stands in docs/differences.md.
DIFFERENT = {
    "replace: at a path": {(1,): "CREATE OR REPLACE TABLE replaces a table at a path, too"},
    "replace: row tracking": {(1, "info", "tags"): PRESERVED, (2, "info", "tags"): PRESERVED},
    "replace: row tracking that nobody names": {(1, "info", "tags"): PRESERVED, (2, "info", "tags"): PRESERVED},
    "replace: everything stays or goes": {(1, "info", "tags"): PRESERVED},
    "alter: a check with two quotes": dict.fromkeys(
        [(1, "info", "operationParameters", "expr"), (1, "metaData", 0, "configuration", "delta.constraints.c")],
        "two quotes in a text are one quote",
    ),
    "alter: add a timestamp_ntz": {(1, "metaData"): REPEATED},
    "alter: clustering": {(1, "metaData"): REPEATED},
    "properties: a legacy feature by name": {(1, "metaData"): REPEATED},
    "properties: features by name": {(1, "metaData"): REPEATED, (3, "metaData"): REPEATED},
    "properties: versions": {(1, "metaData"): REPEATED, (2, "metaData"): REPEATED},
    "properties: row tracking by its feature": {
        (1, "metaData"): NAMED_LATER,
        (2, "metaData", 0, "configuration", IDS): NAMED_LATER,
        (2, "metaData", 0, "configuration", VERSIONS): NAMED_LATER,
    },
    "methods: drop in-commit timestamps that came later": {(3, "info", "isBlindAppend"): READS, (3, "metaData"): REPEATED},
    "methods: drop in-commit timestamps": {(2, "info", "isBlindAppend"): READS, (2, "metaData"): REPEATED},
    "methods: drop a feature of writers": {(1, "info", "isBlindAppend"): READS, (1, "metaData"): REPEATED},
    "methods: drop checks": {(3, "info", "isBlindAppend"): READS, (3, "metaData"): REPEATED},
    "methods: drop row tracking": {(2, "info", "isBlindAppend"): READS},
    "methods: drop v2 checkpoints": {(5, "info", "isBlindAppend"): READS},
    "methods: drop deletion vectors": {(6, "info", "isBlindAppend"): READS},
    "methods: drop deletion vectors that are there": {
        (2, "info", "operationParameters", "predicate", 0): TEXT,
        (9, "info", "isBlindAppend"): READS,
    },
    "methods: drop type widening": {(3, "info", "isBlindAppend"): READS, (7, "info", "isBlindAppend"): READS},
    "methods: drop vacuum's check": {(4, "info", "isBlindAppend"): READS},
    "methods: drop column mapping": {(5, "info", "isBlindAppend"): READS},
    "no change: clustering": {(2,): NO_CHANGE},
    "write: row changes": dict.fromkeys(
        [
            (2, "info", "operationParameters", "predicate", 0),
            (3, "info", "operationParameters", "predicate", 0),
            (3, "info", "operationParameters", "matchedPredicates", 0, "predicate"),
        ],
        TEXT,
    ),
}


def different(story):
    return DIFFERENT.get(story, {(1,): NO_CHANGE} if story.startswith("no change: ") else {})


def told(path):
    """What the commits of a table say of its metadata, each as one document; what differs in every run is numbered."""
    names = {}
    return [numbered(commit_of(file), names) for file in sorted(Path(path, "_delta_log").glob("*.json"))]


def commit_of(file):
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    info = next(each["commitInfo"] for each in actions if "commitInfo" in each)
    info["operationParameters"] = {name: inside(value) for name, value in info["operationParameters"].items()}
    # A tag of bayou's own, for its checksums.
    tags = {name: value for name, value in info.pop("tags", {}).items() if name != COUNTABLE}
    info |= {"tags": tags} if tags else {}
    found = {
        "info": {name: info[name] for name in SAID if name in info},
        "present": [name for name in PRESENT if name in info],
        "protocol": [sets_of(each["protocol"]) for each in actions if "protocol" in each],
        "metaData": [metadata_of(each["metaData"]) for each in actions if "metaData" in each],
        "domainMetadata": [domain_of(each["domainMetadata"]) for each in actions if "domainMetadata" in each],
    }
    return {name: value for name, value in found.items() if value}


def inside(value):
    """A parameter with the inside of its JSON, in which the order of keys is no matter and spaces are."""
    try:
        found = json.loads(value)
    except (TypeError, ValueError):
        return value
    if not isinstance(found, dict | list) or json.dumps(found, separators=(",", ":"), ensure_ascii=False) != value:
        return value
    return sets_of(found)


def sets_of(document):
    """A protocol with its features in one order: delta-spark's order is that of a hash table."""
    if not isinstance(document, dict):
        return document
    return {key: sorted(value) if key.endswith("Features") and value else value for key, value in document.items()}


def metadata_of(action):
    configuration = {key: "a time" if key == ENABLED_AT else value for key, value in action["configuration"].items()}
    schema = json.loads(action["schemaString"])
    return {**action, "createdTime": type(action["createdTime"]).__name__, "schemaString": schema, "configuration": configuration}


def domain_of(action):
    text = action["configuration"]
    return {**action, "configuration": json.loads(text) if text else text}


def numbered(document, names):
    """A document in which random names have numbers, by where they come first."""
    if isinstance(document, dict):
        return {key: numbered(document[key], names) for key in sorted(document, key=lambda key: (key == "info", key))}
    if isinstance(document, list):
        return [numbered(each, names) for each in document]
    if isinstance(document, str):
        return UUID.sub(lambda found: names.setdefault(found[0], f"<{len(names)}>"), document)
    return document


def statement(step, path):
    """What delta-spark runs for a step."""
    text = step if isinstance(step, str) else step[0]
    return text.replace("{t}", f"delta.`{path}`").replace("{n}", f"t_{Path(path).parent.name}").replace("{p}", path)


def run(spark, path, steps):
    for step in steps:
        if isinstance(step, str):
            spark.sql(statement(step, path))
        else:
            step[1](bayou.DeltaTable.forPath(spark, path))


def differences(theirs, ours, at=()):
    """Where two documents differ: the path, and what each one has there."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from differences(theirs.get(key, "nothing"), ours.get(key, "nothing"), (*at, key))
    elif isinstance(theirs, list) and isinstance(ours, list):
        for number, (first, second) in enumerate(itertools.zip_longest(theirs, ours, fillvalue="nothing")):
            yield from differences(first, second, (*at, number))
    elif theirs != ours:
        yield at, theirs, ours


@pytest.mark.parametrize("story", sampled(STORIES, every=23))
def test_the_commits_of_a_story_say_what_delta_sparks_say(delta_spark, spark, tmp_path, story):
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    steps = STORIES[story]
    delta_spark.sql(*(statement(each, theirs) for each in steps), "select 1")
    run(spark, ours, steps)
    found = list(differences(told(theirs), told(ours)))
    assert [each for each in found if each[0] not in different(story)] == []
    assert {at for at, _, _ in found} == different(story).keys()
