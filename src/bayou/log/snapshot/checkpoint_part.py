# SPDX-License-Identifier: Apache-2.0
"""The interface that all parts of a checkpoint have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Part(Protocol):
    """One part of a checkpoint: a Parquet file, or a manifest in JSON."""

    @property
    def num_rows(self) -> int:
        """The number of actions at most."""
        ...

    def load(self, names: Iterable[str]) -> Mapping[str, pa.ChunkedArray]:
        """Return columns of the live files, by the names of ADD_SCHEMA."""
        ...

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """Yield the live files in tables of at most `rows` rows: ADD_SCHEMA, and `stats_parsed` if the part has it."""
        ...

    def removes(self) -> pa.Table:
        """Return the tombstones, REMOVE_SCHEMA."""
        ...
