# SPDX-License-Identifier: Apache-2.0
"""SHOW TBLPROPERTIES and what the catalog tells of a table: what its log says, not what its entry in the catalog says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


def shown_properties(snapshot: Snapshot) -> dict[str, str]:
    """A table's properties by name, with its protocol and its comment in the words of properties, as delta-spark shows them."""
    protocol = snapshot.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    found = {
        **snapshot.metadata.configuration,
        "delta.minReaderVersion": str(protocol.min_reader_version),
        "delta.minWriterVersion": str(protocol.min_writer_version),
        **{f"delta.feature.{name}": "supported" for name in features},
    }
    if snapshot.metadata.description is not None:
        found["comment"] = snapshot.metadata.description
    return dict(sorted(found.items()))
