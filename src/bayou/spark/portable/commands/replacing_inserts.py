# SPDX-License-Identifier: Apache-2.0
"""Run INSERT ... REPLACE ON and REPLACE USING as an overwrite with the writer's options `replaceOn` and `replaceUsing`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.spark.data_files.request import WriteOptions, WriteRequest
from bayou.spark.dml.replace.replacing_statements import refuse_ambiguous_names, refuse_other_names
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.tree import Subquery, all_nodes
from bayou.spark.write.inserts import insert
from bayou.spark.write.writer import write
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.spark.portable.text.row_changes import Insert
    from bayou.spark.session.application import Application
    from bayou.spark.write.inserts import InsertStatement


def replace_matches(application: Application, rows: DataFrame, found: Insert, statement: InsertStatement, path: str) -> None:
    """Write the rows of an INSERT, and delete the rows of the table that match one of them.

    Args:
        rows: the rows of its query.
        found: the INSERT.
        statement: the overwrite of the table, which lacks the clause.
        path: the table's path.

    Raises:
        UnsupportedFeatureError: the condition contains a subquery, or a column's name cannot be part of the option.
        SchemaMismatchError: columns are matched by position, and have other names than the table's.
    """
    wanted = found.columns or tuple(application.logs.get(qualify(path).uri, {}).update().schema.names)
    if found.replace_on is None:
        refuse_ambiguous_names(found.replace_using, statement.name)
        by_position = not found.by_name and len(rows.columns) == len(wanted)
        options = {**statement.options, "replaceUsing": ",".join(found.replace_using)}
        columns = "name" if found.by_name or found.columns else "position"
        named = rows.toDF(*wanted) if by_position else rows
        insert(application, named, replace(statement, columns=columns, options=options), path)
        return
    if any(isinstance(each, Subquery) for each in all_nodes(read_expression(found.replace_on.text))):
        raise failed("DELTA_UNSUPPORTED_SUBQUERY/replace-on", table=statement.name, features=["subquery"])
    if not found.by_name:
        refuse_other_names(rows.columns, wanted, statement.name)
    options = {**statement.options, "replaceOn": found.replace_on.text, "path": path}
    if found.alias is not None:
        options["targetAlias"] = found.alias
    named = rows if found.query_alias is None else rows.alias(found.query_alias)
    write(application, named, WriteRequest(WriteOptions.parse(options, "overwrite")))
