# SPDX-License-Identifier: Apache-2.0
"""Write one micro-batch of a query into a table, exactly once. This runs in a Python process of the server."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bayou.spark.portable.scratch.folders import literal
from bayou.spark.session.application import Application
from bayou.spark.streaming.batch_writes import sink_options, write_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

_METADATA: Final = "metadata"
"""The file of a checkpoint with the id of the query."""


@dataclass(frozen=True)
class BatchWriter:
    """Writes the batches of one query.

    Attributes:
        options: the options of the writer, without credentials.
        partitions: the partition columns of a new table.
        output_mode: Append or Complete.
        checkpoint: the checkpoint's folder.
    """

    options: Mapping[str, str] = field(repr=False)
    partitions: Sequence[str]
    output_mode: str
    checkpoint: str

    def write(self, frame: DataFrame, number: int) -> None:
        """Write a batch, or skip it if the log already has it.

        Args:
            frame: the rows.
            number: the number of the batch.

        Raises:
            DeltaError: as `bayou.write`.
        """
        options = sink_options(self.options, self.partitions, self.output_mode)
        query = _query_id(frame, self.checkpoint)
        write_batch(Application.of(frame.sparkSession), options, frame, (query, number), output_mode=self.output_mode)


_ids: Final[dict[str, str]] = {}


def _query_id(frame: DataFrame, checkpoint: str) -> str:
    """Return the id of the query. Spark writes it into a new checkpoint before the first batch, and never changes it."""
    if checkpoint not in _ids:
        lines = frame.sparkSession.read.text(literal(f"{checkpoint.rstrip('/')}/{_METADATA}")).collect()
        _ids[checkpoint] = str(json.loads("".join(line[0] for line in lines))["id"])
    return _ids[checkpoint]
