# SPDX-License-Identifier: Apache-2.0
"""Actions of tables with a change data feed and deletion vectors, as writers of today make them."""

from __future__ import annotations

from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.testing.table_builder import remove

FEED = {"delta.enableChangeDataFeed": "true"}
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "changeDataFeed"))


def cdc(path, **fields):
    return {"cdc": {"path": path, "partitionValues": {}, "size": 7, "dataChange": False, **fields}}


def gone(path, **fields):
    """A `remove` action with all that it may say of the file."""
    return remove(path, **{"extendedFileMetadata": True, "partitionValues": {}, "size": 100, **fields})


def vector(*rows):
    """The field of an action that deletes these rows of its file."""
    return {"deletionVector": encode_inline(rows).to_json()}
