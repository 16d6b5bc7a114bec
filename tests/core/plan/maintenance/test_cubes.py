# SPDX-License-Identifier: Apache-2.0
"""The cubes that tags of files name."""

from __future__ import annotations

import pyarrow as pa

from bayou.plan.maintenance.cubes import cube_facts


def files(*tags, providers=None):
    kind = pa.map_(pa.string(), pa.string())
    columns = {
        "tags": pa.chunked_array([pa.array([each and list(each.items()) for each in tags], kind)]),
        "clustering_provider": pa.chunked_array([pa.array(providers or [None] * len(tags), pa.string())]),
    }
    return pa.table(columns)


def lists(found):
    return found.ids.to_pylist(), found.are_others.to_pylist(), found.known.to_pylist()


def test_cubes_of_clustering_columns_and_of_others():
    given = files(
        None,
        {"ZCUBE_ID": "a", "ZCUBE_ZORDER_BY": '["id"]'},
        {"ZCUBE_ID": "b", "ZCUBE_ZORDER_BY": '["x"]'},
        {"ZCUBE_ID": "c", "ZCUBE_ZORDER_BY": '["id"]'},
        {"ZCUBE_ID": "d"},
        {"ZCUBE_ID": "e", "ZCUBE_ZORDER_BY": "no JSON"},
        providers=[None, "liquid", None, "another", None, None],
    )
    found = lists(cube_facts(given, ["id"], is_clustering=True))
    assert found == (
        [None, "a", None, None, None, None],
        [False, False, True, True, False, True],
        [None, "a", "b", "c", None, "e"],
    )


def test_cubes_of_a_z_order_are_rewritten_by_any_other_one():
    given = files({"BAYOU_ZORDER_ID": "a", "BAYOU_ZORDER_BY": '[["id"]]'}, {"ZCUBE_ID": "b", "ZCUBE_ZORDER_BY": '["id"]'})
    assert lists(cube_facts(given, [["id"]], is_clustering=False)) == (["a", None], [False, False], ["a", None])
    assert lists(cube_facts(given, [["x"]], is_clustering=False)) == ([None, None], [False, False], ["a", None])
