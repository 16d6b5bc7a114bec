# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable` that alter a table's metadata. Each makes one commit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bayou.protocol import arguments
from bayou.spark.alter import clustering as alter_clustering
from bayou.spark.alter import columns as alter_columns
from bayou.spark.alter import constraints as alter_constraints
from bayou.spark.alter import drop_feature
from bayou.spark.alter import identity as alter_identity
from bayou.spark.alter import properties as alter_properties
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.table.handle import TableHandle


class TableAlterations(TableHandle):
    """ALTER TABLE as methods: columns, constraints, properties, features."""

    @raised_as_pyspark
    def setProperties(self, properties: Mapping[str, Any]) -> None:  # noqa: N802  (named like the other methods)
        """Set table properties, and add the features and protocol versions that they require (SET TBLPROPERTIES).

        Args:
            properties: `comment` is the table's comment; `delta.feature.<name>` = `supported` adds a feature.

        Raises:
            InvalidOptionError: a key is unknown or not for users to set, a value is not valid, or values exclude each other.
            UnsupportedFeatureError: the table would need a feature that bayou does not support.
        """
        if properties is None:
            raise arguments.wrong("properties", properties, "a dictionary with string keys", table=self._path)
        values = arguments.mapping(properties, "properties", self._path)
        checked = {key: _property(key, value, self._path) for key, value in values.items()}
        alter_properties.set_properties(self._session_table(), checked)

    @raised_as_pyspark
    def unsetProperties(self, *keys: str, ifExists: bool = False) -> None:  # noqa: N802, N803
        """Remove table properties (UNSET TBLPROPERTIES).

        Args:
            keys: the properties' keys.
            ifExists: whether to ignore keys that are not set.

        Raises:
            InvalidOptionError: a key is not set, or users cannot change it.
        """
        arguments.texts(keys, "keys", table=self._path)
        arguments.flag(ifExists, "ifExists", table=self._path)
        alter_properties.unset_properties(self._session_table(), keys, if_exists=ifExists)

    @raised_as_pyspark
    def setComment(self, text: str | None) -> None:  # noqa: N802
        """Set the table's comment, or remove it if `text` is None (COMMENT ON TABLE)."""
        arguments.optional_text(text, "text", table=self._path)
        alter_properties.set_comment(self._session_table(), text)

    @raised_as_pyspark
    def addConstraint(self, name: str, condition: str) -> None:  # noqa: N802
        """Add a CHECK constraint (ADD CONSTRAINT). A query checks all rows of the table first.

        Args:
            name: the constraint's name, in any case.
            condition: a SQL condition over the table's columns. A row for which it is NULL violates it, as for FALSE.

        Raises:
            ConstraintViolationError: rows violate it; `num_violations` counts them, `rows` holds up to five.
            InvalidSchemaError: the name is taken, or the expression is not a valid constraint.
            ConcurrentModificationError: another writer added rows during the check.
        """
        arguments.text(name, "name", table=self._path)
        arguments.text(condition, "condition", table=self._path, wanted="a SQL condition as a string")
        alter_constraints.add_constraint(self._session_table(), name, condition)

    @raised_as_pyspark
    def dropConstraint(self, name: str, ifExists: bool = False) -> None:  # noqa: FBT001, FBT002, N802, N803
        """Drop a CHECK constraint (DROP CONSTRAINT).

        Args:
            name: the constraint's name, in any case.
            ifExists: whether to ignore a constraint that does not exist.

        Raises:
            InvalidSchemaError: the constraint does not exist.
        """
        arguments.text(name, "name", table=self._path)
        arguments.flag(ifExists, "ifExists", table=self._path)
        alter_constraints.drop_constraint(self._session_table(), name, if_exists=ifExists)

    @raised_as_pyspark
    def addColumns(  # noqa: N802
        self, columns: Any, *, parent: str | Sequence[str] = (), after: str | None = None, first: bool = False
    ) -> None:
        """Add columns, which are NULL in existing rows (ADD COLUMNS).

        Args:
            columns: PySpark's `StructType`, a list of its `StructField`, or SQL such as `a int, b string`.
            parent: the struct to add them to, such as `s`, `list.element` or `map.value`; by default the table.
            after: the column of the table or struct to put them after; by default the last one.
            first: whether to put them before all others.

        Raises:
            InvalidSchemaError: a column is NOT NULL or has a default, its name is taken, or tables cannot have its type.
            UnsupportedFeatureError: a type needs a table feature that must be added first.
        """
        arguments.column_path(parent, "parent", table=self._path)
        self._check_place(after, first=first)
        alter_columns.add_columns(self._session_table(), columns, parent=parent, after=after, first=first)

    @raised_as_pyspark
    def renameColumn(self, path: str | Sequence[str], newName: str) -> None:  # noqa: N802, N803
        """Rename a column or a nested field (RENAME COLUMN). The table needs column mapping.

        Args:
            path: the column or nested field, such as `s.x`, or a list of names.
            newName: the new name, without the names of enclosing structs.

        Raises:
            UnsupportedFeatureError: the table has no column mapping.
            InvalidSchemaError: the column does not exist, the name is taken, or an expression of the table uses the column.
        """
        arguments.column_path(path, "path", table=self._path)
        arguments.text(newName, "newName", table=self._path)
        alter_columns.rename_column(self._session_table(), path, newName)

    @raised_as_pyspark
    def dropColumns(self, *paths: str | Sequence[str]) -> None:  # noqa: N802
        """Drop columns (DROP COLUMNS). Data files are not rewritten. The table needs column mapping.

        Args:
            paths: the columns or nested fields.

        Raises:
            UnsupportedFeatureError: the table has no column mapping.
            InvalidSchemaError: a column does not exist, or the table needs it.
        """
        for each in paths:
            arguments.column_path(each, "a path", table=self._path)
        alter_columns.drop_columns(self._session_table(), paths)

    @raised_as_pyspark
    def changeColumn(  # noqa: N802
        self,
        path: str | Sequence[str],
        *,
        dataType: Any = None,  # noqa: N803
        comment: str | None = None,
        nullable: bool | None = None,
        after: str | None = None,
        first: bool = False,
    ) -> None:
        """Change a column (ALTER COLUMN). Arguments that are left out keep their values. No file is rewritten.

        Args:
            path: the column or nested field. Arrays have an `element`; maps have a `key` and a `value`.
            dataType: the new type, as a PySpark type or SQL; a wider type if the table enables type widening.
            comment: the new comment.
            nullable: True to allow NULL.
            after: the column to move it after.
            first: whether to move it before all others.

        Raises:
            InvalidSchemaError: the column does not exist, or the change is not possible.
        """
        arguments.column_path(path, "path", table=self._path)
        arguments.optional_text(comment, "comment", table=self._path)
        if nullable is not None:
            arguments.flag(nullable, "nullable", table=self._path)
        self._check_place(after, first=first)
        target, names = self._session_table(), alter_columns.path_of(path)
        change = alter_columns.column_change(
            target, names, data_type=dataType, comment=comment, nullable=nullable, after=after, first=first
        )
        alter_columns.change_columns(target, [change])

    @raised_as_pyspark
    def setDefault(self, path: str | Sequence[str], expression: str | None) -> None:  # noqa: N802
        """Set a column's default, or drop it if `expression` is None (ALTER COLUMN SET DEFAULT, DROP DEFAULT).

        The default applies to rows that are written later without a value for the column. Existing rows do not change.

        Args:
            path: the column.
            expression: a constant SQL expression, such as `0` or `current_timestamp()`.

        Raises:
            UnsupportedFeatureError: the table does not have the feature `allowColumnDefaults`.
            InvalidSchemaError: the column does not exist or cannot have a default, or the expression is not valid for it.
        """
        arguments.column_path(path, "path", table=self._path)
        arguments.optional_text(expression, "expression", table=self._path, wanted="a SQL expression as a string, or None")
        alter_columns.set_default(self._session_table(), path, expression)

    @raised_as_pyspark
    def replaceColumns(self, columns: Any) -> None:  # noqa: N802
        """Replace the table's columns by these, in this order (REPLACE COLUMNS).

        Args:
            columns: PySpark's `StructType`, a list of its `StructField`, or SQL.

        Raises:
            InvalidSchemaError: the change is not possible.
        """
        alter_columns.replace_columns(self._session_table(), columns)

    @raised_as_pyspark
    def clusterBy(self, *columns: str | Sequence[str]) -> None:  # noqa: N802
        """Set the clustering columns (ALTER TABLE ... CLUSTER BY). Without columns, remove them (CLUSTER BY NONE).

        Args:
            columns: the columns, such as `s.x`, or lists of names.

        Raises:
            InvalidSchemaError: the table is partitioned, or cannot be clustered by these columns.
        """
        for each in columns:
            arguments.column_path(each, "a column", table=self._path)
        alter_clustering.alter_cluster_by(self._session_table(), columns)

    @raised_as_pyspark
    def syncIdentity(self, column: str) -> None:  # noqa: N802
        """Set an identity column's high-water mark to the last value in the table (SYNC IDENTITY).

        Args:
            column: the identity column.

        Raises:
            InvalidSchemaError: the column does not exist, or is not an identity column.
        """
        arguments.text(column, "column", table=self._path)
        alter_identity.sync_identity(self._session_table(), column)

    @raised_as_pyspark
    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:  # noqa: N802, N803  (delta-spark's)
        """Add the features that two protocol versions imply. Versions lower than the table's change nothing.

        Args:
            readerVersion: the reader version, from 1 to 3.
            writerVersion: the writer version, from 1 to 7.

        Raises:
            InvalidOptionError: a version does not exist.
        """
        alter_properties.upgrade_protocol(self._session_table(), readerVersion, writerVersion)

    @raised_as_pyspark
    def addFeatureSupport(self, featureName: str) -> None:  # noqa: N802, N803  (delta-spark's names)
        """Add a table feature and the features that it requires.

        Args:
            featureName: the name of the feature, in any case.

        Raises:
            UnsupportedFeatureError: the feature is unknown, or bayou does not support it for writers.
        """
        alter_properties.add_feature(self._session_table(), featureName)

    @raised_as_pyspark
    def dropFeatureSupport(  # noqa: N802  (delta-spark's names)
        self,
        featureName: str,  # noqa: N803
        truncateHistory: bool | None = None,  # noqa: FBT001, N803
    ) -> None:
        """Drop a table feature (DROP FEATURE). Data files that use it are rewritten.

        Args:
            featureName: the name of the feature, in any case.
            truncateHistory: whether to delete the history that uses the feature.

        Raises:
            UnsupportedFeatureError: the feature cannot be dropped, or another feature or property needs it.
            InvalidOptionError: the table does not have the feature.
        """
        drop_feature.drop_feature(self._session_table(), featureName, truncate_history=truncateHistory)

    def _check_place(self, after: object, *, first: object) -> None:
        arguments.optional_text(after, "after", table=self._path, wanted="a column's name or None")
        arguments.flag(first, "first", table=self._path)


def _property(key: str, value: object, table: str) -> Any:
    """Return the value of a property: a string, or something with one spelling as a string."""
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return arguments.text(value, f"properties[{key!r}]", table=table, wanted="a string, a number or a boolean")
