# SPDX-License-Identifier: Apache-2.0
"""ALTER COLUMN SET DEFAULT and DROP DEFAULT: what a column is in later rows that bring no value for it.

Source: delta-spark's `AlterTableChangeColumnDeltaCommand`; the history calls it CHANGE COLUMN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.column_defaults import check_allowed, with_default
from bayou.protocol.protocol_rules import supported_features
from bayou.protocol.schema import StructType
from bayou.spark.alter_columns import column_parameter, path_of
from bayou.spark.alter_target import AlterTarget, altered, table_rules
from bayou.spark.default_checks import check_defaults

if TYPE_CHECKING:
    from bayou.spark.alter_columns import ColumnPath


def set_default(target: AlterTarget, column: ColumnPath, expression: str | None) -> None:
    """Sets the default of a column, or takes it away; the rows that are there stay as they are.

    Args:
        target: the table.
        column: the column.
        expression: a constant SQL expression; None for no default.

    Raises:
        UnsupportedFeatureError: the table does not have the feature `allowColumnDefaults`.
        InvalidSchemaError: there is no such column, it can have no default, or the expression is none that it can have.
    """
    snapshot, path = target.snapshot(), path_of(column)
    schema = with_default(snapshot.schema, path, expression, table_rules(snapshot))
    if expression is not None:
        features = supported_features(snapshot.protocol)
        check_allowed(schema, features, "ALTER TABLE", table=target.uri, version=snapshot.version)
        changed = StructType(tuple(field for field in schema.fields if field is schema.field(path[0])))
        check_defaults(target.application.jvm, target.spark, changed, table=target.uri, version=snapshot.version)
    parameters = {"column": column_parameter(schema, path)}
    target.commit(snapshot, "CHANGE COLUMN", parameters, altered(snapshot, snapshot.metadata, schema))
