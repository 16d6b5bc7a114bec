# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.protocol.evolution.drop_feature import DROPPABLE
from bayou.protocol.feature_matrix import feature_matrix
from bayou.protocol.features.features import FEATURES, Feature, check_readable

HEADER = ["Feature", "Protocol", "Read", "Write", "Enabled by", "Drop"]


def rows():
    lines = [line for line in feature_matrix().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[:2] == [HEADER, ["---"] * len(HEADER)]
    return {row[0].strip("`"): dict(zip(HEADER, row, strict=True)) for row in cells[2:]}


def test_every_feature_has_a_row():
    assert list(rows()) == sorted(FEATURES, key=str.lower)


@pytest.mark.parametrize(
    ("name", "protocol", "enabled_by"),
    [
        ("appendOnly", "writer 2", "`delta.appendOnly`"),
        ("columnMapping", "reader 2, writer 5", "`delta.columnMapping.mode`"),
        ("deletionVectors", "reader 3, writer 7", "`delta.enableDeletionVectors`"),
        ("timestampNtz", "reader 3, writer 7", "a timestamp_ntz column (new tables)"),
        ("vacuumProtocolCheck", "reader 3, writer 7", "-"),
        ("clustering", "writer 7", "CLUSTER BY"),
    ],
)
def test_a_row_says_what_the_table_of_features_says(name, protocol, enabled_by):
    row = rows()[name]
    assert (row["Protocol"], row["Enabled by"]) == (protocol, enabled_by)


def test_what_is_read_is_what_is_not_refused():
    from bayou.errors import UnsupportedFeatureError
    from bayou.protocol.actions.actions import Protocol

    for name, row in rows().items():
        if FEATURES[name].reader_writer:
            protocol = Protocol(3, 7, (name,), (name,))
            if row["Read"] == "yes":
                check_readable(protocol, "t")
            else:
                with pytest.raises(UnsupportedFeatureError):
                    check_readable(protocol, "t")


def test_writing_is_said_to_work_always_never_or_while_nothing_needs_it(monkeypatch):
    facts = {
        "free": Feature("free", reader_writer=False),
        "never": Feature("never", reader_writer=False, write_blocked=lambda _metadata, _schema: True),
        "used": Feature("used", reader_writer=False, write_blocked=lambda metadata, _schema: bool(metadata.configuration)),
        "unread": Feature("unread", reader_writer=True, read=False),
    }
    monkeypatch.setattr("bayou.protocol.feature_matrix.FEATURES", facts)
    found = {name: row["Write"] for name, row in rows().items()}
    assert found == {"free": "yes", "never": "no", "used": "unless used", "unread": "no"}


def test_each_note_explains_words_of_the_table():
    table, _, notes = feature_matrix().partition("\n\n")
    assert "`unless used`" not in notes  # no feature has it
    assert ("`(new tables)`" in notes) == ("(new tables)" in table) is True


def test_what_can_be_dropped_is_marked():
    assert {name for name, row in rows().items() if row["Drop"] == "yes"} == DROPPABLE
