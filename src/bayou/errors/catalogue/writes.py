# SPDX-License-Identifier: Apache-2.0
"""The errors of writes: their options, and the rows and files that they write."""

from __future__ import annotations

from typing import Final

WRITES: Final = """
save-mode InvalidOptionError
    The save mode {mode} is not one of {modes}.
    Next: Use one of these modes.
write-path-missing InvalidOptionError
    A Delta table is written to its path, and no path is given.
DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE InvalidOptionError
    A 'replaceWhere' expression and 'partitionOverwriteMode'='dynamic' cannot both be set.
    Next: Leave one of the two out.
DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE InvalidOptionError
    'overwriteSchema' cannot be used in dynamic partition overwrite mode.
    Next: Leave one of the two out.
DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE/session InvalidOptionError
    'overwriteSchema' cannot be used in dynamic partition overwrite mode, which the session's settings ask for.
    Next: Set the option partitionOverwriteMode to static for this write.
DELTA_ILLEGAL_OPTION/null-partitions InvalidOptionError
    The option 'useNullIntolerantEqualityWithDPO' is for overwrites of partitions, and this write is another one.
    Next: Set partitionOverwriteMode to dynamic and the mode to overwrite, or leave the option out.
DELTA_INCOMPATIBLE_DATAFRAME_OPTIONS InvalidOptionError
    The options '{option}' and '{other}' cannot both be set.
    Next: Leave one of the two out.
DELTA_PATH_DOES_NOT_EXIST/no-rows-to-replace TableNotFoundError
    There is no table whose rows could be replaced.
    Next: Write without replaceOn and replaceUsing, which creates the table.
table-exists TableExistsError
    A table already exists, and the save mode is `error`.
    Next: Use the mode append, overwrite or ignore.
table-exists/since TableExistsError
    The table was created after Spark had looked for it.
    Next: Run the write again.
DELTA_DATA_CHANGE_FALSE InvalidOptionError
    Cannot change table metadata because the 'dataChange' option is set to false, and the write {change}.
    Next: Leave dataChange out.
no-running-session SessionError
    There is no running Spark session.
    Next: Create a new session, enable it, and run the operation again.
java-not-started SessionError
    Spark {spark} did not start, because it needs Java {needed}, and {found}.
    Next: Install Java {needed}, set JAVA_HOME to its folder, and start the program again.
files-not-moved StorageError
    The files of a write cannot be moved to their final folders: {reason}.
    Next: Run the operation again; VACUUM deletes the files that it left.
files-not-created StorageError
    The files of the write cannot be created under {table}: {shown}.
    Next: Check that the folder exists and is writable, and that no partition value is longer than the name of a folder may be.
partition-value-not-serialisable SchemaMismatchError
    The value {shown} of the partition column {column!r} cannot be a partition value: {reason}, and the log stores partition values
    as strings.
    Next: Partition by another column, or by the value in hexadecimal: hex(column).
wrong-columns-written SessionError
    Spark wrote a file that does not hold the table's columns, and nothing was committed: {columns}.
    Next: Look for settings or extensions that change how Spark writes Parquet, and report this with their names.
rules-not-observed SessionError
    Spark wrote {count} rows and does not say whether they satisfy the table's constraints.
    Next: Run the operation again with spark.sql.adaptive.enabled=false.
written-twice SessionError
    Spark ran the job that writes the rows twice, because the server lost its first run, and nothing was committed.
    Next: Run the operation again.
DELTA_OPERATION_NOT_ALLOWED/encrypted-files UnsupportedFeatureError
    The session encrypts Parquet files ({setting}), and bayou cannot read their footers to describe them in the log.
    Next: Write without parquet.encryption.footer.key, parquet.encryption.column.keys and parquet.encryption.uniform.key, into a
    store that encrypts automatically.
DELTA_MISSING_NOT_NULL_COLUMN_VALUE SchemaMismatchError
    Column {column!r}, which has a NOT NULL constraint, is missing from the data being written into the table.
    Next: Write values for it.
DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_NO_COLUMNS InvalidSchemaError
    The table has no columns, and rows cannot be written into it.
    Next: Add columns to it, or write rows that have columns with the option mergeSchema.
written-column-with-dependents SchemaMismatchError
    {reason}.
    Next: Cast the rows to the column's type, or drop what refers to the column first.
DELTA_REPLACE_WHERE_MISMATCH ConstraintViolationError
    Written data does not conform to partial table overwrite condition or constraint '{expression}', for example {shown}; rows that
    do not: {num_violations}.
    Next: Leave these rows out, or widen the condition.
"""
