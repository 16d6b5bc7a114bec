# SPDX-License-Identifier: Apache-2.0
"""The cubes of a table's files, which their tags name.

The tags of clustering are delta-spark's, so that both engines continue each other's work. delta-spark has no tags for Z-order:
those are bayou's own.
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.maintenance.clustering import CubeFacts
from bayou.plan.statistics.members import one_array

PROVIDER: Final = "liquid"
"""The clustering provider of a file that was clustered by the table's clustering columns."""
CUBE_ID: Final = "ZCUBE_ID"
CUBE_COLUMNS: Final = "ZCUBE_ZORDER_BY"
Z_ORDER_ID: Final = "BAYOU_ZORDER_ID"
Z_ORDER_COLUMNS: Final = "BAYOU_ZORDER_BY"


def cube_facts(files: pa.Table, columns: object, *, is_clustering: bool) -> CubeFacts:
    """Return the cubes of files.

    Args:
        files: the columns `tags` and `clustering_provider` of a snapshot.
        columns: the columns that the rows are ordered by, as the tags have them in JSON.
        is_clustering: whether they are the table's clustering columns; otherwise those of a Z-order.
    """
    tags = one_array(files["tags"])
    id_tag, columns_tag = (CUBE_ID, CUBE_COLUMNS) if is_clustering else (Z_ORDER_ID, Z_ORDER_COLUMNS)
    ids, names = (pc.map_lookup(tags, pa.scalar(tag), "first") for tag in (id_tag, columns_tag))
    is_cube = pc.and_(pc.is_valid(ids), pc.is_valid(names))
    texts = pc.unique(names.filter(is_cube)).to_pylist()
    same = pa.array([text for text in texts if _parsed(text) == columns], pa.string())
    is_same = pc.and_(is_cube, pc.is_in(names, value_set=same))
    others = pa.array([False] * files.num_rows, pa.bool_())
    if is_clustering:
        is_ours = pc.fill_null(pc.equal(one_array(files["clustering_provider"]), PROVIDER), True)
        is_same = pc.and_(is_same, is_ours)
        others = pc.or_(pc.invert(is_ours), pc.and_(is_cube, pc.invert(is_same)))
    nothing = pa.scalar(None, pa.string())
    return CubeFacts(pc.if_else(is_same, ids, nothing), others, pc.if_else(is_cube, ids, nothing))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
