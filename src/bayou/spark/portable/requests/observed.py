# SPDX-License-Identifier: Apache-2.0
"""Metrics of `DataFrame.observe` in a command that the client answers.

The jobs that the answer runs report the metrics. The program waits for them in the responses to its own command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.portable.requests.messages import replace_relations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.connect import proto


class ObservedMetrics:
    """The metrics that a command observes."""

    def __init__(self, command: proto.Command) -> None:
        self._found: dict[str, proto.ExecutePlanResponse.ObservedMetrics | None] = {}
        replace_relations(command, self._add_name)

    def __bool__(self) -> bool:
        """Whether the command observes anything."""
        return bool(self._found)

    @property
    def reported(self) -> list[proto.ExecutePlanResponse.ObservedMetrics]:
        """What the jobs have reported: the first report of each name, as an `Observation` takes it."""
        return [each for each in self._found.values() if each is not None]

    def noted(self, responses: Iterable[proto.ExecutePlanResponse]) -> Iterator[proto.ExecutePlanResponse]:
        """The same responses. The metrics in them are remembered."""
        for response in responses:
            for metrics in response.observed_metrics:
                if self._found.get(metrics.name, metrics) is None:
                    self._found[metrics.name] = metrics
            yield response

    def _add_name(self, relation: proto.Relation) -> bool:
        if relation.WhichOneof("rel_type") == "collect_metrics":
            self._found[relation.collect_metrics.name] = None
        return False
