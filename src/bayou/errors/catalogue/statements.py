# SPDX-License-Identifier: Apache-2.0
"""The errors of SQL statements, and of what Spark asks of its session catalog."""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = """
TABLE_OR_VIEW_NOT_FOUND TableNotFoundError
    The table or view {table} cannot be found.
    Next: Check the name and the current database.
    Parameters: relationName={table_name}
TABLE_OR_VIEW_NOT_FOUND/no-paths TableNotFoundError
    The table or view {table} cannot be found, and it is not taken for a path, because spark.sql.runSQLOnFiles is false.
    Next: Set spark.sql.runSQLOnFiles to true, or use a name of the catalog.
DELTA_TABLE_NOT_FOUND/like TableNotFoundError
    The table or view {table} cannot be found.
    Next: Check the name that follows LIKE.
DELTA_MISSING_DELTA_TABLE TableNotFoundError
    {table} is not a Delta table.
    Next: Check the name; SHOW TABLES lists those of the current database.
    Parameters: tableName={table_name}
DELTA_MISSING_DELTA_TABLE/path TableNotFoundError
    `{table}` is not a Delta table.
    Next: Check the path.
DELTA_MISSING_DELTA_TABLE/operation TableNotFoundError
    `{path}` is not a Delta table, so that {operation} does not work on it.
    Next: Check the path.
DELTA_MISSING_DELTA_TABLE/other-catalog TableNotFoundError
    {table} is not the name of a table in the session's catalog.
    Next: Name a Delta table of spark_catalog, with backticks around names that are not identifiers.
DELTA_FILE_NOT_FOUND TableNotFoundError
    File path {table} does not exist.
    Next: Check the path.
DELTA_TABLE_ONLY_OPERATION TableNotFoundError
    {table} is not a Delta table. {operation} is only supported for Delta tables.
    Next: Name a Delta table, or make this one a Delta table with CONVERT TO DELTA.
    Parameters: tableName={table_name} operation={operation}
DELTA_ONLY_OPERATION TableNotFoundError
    {operation} is only supported for Delta tables.
    Next: Name a Delta table.
    Parameters: operation={operation}
DELTA_ONLY_OPERATION/view InvalidOptionError
    {operation} is only supported for Delta tables, and {table} is a view.
    Next: Give the clone another name, or drop the view first.
EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE InvalidOptionError
    '{operation}' expects a table but {table} is a view.
    Next: Name the table that the view reads.
    Parameters: viewName={table_name} operation={operation}
DELTA_ILLEGAL_OPTION/table-name InvalidOptionError
    {given!r} is not the name of a table in the session's catalog: {reason}.
    Next: Correct the name, with backticks around parts that are not identifiers, or open a path with DeltaTable.forPath.
DELTA_ILLEGAL_OPTION/identifier InvalidOptionError
    IDENTIFIER({expression}) is {given!r}, which is not the name of a table in the session's catalog.
    Next: Give an expression whose value is such a name.
DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS InvalidOptionError
    The {place} names a version, and {other_place} names another one.
    Next: Name the version once.
DELTA_ILLEGAL_OPTION/version InvalidOptionError
    {given} is not a version.
    Next: Give a whole number, as 12.
DELTA_ILLEGAL_OPTION/time InvalidOptionError
    {given} is not a time.
    Next: Give a time, as '2026-01-31 12:00:00'.
PARSE_SYNTAX_ERROR SqlSyntaxError
    {problem} (line {line}, pos {position}).{more}{excerpt}
    Next: Correct the statement; docs/sql.md has its clauses.
PARSE_SYNTAX_ERROR/spark SqlSyntaxError
    {reason}
    Next: Correct the statement; docs/sql.md has its clauses.
PARSE_SYNTAX_ERROR/condition SqlSyntaxError
    Syntax error: {condition!r} is more than a condition.
    Next: Put what follows the condition in its place.
PARSE_SYNTAX_ERROR/replace-on SqlSyntaxError
    REPLACE ON needs a condition and, after it, a query.
    Next: Correct the statement, as INSERT INTO t REPLACE ON t.id = s.id (SELECT ...) AS s.
SPECIFY_CLUSTER_BY_WITH_BUCKETING_IS_NOT_ALLOWED SqlSyntaxError
    Cannot specify both CLUSTER BY and CLUSTERED BY INTO BUCKETS.
    Next: Leave CLUSTERED BY INTO BUCKETS out to cluster the table.
SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED SqlSyntaxError
    Cannot specify both CLUSTER BY and PARTITIONED BY.
    Next: Leave PARTITIONED BY out to cluster the table.
parameters-without-values UnsupportedFeatureError
    The parameter {parameter} has no value here, because Spark {spark_version} does not pass the values of parameters to the parsers
    of extensions.
    Next: Write the value into the statement, with an f-string or as a keyword argument of spark.sql; or use Spark 4.1 or
    later.
statement-in-script UnsupportedFeatureError
    {operation} cannot be a part of a SQL script, because Spark's parser reads the whole script and does not know it.
    Next: Put the statement into a string: EXECUTE IMMEDIATE 'VACUUM orders'.
DELTA_OPERATION_NOT_ALLOWED_DETAIL UnsupportedFeatureError
    Operation not allowed: {operation} is not supported for Delta tables.
    Next: Partition by columns; a generated column can hold the value of an expression.
    Parameters: operation={operation} tableName={table_name}
DELTA_OPERATION_NOT_ALLOWED/command UnsupportedFeatureError
    {operation} is not supported on Delta tables.
DELTA_OPERATION_NOT_ALLOWED/alter-table UnsupportedFeatureError
    ALTER TABLE with {features} is not supported by this version of bayou.
    Next: Make one change in each statement.
DELTA_OPERATION_NOT_ALLOWED/on-path UnsupportedFeatureError
    {operation} is not supported for a Delta table that is named by its path, because the catalog has no entry for it.
DELTA_OPERATION_NOT_ALLOWED/rely UnsupportedFeatureError
    A CHECK constraint of a Delta table has no RELY and no NORELY, because it is enforced.
    Next: Leave out the words after the condition.
DELTA_OPERATION_NOT_ALLOWED/key-constraint UnsupportedFeatureError
    Delta tables have no {kind} constraints, because nothing would enforce the constraint {name!r}.
    Next: Leave the constraint out; CHECK and NOT NULL are enforced, and a MERGE can keep a key unique.
DELTA_OPERATION_NOT_ALLOWED/lost-partitions UnsupportedFeatureError
    The session's catalog is not bayou's, and Spark does not pass the partition columns ({columns}) on.
    Next: Write the rows to a path with partitionBy, and make a table of it with CREATE TABLE ... LOCATION; or leave
    spark.sql.catalog.spark_catalog unset, and delta out of spark.sql.sources.useV1SourceList.
DELTA_OPERATION_NOT_ALLOWED/replaced-by-other-format UnsupportedFeatureError
    A Delta table cannot be replaced by saveAsTable with another format, because Spark would drop it before it reads the rows.
    Next: Drop the table first, or write with the format delta; if delta is the format, leave it out of
    spark.sql.sources.useV1SourceList.
DELTA_CHANGELOG_REQUIRES_V2_TABLE UnsupportedFeatureError
    The clause CHANGES needs a table of Spark's newer data sources, which a Delta table is not.
    Next: Use the function table_changes: SELECT * FROM table_changes('table', start, end).
DELTA_OPERATION_NOT_ALLOWED/replace-on-by-position UnsupportedFeatureError
    The condition of 'replaceOn' needs the alias of the rows, and Spark does not pass it on with insertInto.
    Next: Write the rows with save or saveAsTable, or use replaceUsing, which insertInto supports too.
DELTA_OPERATION_NOT_ALLOWED/replace-using UnsupportedFeatureError
    REPLACE USING cannot name the column {column!r}, because its name has a comma, a backtick or a blank at an end.
    Next: Use REPLACE ON with a condition.
DELTA_UNSUPPORTED_SUBQUERY/replace-on UnsupportedFeatureError
    Subqueries are not supported in the condition of REPLACE ON.
    Next: Compute the value in the query of the INSERT.
insert-without-rule SessionError
    The session lacks bayou's rule, and so the columns of the rows cannot be matched with those of the table.
    Next: Call bayou.enable(session) on this session first.
DELTA_INSERT_COLUMN_MISMATCH SchemaMismatchError
    Column {column} is not specified in INSERT, and must not be NULL.
    Next: Name the column, or give it a default.
DELTA_INSERT_COLUMN_MISMATCH/replace-on SchemaMismatchError
    REPLACE ON matches columns by name, and the query has {found} for {wanted}.
    Next: Give the query's columns the names of the table's columns, or write BY NAME.
DELTA_INSERT_COLUMN_ARITY_MISMATCH SchemaMismatchError
    Cannot write to '{table}': there are {num_found} data columns ({found}) and {num_wanted} table columns ({wanted}).
    Next: Name the columns that the rows have: INSERT INTO table (column, ...).
DELTA_INSERT_COLUMN_ARITY_MISMATCH/nested SchemaMismatchError
    Cannot write to '{table}', not enough nested fields in {column}; target table has {wanted} column(s) but the inserted data has
    {found} column(s).
    Next: Give every field of the struct a value, or write the rows by name with save or saveAsTable.
DELTA_ILLEGAL_USAGE InvalidOptionError
    The usage of {option} is not allowed when replacing a Delta table.
    Next: Leave it out, or overwrite the table instead of replacing it.
DELTA_READ_SOURCE_SCHEMA_CONFLICT SchemaMismatchError
    The schema that was given is not the table's: {differences}.
    Next: Leave the schema out, because a Delta table has its own.
DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE InvalidOptionError
    SHOW PARTITIONS is not allowed on a table that is not partitioned.
    Next: Name a partitioned table.
DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_COLUMN InvalidOptionError
    Non-partitioning column(s) [{columns}] are specified for SHOW PARTITIONS.
    Next: Use the partition columns, which are {partition_columns}.
DELTA_CANNOT_REPLACE_MISSING_TABLE TableNotFoundError
    Table {table} cannot be replaced as it does not exist.
    Next: Use CREATE OR REPLACE TABLE to create the table.
DELTA_CLONE_UNSUPPORTED_SOURCE UnsupportedFeatureError
    Unsupported clone source '{table}', whose format is {format}.
    Next: Clone a Delta table, or copy the rows: CREATE TABLE ... USING delta AS SELECT * FROM the source.
iceberg-metadata UnsupportedFeatureError
    bayou writes no Iceberg metadata, which REORG TABLE ... APPLY (UPGRADE UNIFORM) asks for.
    Next: Use APPLY (PURGE), or an engine that writes UniForm.
DELTA_CDC_NON_CONSTANT_ARGUMENT InvalidOptionError
    The argument {argument} ({name}) of {option} is not a constant.
    Next: Give a literal, a constant expression such as current_timestamp() - INTERVAL 1 DAY, or a session variable.
DELTA_CDC_READ_NULL_RANGE_BOUNDARY InvalidOptionError
    CDC read start/end parameters cannot be null. Please provide a valid version or timestamp.
    Next: Give a start; leave the end out to read all changes since the start.
DELTA_UNSUPPORTED_EXPRESSION InvalidOptionError
    Unsupported expression type({type}) for {option}. The supported types are [{supported}].
    Next: Give a value of one of these types.
INCORRECT_NUMBER_OF_ARGUMENTS InvalidOptionError
    {failure}, {option} requires at least {least} arguments and at most {most} arguments.
    Next: See docs/sql.md, which lists the functions with their arguments.
DELTA_CAST_OVERFLOW_IN_TABLE_WRITE CastOverflowError
    Failed to write a value of "{source_type}" type into the "{target_type}" type column {column} due to an overflow, or because the
    computation of the value failed.
    Next: Use try_cast on the value to store NULL instead, or set spark.sql.storeAssignmentPolicy to LEGACY.
"""
