# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable` that change a table's metadata, each in one commit."""

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
    def setProperties(self, properties: Mapping[str, Any]) -> None:  # noqa: N802  (named as the methods beside it)
        """Sets table properties, with the features and the protocol that they need (SET TBLPROPERTIES).

        Args:
            properties: `comment` sets the table's comment, `delta.feature.<name>` = `supported` adds a feature.

        Raises:
            InvalidOptionError: a key is unknown or no user's to set, a value is not of its key, or values exclude each other.
            UnsupportedFeatureError: the table would ask for what bayou does not do.
        """
        if properties is None:
            raise arguments.wrong("properties", properties, "a dictionary with string keys", table=self._path)
        given = arguments.mapping(properties, "properties", self._path)
        checked = {key: _property(key, value, self._path) for key, value in given.items()}
        alter_properties.set_properties(self._altered(), checked)

    @raised_as_pyspark
    def unsetProperties(self, *keys: str, ifExists: bool = False) -> None:  # noqa: N802, N803
        """Takes table properties away (UNSET TBLPROPERTIES).

        Args:
            keys: the properties' keys.
            ifExists: whether keys that are not set are passed over.

        Raises:
            InvalidOptionError: a key is not set, or no user's to change.
        """
        arguments.texts(keys, "keys", table=self._path)
        arguments.flag(ifExists, "ifExists", table=self._path)
        alter_properties.unset_properties(self._altered(), keys, if_exists=ifExists)

    @raised_as_pyspark
    def setComment(self, text: str | None) -> None:  # noqa: N802
        """Sets the table's comment, or takes it away where it is None (COMMENT ON TABLE)."""
        arguments.optional_text(text, "text", table=self._path)
        alter_properties.set_comment(self._altered(), text)

    @raised_as_pyspark
    def addConstraint(self, name: str, condition: str) -> None:  # noqa: N802
        """Adds a CHECK constraint, after a query that checks every row of the table (ADD CONSTRAINT).

        Args:
            name: its name; case makes no difference.
            condition: a SQL condition over the table's columns. NULL breaks it as false does.

        Raises:
            ConstraintViolationError: rows break it; `num_violations` counts them, `rows` shows up to five.
            InvalidSchemaError: the name is taken, or the expression is no condition that a table may keep.
            ConcurrentModificationError: another writer added rows in the meantime.
        """
        arguments.text(name, "name", table=self._path)
        arguments.text(condition, "condition", table=self._path, wanted="a SQL condition as a string")
        alter_constraints.add_constraint(self._altered(), name, condition)

    @raised_as_pyspark
    def dropConstraint(self, name: str, ifExists: bool = False) -> None:  # noqa: FBT001, FBT002, N802, N803
        """Drops a CHECK constraint (DROP CONSTRAINT).

        Args:
            name: its name; case makes no difference.
            ifExists: whether it is no error that there is none.

        Raises:
            InvalidSchemaError: there is no such constraint.
        """
        arguments.text(name, "name", table=self._path)
        arguments.flag(ifExists, "ifExists", table=self._path)
        alter_constraints.drop_constraint(self._altered(), name, if_exists=ifExists)

    @raised_as_pyspark
    def addColumns(  # noqa: N802
        self, columns: Any, *, parent: str | Sequence[str] = (), after: str | None = None, first: bool = False
    ) -> None:
        """Adds columns, which are NULL in the rows that are there (ADD COLUMNS).

        Args:
            columns: PySpark's `StructType`, a list of its `StructField`, or SQL such as `a int, b string`.
            parent: the struct that they go into, such as `s`, `list.element` or `map.value`; the table by default.
            after: the column of the table, or of that struct, behind which they go; behind all by default.
            first: whether they go before all.

        Raises:
            InvalidSchemaError: a column is NOT NULL or has a default, a name that is taken, or a type that no table has.
            UnsupportedFeatureError: a type needs a feature that has to be added first.
        """
        arguments.column_path(parent, "parent", table=self._path)
        self._check_place(after, first=first)
        alter_columns.add_columns(self._altered(), columns, parent=parent, after=after, first=first)

    @raised_as_pyspark
    def renameColumn(self, path: str | Sequence[str], newName: str) -> None:  # noqa: N802, N803
        """Gives a column another name (RENAME COLUMN). The table needs column mapping.

        Args:
            path: the column or the nested field, such as `s.x`, or the names as a list.
            newName: its new name, without those of the structs around it.

        Raises:
            UnsupportedFeatureError: the table has no column mapping.
            InvalidSchemaError: there is no such column, the name is taken, or an expression of the table uses the column.
        """
        arguments.column_path(path, "path", table=self._path)
        arguments.text(newName, "newName", table=self._path)
        alter_columns.rename_column(self._altered(), path, newName)

    @raised_as_pyspark
    def dropColumns(self, *paths: str | Sequence[str]) -> None:  # noqa: N802
        """Drops columns; the files keep their values (DROP COLUMNS). The table needs column mapping.

        Args:
            paths: the columns or nested fields.

        Raises:
            UnsupportedFeatureError: the table has no column mapping.
            InvalidSchemaError: there is no such column, or the table needs it.
        """
        for each in paths:
            arguments.column_path(each, "a path", table=self._path)
        alter_columns.drop_columns(self._altered(), paths)

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
        """Changes a column; what is not given stays (ALTER COLUMN). No file is rewritten.

        Args:
            path: the column or the nested field; what an array or a map holds is its `element`, `key` or `value`.
            dataType: its new type, of PySpark or as SQL; a wider one where the table enables type widening.
            comment: its comment.
            nullable: True where it may hold NULL from now on.
            after: the column behind which it goes.
            first: whether it goes before all others.

        Raises:
            InvalidSchemaError: there is no such column, or the change is not possible.
        """
        arguments.column_path(path, "path", table=self._path)
        arguments.optional_text(comment, "comment", table=self._path)
        if nullable is not None:
            arguments.flag(nullable, "nullable", table=self._path)
        self._check_place(after, first=first)
        alter_columns.change_column(
            self._altered(), path, data_type=dataType, comment=comment, nullable=nullable, after=after, first=first
        )

    @raised_as_pyspark
    def setDefault(self, path: str | Sequence[str], expression: str | None) -> None:  # noqa: N802
        """Sets what a column is in later rows that bring no value for it, or takes the default away where it is None.

        That is ALTER COLUMN SET DEFAULT and DROP DEFAULT. The rows that are there stay as they are.

        Args:
            path: the column.
            expression: a constant SQL expression, such as `0` or `current_timestamp()`.

        Raises:
            UnsupportedFeatureError: the table does not have the feature `allowColumnDefaults`.
            InvalidSchemaError: there is no such column, it can have no default, or the expression is none that it can have.
        """
        arguments.column_path(path, "path", table=self._path)
        arguments.optional_text(expression, "expression", table=self._path, wanted="a SQL expression as a string, or None")
        alter_columns.set_default(self._altered(), path, expression)

    @raised_as_pyspark
    def replaceColumns(self, columns: Any) -> None:  # noqa: N802
        """Makes the table's columns these, in their order (REPLACE COLUMNS).

        Args:
            columns: PySpark's `StructType`, a list of its `StructField`, or SQL.

        Raises:
            InvalidSchemaError: the change is not possible.
        """
        alter_columns.replace_columns(self._altered(), columns)

    @raised_as_pyspark
    def clusterBy(self, *columns: str | Sequence[str]) -> None:  # noqa: N802
        """Sets the columns that OPTIMIZE clusters rows by (ALTER TABLE ... CLUSTER BY); without columns, none (CLUSTER BY NONE).

        Args:
            columns: the columns: `s.x`, or the names as a list.

        Raises:
            InvalidSchemaError: the table is partitioned, or cannot be clustered by these columns.
        """
        for each in columns:
            arguments.column_path(each, "a column", table=self._path)
        alter_clustering.alter_cluster_by(self._altered(), columns)

    @raised_as_pyspark
    def syncIdentity(self, column: str) -> None:  # noqa: N802
        """Lets an identity column go on behind the greatest number that the table holds (SYNC IDENTITY).

        Args:
            column: the identity column.

        Raises:
            InvalidSchemaError: there is no such identity column.
        """
        arguments.text(column, "column", table=self._path)
        alter_identity.sync_identity(self._altered(), column)

    @raised_as_pyspark
    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:  # noqa: N802, N803  (delta-spark's)
        """Adds the features that two protocol versions imply; lower versions than the table's change nothing.

        Args:
            readerVersion: the reader version, from 1 to 3.
            writerVersion: the writer version, from 1 to 7.

        Raises:
            InvalidOptionError: there is no such version.
        """
        alter_properties.upgrade_protocol(self._altered(), readerVersion, writerVersion)

    @raised_as_pyspark
    def addFeatureSupport(self, featureName: str) -> None:  # noqa: N802, N803  (delta-spark's names)
        """Adds a table feature, with those that it requires.

        Args:
            featureName: the feature, in any case.

        Raises:
            UnsupportedFeatureError: the feature is not known, or bayou does not do what it asks of writers.
        """
        alter_properties.add_feature(self._altered(), featureName)

    @raised_as_pyspark
    def dropFeatureSupport(  # noqa: N802  (delta-spark's names)
        self,
        featureName: str,  # noqa: N803
        truncateHistory: bool | None = None,  # noqa: FBT001, N803
    ) -> None:
        """Takes a table feature away (DROP FEATURE). Data files that have traces of it are written again.

        Args:
            featureName: the feature, in any case.
            truncateHistory: whether the history that knows the feature may go.

        Raises:
            UnsupportedFeatureError: the feature cannot be dropped, or something needs it.
            InvalidOptionError: the table does not have it.
        """
        drop_feature.drop_feature(self._altered(), featureName, truncate_history=truncateHistory)

    def _check_place(self, after: object, *, first: object) -> None:
        arguments.optional_text(after, "after", table=self._path, wanted="a column's name or None")
        arguments.flag(first, "first", table=self._path)


def _property(key: str, value: object, table: str) -> Any:
    """A property's value: a string, or what has one spelling as a string."""
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return arguments.text(value, f"properties[{key!r}]", table=table, wanted="a string, a number or a boolean")
