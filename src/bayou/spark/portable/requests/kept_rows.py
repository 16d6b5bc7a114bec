# SPDX-License-Identifier: Apache-2.0
"""Put rows that the server keeps in the place of the DataFrame that they were computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.connect import proto

from bayou.spark.portable.requests.frames import frame_of, relation_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SAME_COLUMNS: Final = frozenset({"filter", "sort", "limit", "offset", "deduplicate", "repartition", "hint", "tail"})
"""The relations that have their input's columns, with the input's alias."""


def as_given(kept: DataFrame, given: DataFrame) -> tuple[DataFrame, str | None]:
    """Return kept rows under the alias of a DataFrame, and the alias. Columns taken from the DataFrame mean their columns.

    The result reads the rows as long as `kept` exists.
    """
    chain: list[proto.Relation] = [relation_of(given)]
    while (kind := chain[-1].WhichOneof("rel_type")) in _SAME_COLUMNS or kind == "subquery_alias":
        chain.append(getattr(chain[-1], kind).input)
    alias = next((each.subquery_alias.alias for each in chain if each.HasField("subquery_alias")), None)
    made = relation_of(kept)
    for each in reversed(chain):
        made = _around(made, each)
    return frame_of(given.sparkSession, made), alias


def _around(inner: proto.Relation, given: proto.Relation) -> proto.Relation:
    """Return rows under the alias and the number of a relation."""
    made: Any = proto.Relation()
    if given.HasField("subquery_alias"):
        made.subquery_alias.CopyFrom(given.subquery_alias)
        made.subquery_alias.input.CopyFrom(inner)
    else:
        made.project.input.CopyFrom(inner)
        made.project.expressions.add().unresolved_star.SetInParent()
    if given.common.HasField("plan_id"):
        made.common.plan_id = given.common.plan_id
    return made  # type: ignore[no-any-return]
