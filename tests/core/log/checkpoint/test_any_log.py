# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of a random log, of any kind and over one of any kind, says what its commits say."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from tests.support.drawing import SLOW
from tests.support.tables.checkpoints import EVERYTHING, NOW, STATS, builder, from_checkpoint_alone, state, unordered, vector

from bayou.log.checkpoint import contents as checkpoint_contents
from bayou.log.checkpoint.writer import write_checkpoint
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import add, remove

PATHS_IN_LOG = st.sampled_from(["a", "b", "c%20d", "./a", "/memory/table/b"])
STEP = st.one_of(
    st.tuples(st.just("add"), PATHS_IN_LOG, st.sampled_from([None, 1, 2]), st.integers(0, 3)),
    st.tuples(st.just("remove"), PATHS_IN_LOG, st.sampled_from([None, 1, 2]), st.integers(0, 3)),
    st.tuples(st.just("txn"), st.sampled_from("xy"), st.none(), st.integers(0, 3)),
    st.tuples(st.just("domain"), st.sampled_from("xy"), st.booleans(), st.integers(0, 3)),
)
KINDS = st.sampled_from(["classic", "multi-part", "v2"])


def action(kind, name, detail, number):
    if kind == "txn":
        return {"txn": {"appId": name, "version": number}}
    if kind == "domain":
        return {"domainMetadata": {"domain": name, "configuration": str(number), "removed": detail}}
    fields = {} if detail is None else {"deletionVector": vector(detail)}
    if kind == "remove":
        return remove(name, deletionTimestamp=NOW, size=number, **fields)
    stats = [None, STATS, "oops", {**STATS, "tightBounds": False}][number]
    return add(name, stats=stats, size=number, partitionValues={"p": [None, "1", "", "x"][number]}, **fields)


@SLOW
@given(
    st.lists(st.lists(STEP, max_size=5), max_size=6),
    KINDS,
    st.one_of(st.none(), st.tuples(st.integers(0, 5), KINDS)),
    st.integers(1, 3),
)
def test_a_checkpoint_of_any_log_says_what_its_commits_say(steps, kind, base, size):
    # A table with V2 checkpoints has no parts.
    names = EVERYTHING if "v2" in {kind, base and base[1]} else EVERYTHING[:2]
    table = builder(schema={"id": "long", "p": "integer"}, partition_by=["p"], protocol=Protocol(3, 7, names, names))
    with mock.patch.object(checkpoint_contents, "ROWS", size):
        for number, step in enumerate(steps):
            table.commit(*(action(*each) for each in step))
            if base and number == base[0]:
                checkpoint(table, base[1], size)
        before = table.log().snapshot()
        expected = state(before)
        after = from_checkpoint_alone(table, checkpoint(table, kind, size))
    arranged = unordered if "multi-part" in {kind, base and base[1]} else dict
    assert arranged(state(after)) == arranged(expected)


def checkpoint(table, kind, size):
    snapshot = table.log().snapshot()
    with mock.patch("bayou.log.checkpoint.writer._wants_v2", return_value=kind == "v2"):
        has_parts = kind == "multi-part" and "v2Checkpoint" not in snapshot.protocol.writer_features
        return write_checkpoint(snapshot, now_ms=NOW, sidecar_actions=size, part_size=size if has_parts else None)
