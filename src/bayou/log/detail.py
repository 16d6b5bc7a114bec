# SPDX-License-Identifier: Apache-2.0
"""Facts about a table that its log keeps in a form of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bayou.protocol.schema import leaves

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot


def clustering_columns(snapshot: Snapshot) -> list[str]:
    """The logical names of the clustering columns, dotted where nested; empty for a table that is not clustered."""
    domain = snapshot.domain_metadata.get("delta.clustering")
    if domain is None:
        return []
    logical = {physical: ".".join(path) for path, physical, _ in leaves(snapshot.schema)}
    try:
        columns = [tuple(column) for column in json.loads(domain.configuration)["clusteringColumns"]]
    except (ValueError, KeyError, TypeError):
        return []
    return [logical.get(column, ".".join(map(str, column))) for column in columns]
