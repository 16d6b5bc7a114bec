# SPDX-License-Identifier: Apache-2.0
"""The errors of what a table declares of its columns: constraints, defaults, generated, identity and clustering columns."""

from __future__ import annotations

from typing import Final

COLUMNS: Final = """
PARSE_SYNTAX_ERROR/clustering-column InvalidOptionError
    {column!r} is not the path of one column.
    Next: Put backticks around names that are not identifiers.
DELTA_ILLEGAL_OPTION/clustering-limit InvalidOptionError
    The setting {option} is {value!r}, but it must be a number.
DELTA_CLUSTER_BY_WITH_PARTITIONED_BY InvalidSchemaError
    Clustering and partitioning cannot both be specified.
    Next: Leave one of them out.
DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS InvalidSchemaError
    CLUSTER BY supports up to {limit} clustering columns, but the table has {count}.
DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY InvalidSchemaError
    Found duplicate column(s) in CLUSTER BY: {columns}.
DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED InvalidSchemaError
    ALTER TABLE CLUSTER BY cannot be applied to a partitioned table.
DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING SchemaMismatchError
    The specified clustering columns do not match the existing table's: provided: {provided}; existing: {existing}.
    Next: Leave clusterBy out, or describe the columns as they are.
DELTA_CLUSTERING_COLUMNS_MISMATCH SchemaMismatchError
    The provided clustering columns do not match the existing table's: provided: {provided}; existing: {existing}.
    Next: Leave clusterBy out, or overwrite the table with overwriteSchema.
DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE InvalidSchemaError
    Replacing a clustered Delta table with a partitioned table is not allowed.
    Next: Write the partitioned table to another location.
DELTA_COLUMN_NOT_FOUND_IN_SCHEMA/clustering InvalidSchemaError
    Couldn't find column {columns} in {known}.
DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED InvalidSchemaError
    CLUSTER BY is not supported because the following column(s): {types} don't support data skipping.
DELTA_CLUSTERING_COLUMN_MISSING_STATS InvalidSchemaError
    Clustering requires clustering columns to have stats. Couldn't find clustering column(s) '{columns}' in the stats schema.
    Next: Name the columns in delta.dataSkippingStatsColumns, or move them to the front.
WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED InvalidSchemaError
    The column {column!r} has a default, which the existing rows would not get.
    Next: Add the column without a default, then set it with ALTER COLUMN SET DEFAULT.
WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED UnsupportedFeatureError
    Failed to execute {command}, because it gives {columns} a default and the table does not have the table feature {features}.
    Next: Set the table property 'delta.feature.{features}' to 'supported', then try again.
DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED/default InvalidSchemaError
    The column {column!r} is an identity column, so it cannot have a default.
GENERATED_COLUMN_WITH_DEFAULT_VALUE InvalidSchemaError
    The column {column!r} is a generated column, so it cannot have a default.
DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP/default InvalidSchemaError
    {column!r} cannot have a default, because it is not a top-level column.
    Next: Leave its default out.
DELTA_NOT_NULL_CONSTRAINT_VIOLATED ConstraintViolationError
    NOT NULL constraint violated for column: {name}.{total}
    Next: Correct or leave out the rows that break it, and write again; nothing was committed.
DELTA_EXCEED_CHAR_VARCHAR_LIMIT ConstraintViolationError
    Value "{value}" exceeds char/varchar type length limitation. Failed check: {expression}.{total}
    Next: Correct or leave out the rows that break it, and write again; nothing was committed.
DELTA_VIOLATE_CONSTRAINT_WITH_VALUES ConstraintViolationError
    CHECK constraint {constraint} {expression} violated by row with values:{values}{total}
    Next: Correct or leave out the rows that break it, and write again; nothing was committed.
DELTA_NEW_CHECK_CONSTRAINT_VIOLATION ConstraintViolationError
    {num_violations} rows in {table} violate the new CHECK constraint ({expression}).
    Next: Correct or delete these rows first.
DELTA_NEW_NOT_NULL_VIOLATION ConstraintViolationError
    {num_violations} rows in {table} violate the new NOT NULL constraint on {name}.
    Next: Correct or delete these rows first.
DELTA_CONSTRAINT_ALREADY_EXISTS InvalidSchemaError
    Constraint '{constraint}' already exists: {expression}.
    Next: Drop the old constraint first, or choose another name.
    Parameters: constraintName={constraint} oldConstraint={expression}
DELTA_INVALID_CONSTRAINT_NAME InvalidSchemaError
    Cannot use {constraint!r} as the name of a CHECK constraint, because this name is reserved.
    Next: Choose another name.
DELTA_CONSTRAINT_DOES_NOT_EXIST InvalidSchemaError
    Cannot drop nonexistent constraint {constraint} from table {table}, which has {known}.
    Next: Name one of these, or use IF EXISTS.
    Parameters: constraintName={constraint} tableName={table_name}
    config=spark.databricks.delta.constraints.assumesDropIfExists.enabled confValue=true
DELTA_UNSUPPORTED_INVARIANT_NON_STRUCT UnsupportedFeatureError
    Column {column} has an invariant inside an array or a map, which cannot be enforced.
    Next: Write with the engine that declared it.
DELTA_UNRECOGNIZED_INVARIANT UnsupportedFeatureError
    The invariant of column {column} is not understood: {invariant!r:.200}.
    Next: Write with the engine that declared it.
function-not-allowed InvalidSchemaError
    Found {function} in the {kind} {owner!r}, and {function} cannot be used in a {kind}: {reason}.
    Next: Change the expression.
DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES InvalidSchemaError
    Found {column} in CHECK constraint {owner!r}, and a check constraint cannot use a non-existent column.
    Next: Change the expression.
DELTA_NON_BOOLEAN_CHECK_CONSTRAINT InvalidSchemaError
    CHECK constraint '{owner}' ({expression}) should be a boolean expression.
    Next: Change the expression.
DELTA_INVALID_GENERATED_COLUMN_REFERENCES InvalidSchemaError
    A generated column cannot use a non-existent column or another generated column, but {column!r} uses {used}.
    Next: Change the generation expression.
DELTA_UNSUPPORTED_DATA_TYPE_IN_GENERATED_COLUMN InvalidSchemaError
    The generated column {column!r} cannot have the type variant.
    Next: Change the generation expression.
DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH InvalidSchemaError
    The expression type of the generated column {column} is {expression_type}, but the column type is {column_type}.
    Next: Change the generation expression.
ARITHMETIC_OVERFLOW InvalidSchemaError
    Identity column {column!r} has no values left, because {value} is not a BIGINT.
    Next: Declare the column again with another start or a smaller step.
DELTA_IDENTITY_COLUMN_INCONSISTENT_METADATA InvalidSchemaError
    Inconsistent IDENTITY metadata for column {column!r}: {found}.
    Next: Check the schemaString of the table's last metaData action.
DELTA_IDENTITY_COLUMNS_ILLEGAL_STEP InvalidSchemaError
    IDENTITY column step cannot be 0.
    Next: Give a step of 1, -1 or more.
DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE InvalidSchemaError
    DataType {type} is not supported for IDENTITY columns such as {column!r}.
    Next: Leave the identity column as it is, or create the table again.
DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE/nested InvalidSchemaError
    Column {column!r} contains an IDENTITY column, and only top-level columns can be one.
    Next: Leave the identity column as it is, or create the table again.
DELTA_IDENTITY_COLUMNS_WITH_GENERATED_EXPRESSION InvalidSchemaError
    IDENTITY column {column!r} cannot be specified with a generated column expression.
    Next: Leave the identity column as it is, or create the table again.
DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED InvalidSchemaError
    PARTITIONED BY IDENTITY column {column} is not supported.
    Next: Leave the identity column as it is, or create the table again.
DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED SchemaMismatchError
    Providing values for GENERATED ALWAYS AS IDENTITY column {column} is not supported.
    Next: Leave the column out of the rows.
DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN InvalidSchemaError
    ALTER TABLE ALTER COLUMN SYNC IDENTITY cannot be called on non IDENTITY columns such as {column!r}.
    Next: Leave the identity column as it is, or create the table again.
DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE InvalidSchemaError
    Schema changes are not allowed during the change of column mapping mode, but these columns are new: {columns}.
    Next: Change the mode first, and the schema in another commit.
DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/not-alone InvalidOptionError
    Changing column mapping mode from '{mode}' to '{new_mode}' is not supported together with other changes.
    Next: Set only this property, and do not set spark.databricks.delta.columnMapping.allowRemoval to false.
DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/to-id InvalidOptionError
    Changing column mapping mode from '{mode}' to '{new_mode}' is not supported, because existing data files would not match.
    Next: Use the mode name.
DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE InvalidOptionError
    Changing column mapping mode from '{mode}' to '{new_mode}' is not supported, because existing data files would not match.
    Next: Copy the rows into a new table with that mode.
DELTA_SCHEMA_NOT_SET/mapping InvalidSchemaError
    The column mapping is broken, because the column {column} has no {lacking}.
DELTA_DUPLICATE_COLUMNS_FOUND/mapping InvalidSchemaError
    The column mapping is broken, because the columns {column} and {twin} share {shared}.
DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET InvalidSchemaError
    The column mapping is broken, because delta.columnMapping.maxColumnId is not set.
DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY InvalidSchemaError
    The column mapping is broken, because delta.columnMapping.maxColumnId is {value} and a column has the id {highest}.
DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING InvalidSchemaError
    Column mapping cannot be removed, because these column names have characters that need it: {columns!r}.
    Next: Rename the columns first.
DELTA_ILLEGAL_OPTION/mapping-mode InvalidOptionError
    The column mapping mode {mode!r} is unknown; it must be one of {known}.
"""
