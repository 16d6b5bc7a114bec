# SPDX-License-Identifier: Apache-2.0
"""What the parts of a checkpoint have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Part(Protocol):
    """What the parts of a checkpoint have in common: Parquet files, and manifests in JSON."""

    @property
    def num_rows(self) -> int:
        """How many actions it holds at most."""
        ...

    def load(self, names: Iterable[str]) -> Mapping[str, pa.ChunkedArray]:
        """Columns of the live files, by the names of ADD_SCHEMA."""
        ...

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """The live files in tables of at most so many rows: ADD_SCHEMA, and `stats_parsed` where the part has it."""
        ...

    def removes(self) -> pa.Table:
        """The tombstones, REMOVE_SCHEMA."""
        ...
