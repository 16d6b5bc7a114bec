# SPDX-License-Identifier: Apache-2.0
"""Replace tables in a SQL text by rows that travel with it, as `spark.sql("... {df}", df=df)` does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from bayou.spark.portable.requests.frames import relation_of
from bayou.spark.portable.requests.messages import replace_relations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from google.protobuf.message import Message
    from pyspark.sql import DataFrame

    from bayou.spark.portable.requests.aliases import Aliases
    from bayou.spark.portable.requests.answers import Reference


def replace_references(relation: proto.Relation, references: Sequence[Reference], aliases: Aliases) -> None:
    """Replace references in a SQL text. All other arguments of the text stay.

    Args:
        relation: a SQL text, or a SQL text with rows that its program gave it. It is changed in place.
        references: the references, at least one.
        aliases: the names of this request.
    """
    if relation.WhichOneof("rel_type") == "sql":
        inner = proto.Relation()
        inner.CopyFrom(relation)
        # Only the outer relation is the program's DataFrame.
        inner.common.ClearField("plan_id")
        relation.with_relations.root.CopyFrom(inner)
    views = relation.with_relations
    named = {}
    for reference in references:
        named[aliases.name_of(reference.frame)] = reference.frame
    _replace_text(views.root.sql, references, aliases)
    for name, frame in named.items():
        added = views.references.add().subquery_alias
        added.alias = name
        added.input.CopyFrom(relation_of(frame))
        set_apart(added.input)


def set_apart(relation: proto.Relation) -> None:
    """Give a relation the same rows by another plan.

    The server makes a temporary view of the rows that travel with a SQL text, and drops it after the analysis. With a view, it
    drops what is cached under the plan of the view, even if the program cached it: its DataFrame of the table, or a text that
    selects the whole table. The plans of views and of the program must therefore differ.
    """
    inner = proto.Relation()
    inner.CopyFrom(relation)
    inner.common.ClearField("plan_id")
    common = proto.RelationCommon()
    common.CopyFrom(relation.common)
    # The optimizer removes this filter.
    relation.filter.condition.literal.boolean = True
    relation.filter.input.CopyFrom(inner)
    relation.common.CopyFrom(common)


def rename(message: Message, names: Mapping[str, str]) -> None:
    """Give the rows that travel with SQL texts other names.

    Args:
        message: any message with rewritten texts, changed in place.
        names: new names by old ones.
    """
    if not names:
        return
    old = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")

    def rename_in(relation: proto.Relation) -> bool:
        if relation.WhichOneof("rel_type") == "sql":
            relation.sql.query = old.sub(lambda found: names[found[0]], relation.sql.query)
        elif relation.WhichOneof("rel_type") == "subquery_alias":
            relation.subquery_alias.alias = names.get(relation.subquery_alias.alias, relation.subquery_alias.alias)
        return False

    replace_relations(message, rename_in)


def replaced_text(text: str, references: Sequence[Reference], name_of: Callable[[DataFrame], str]) -> str:
    """Return a SQL text with names in place of references.

    Args:
        name_of: returns the name for the rows of a reference.
    """
    replacements: dict[tuple[int, int], str] = {}
    for reference in references:
        name = name_of(reference.frame)
        if reference.is_query:
            named = f"SELECT * FROM {name}"  # noqa: S608  (a name of this client)
        else:
            # TABLESAMPLE stands before an alias, but may follow parentheses.
            named = name if reference.alias is None else f"({name} AS {_quoted(reference.alias)})"
        replacements[reference.start, reference.end] = named
        replacements |= {place: _quoted(reference.alias or name) for place in reference.qualifiers}
    pieces = []
    done = 0
    for (start, end), new in sorted(replacements.items()):
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def _replace_text(sql: proto.SQL, references: Sequence[Reference], aliases: Aliases) -> None:
    sql.query = replaced_text(sql.query, references, aliases.name_of)
    used = {number for reference in references for number in reference.arguments}
    for number in sorted(used, reverse=True):
        # Clients fill one of the two lists.
        if number < len(sql.pos_arguments):
            del sql.pos_arguments[number]
        elif number < len(sql.pos_args):
            del sql.pos_args[number]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
