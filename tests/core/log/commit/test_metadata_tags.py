# SPDX-License-Identifier: Apache-2.0
"""The tags of a commit that say how little of the metadata it changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.support.operations.transactions import SCHEMA

from bayou.log.commit.prepared import metadata_tags
from bayou.protocol.actions.actions import Metadata

TRACKING = {"delta.enableRowTracking": "true", "delta.rowTracking.materializedRowIdColumnName": "_id"}
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}


def identity(mark):
    column = {"name": "k", "type": "long", "nullable": True, "metadata": {**IDENTITY, "delta.identity.highWaterMark": mark}}
    return replace(Metadata("id", json.dumps({"type": "struct", "fields": [column]})), configuration={})


@pytest.mark.parametrize(
    ("before", "after", "tags"),
    [
        (Metadata("id", SCHEMA), Metadata("id", SCHEMA, configuration=TRACKING), {"rowTrackingEnablementOnly": "true"}),
        (Metadata("id", SCHEMA), Metadata("id", SCHEMA, configuration={**TRACKING, "mine": "x"}), {}),
        (Metadata("id", SCHEMA, configuration=TRACKING), Metadata("id", SCHEMA), {}),
        (identity(1), identity(5), {"delta.identity.schemaUpdate": "true"}),
        (identity(1), replace(identity(5), description="x"), {}),
        (identity(1), identity(1), {}),
    ],
)
def test_tags_say_how_little_a_commits_metadata_change(before, after, tags):
    assert metadata_tags(before, after) == tags
