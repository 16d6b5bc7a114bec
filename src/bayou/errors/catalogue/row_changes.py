# SPDX-License-Identifier: Apache-2.0
"""The errors of DELETE, UPDATE, MERGE, and of overwrites that replace rows."""

from __future__ import annotations

from typing import Final

ROW_CHANGES: Final = """
DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN SchemaMismatchError
    The condition {condition} of the {operation} is of type {type} and not a boolean.
    Next: Write a condition that is true or false for each row.
JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE SchemaMismatchError
    The search condition {condition} of the MERGE is of type {type} and not a boolean.
    Next: Write a condition that is true or false for each pair of rows.
DELTA_UNSUPPORTED_SUBQUERY/condition UnsupportedFeatureError
    Subqueries are not supported in the {operation} (condition = {condition}).
    Next: Collect the subquery's values first, or use MERGE.
unsupported-in-merge-condition UnsupportedFeatureError
    {features} are not supported in the {operation} condition of MERGE operation (condition = {condition}).
    Next: Compute the value in the source first.
DELTA_CANNOT_RESOLVE_COLUMN UnsupportedFeatureError
    Can't resolve column _metadata, because a row change cannot use the ids or files of rows.
    Next: Read the rows first, and select them by their columns.
COLUMN_ALREADY_EXISTS SchemaMismatchError
    The column {column} is listed twice, and an INSERT gives each column one value.
    Next: Leave one of them out, with its value.
    Parameters: columnName={column}
UNRESOLVED_COLUMN.WITH_SUGGESTION SchemaMismatchError
    A column, variable, or function parameter with name {column} cannot be resolved, because the table has no such column.
    Next: Name one of the table's columns, such as {columns}.
    Parameters: objectName={column} proposal={columns}
UNRESOLVED_COLUMN.WITH_SUGGESTION/string SchemaMismatchError
    A column, variable, or function parameter with name {column} cannot be resolved, because the table has no such column.
    Next: Name one of the table's columns, such as {columns}, or put a string into quotes inside the SQL, as in "'{word}'".
DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/statement SchemaChangedError
    The table's schema changed after the statement was resolved: {problems}.
    Next: Run the statement again.
DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/own-frame SchemaChangedError
    The statement names {columns} of a DataFrame that toDF() returned before the schema changed, and the table no longer has this
    column, or another column has its name, or its type has changed.
    Next: Take the column from a new toDF().
DELTA_NUM_RECORDS_MISMATCH/no-data-change InvalidCommitError
    The write states that it changes no data (dataChange is false), but it replaces {replaced} rows by {written}.
    Next: Write all rows of the files that are replaced, or leave dataChange out, and unset spark.sql.files.ignoreMissingFiles and
    spark.sql.files.ignoreCorruptFiles, which skip rows.
DELTA_NUM_RECORDS_MISMATCH/passes InvalidCommitError
    The two passes of this {operation} saw different rows, because the condition or a function in it returns different values each
    time: {why}.
    Next: Look for functions that return different values for the same row.
DELTA_NUM_RECORDS_MISMATCH/passes-of-merge InvalidCommitError
    The two passes of this {operation} saw different rows, because the source or a function returns different values each time:
    {why}.
    Next: Set spark.databricks.delta.merge.materializeSource to all, or write the source to a table first.
DELTA_NUM_RECORDS_MISMATCH/counted-by-statistics InvalidCommitError
    By the log's statistics the two passes of this {operation} saw different rows ({why}), but these statistics are wrong: {wrong}.
    Next: Find the program that wrote these files with a wrong numRecords, and overwrite the table with its own rows, which corrects
    the statistics.
DELTA_NUM_RECORDS_MISMATCH/emptied-by-statistics InvalidCommitError
    By the log's statistics all rows of a file would be deleted, but the file has other rows, because these statistics are wrong:
    {wrong}.
    Next: Find the program that wrote these files with a wrong numRecords, and overwrite the table with its own rows, which corrects
    the statistics.
DELTA_NUM_RECORDS_MISMATCH/merge-source-changed ChangedSourceError
    The passes of this MERGE may have seen different rows, because another program changed its source meanwhile: {changed}.
    Next: Run the MERGE again, and set {setting} to auto or all, so that the MERGE reads such a source once.
DELTA_NUM_RECORDS_MISMATCH/new-rows-changed ChangedSourceError
    The write may have replaced the wrong rows, because another program changed what the new rows are read from:
    {changed}.
    Next: Run the write again, with rows of files or of a table that no program writes at the same time.
merge-executed-before TransactionStateError
    This plan of a MERGE was executed before, as version {committed_version}, and a plan is only for the table as it was
    when the plan was made.
    Next: Plan the MERGE again.
DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE MultipleMatchesError
    Cannot perform Merge as multiple source rows matched and attempted to modify the same target row in the Delta table in possibly
    conflicting ways: {matches}.
    Next: Leave one row for each key in the source, narrow the conditions of the clauses, or take the latest row of each key, as in
    merge(..., keep='latest', by=column).
DELTA_MERGE_MISSING_WHEN InvalidOptionError
    There must be at least one WHEN clause in a MERGE statement.
    Next: Add a clause for the rows that match, or for those that do not.
merge-clause-without-condition InvalidOptionError
    When there are more than one {kind} clauses in a MERGE statement, only the last {kind} clause can omit the condition.
    Next: Give the earlier clauses conditions, or leave out the clauses after the one without a condition.
DELTA_MERGE_UNRESOLVED_EXPRESSION SchemaMismatchError
    {problem} given columns {columns}.
    Next: Name a column of the table or of the source, or use withSchemaEvolution if the source has new columns.
AMBIGUOUS_REFERENCE SchemaMismatchError
    The condition {condition} names columns that may be the table's or the source's, because the source is made from the table.
    Next: Give the table and the source aliases, and put these before the columns.
AMBIGUOUS_REFERENCE/merge SchemaMismatchError
    Reference {column} is ambiguous, because several columns of the table and the source have this name: {columns}.
    Next: Give the table and the source aliases, and put these before the columns, as in
    table.alias('t').merge(source.alias('s'), 't.id = s.id').
DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION UnsupportedFeatureError
    Nested field is not supported in the INSERT clause of MERGE operation (field = `{field}`).
    Next: Give the whole struct.
DELTA_DUPLICATE_COLUMNS_ON_INSERT InvalidSchemaError
    Duplicate column names in INSERT clause: {columns}.
    Next: Give each column once.
DELTA_ILLEGAL_OPTION/keep-latest InvalidOptionError
    The option keep='latest' needs a condition of equalities between the table and the source, and {condition} is not such an
    equality.
    Next: Move the other conditions into the clauses, or leave one row for each key in the source.
DELTA_ILLEGAL_OPTION/latest-by InvalidOptionError
    The column of keep='latest' has a direction or a name of its own, and the greatest value is always the latest.
    Next: Give the column alone, as in by='ts', or the negated column to keep the row with the least value.
DELTA_OPERATION_NOT_ALLOWED/reserved-in-source UnsupportedFeatureError
    The source of the MERGE has the column {column!r}, and names that begin with {prefix} are reserved for bayou's auxiliary
    columns.
    Next: Give the column another name in the source.
DELTA_OPERATION_NOT_ALLOWED/merge-values UnsupportedFeatureError
    The new value of {column} is a struct, or its column has a default, and the MERGE cannot be resolved from its text alone.
    Next: Name the table instead of a view that renames or hides columns, give the two tables aliases and no parameters, or use
    DeltaTable.merge.
DELTA_OPERATION_NOT_ALLOWED/merge-evolution UnsupportedFeatureError
    The source has columns that the table would get, {columns}, and the MERGE cannot be resolved from its text alone.
    Next: Name the table instead of a view that renames or hides columns, give the two tables aliases and no parameters, or use
    DeltaTable.merge.
DELTA_OPERATION_NOT_ALLOWED/update-values UnsupportedFeatureError
    The new value of {column} is a struct that cannot be taken from the statement's text.
    Next: Set the fields one by one, or use DeltaTable.update.
DELTA_OPERATION_NOT_ALLOWED/query UnsupportedFeatureError
    {operation} changes the rows of a table, not of a query.
    Next: Name the table.
DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION UnsupportedFeatureError
    Expect a full scan of the latest version of the Delta source, but found a historical scan of version {version}, and {operation}
    changes the latest version of a table.
    Next: Name the table without a version.
DELTA_OPERATION_NOT_ALLOWED/change-feed UnsupportedFeatureError
    The change data feed of a table can only be read.
    Next: Name the table itself in the {operation}.
DELTA_UNEXPECTED_PARTIAL_SCAN UnsupportedFeatureError
    Expect a full scan of Delta sources, but found a partial scan, because {partition} is a folder of the table and can only be
    read.
    Next: Name the table, and select the partitions by a condition.
DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED InvalidSchemaError
    UPDATE on IDENTITY column {column!r} is not supported.
    Next: Leave the column out.
DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE UnsupportedFeatureError
    Updating nested fields is only supported for StructType, but you are trying to update {column}.
    Next: Set the whole array or map.
DELTA_CONFLICT_SET_COLUMN SchemaMismatchError
    There is a conflict from these SET columns: [{columns}].
    Next: Set each column once, as a whole or by its fields.
CANNOT_UP_CAST_DATATYPE SchemaMismatchError
    Cannot up cast the value for {column} from "{source_type}" to "{target_type}".
    Next: Cast the value in the statement, or set spark.sql.storeAssignmentPolicy to ANSI.
DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION SchemaMismatchError
    All nested columns must match, but the value for {column} has the fields {fields} and the column has {known}.
    Next: Give all fields of the struct, or set its fields one by one.
INSERT_REPLACE_USING_DISALLOW_MISALIGNED_COLUMNS InvalidOptionError
    INSERT REPLACE USING has misaligned columns: {columns}, which must have the same positions in the table and in the rows.
    Next: Select the columns in the table's order, or save the rows by name with df.write.save(path).
UNRESOLVED_INSERT_REPLACE_USING_COLUMN InvalidOptionError
    The column {column!r} of replaceUsing must be one of the table and of the rows.
    Next: Name columns that the table and the rows both have.
DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION InvalidOptionError
    Columns of replaceOn are ambiguous, because the table and the rows have them both: {reason}.
    Next: Give the rows an alias with df.alias, the table one with targetAlias, and put them before the columns.
DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION InvalidOptionError
    Columns of replaceOn cannot be resolved: {reason}.
    Next: Name columns of the table and of the rows, with the aliases of df.alias and targetAlias.
DELTA_REPLACE_WHERE_WITH_FILTER_DATA_CHANGE_UNSET InvalidOptionError
    'replaceWhere' cannot be used with data filters when 'dataChange' is set to false.
    Next: Leave dataChange out, or use a condition on the partition columns only.
DELTA_FAILED_RECOGNIZE_PREDICATE InvalidOptionError
    Cannot recognize the predicate '{expression}': {reason}.
    Next: Give a SQL condition on the table's columns.
"""
