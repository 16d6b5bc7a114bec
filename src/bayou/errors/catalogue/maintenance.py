# SPDX-License-Identifier: Apache-2.0
"""The errors of OPTIMIZE, statistics and CONVERT on a session, and of the other calls of `DeltaTable`."""

from __future__ import annotations

from typing import Final

MAINTENANCE: Final = """
DELTA_ILLEGAL_OPTION/auto-compaction InvalidOptionError
    The setting {option} is {value!r}, but it must be inline or background.
    Next: Set it to inline or background.
DELTA_OPTIMIZE_FULL_NOT_SUPPORTED UnsupportedFeatureError
    OPTIMIZE FULL is only supported for clustered tables with non-empty clustering columns.
    Next: Set the columns with DeltaTable.clusterBy first, or use executeCompaction.
DELTA_CLUSTERING_WITH_PARTITION_PREDICATE UnsupportedFeatureError
    OPTIMIZE of a table with clustering takes no partition predicates, and these were given: {conditions}.
    Next: Leave the condition out, or choose files with whereFiles.
DELTA_CLUSTERING_WITH_ZORDER_BY UnsupportedFeatureError
    OPTIMIZE of a table with clustering takes no ZORDER BY, and these columns were given: {columns}.
    Next: Use executeCompaction, which clusters by the table's clustering columns.
DELTA_COLUMN_NOT_FOUND_IN_SCHEMA/order InvalidSchemaError
    Couldn't find column {columns} in {known}, by which the rows are to be ordered.
    Next: Set the clustering columns again with DeltaTable.clusterBy.
DATATYPE_MISMATCH.INVALID_ORDERING_TYPE UnsupportedFeatureError
    Rows cannot be ordered by the column {column}, because its type {type} has no order.
    Next: Leave the column out.
DELTA_ZORDERING_ON_PARTITION_COLUMN InvalidOptionError
    {column} is a partition column, and Z-Ordering can only be performed on data columns.
    Next: Leave the column out.
DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST InvalidOptionError
    Z-Ordering column {column} does not exist in data schema.
    Next: Use a column of the table.
DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS InvalidSchemaError
    Z-Ordering on [{columns}] would be ineffective, because files have no statistics of these columns.
    Next: Name the columns in delta.dataSkippingStatsColumns, or set {setting} to false.
PARSE_SYNTAX_ERROR/z-order-column InvalidOptionError
    {column!r} is not the path of one column.
    Next: Put backticks around names that are not identifiers.
DELTA_NON_PARTITION_COLUMN_REFERENCE InvalidOptionError
    Predicate references non-partition column '{column}', and only the partition columns may be referenced: [{partition_columns}].
    Next: Choose files by other columns with whereFiles.
DELTA_NUM_RECORDS_MISMATCH/scanned InvalidCommitError
    The file has {num_live} rows by its footer and its deletion vector, but a scan finds {found}.
    Next: Look for a program that replaced the file.
DELTA_OPERATION_NOT_ALLOWED/convert-view InvalidOptionError
    Converting a view to a Delta table is not supported, and {table} is a view.
    Next: Convert the table that the view reads.
TABLE_OR_VIEW_NOT_FOUND/convert TableNotFoundError
    The table or view {table} cannot be found.
    Next: Check the name, or give a path as in parquet.`/a/path`.
DELTA_MISSING_PROVIDER_FOR_CONVERT InvalidOptionError
    CONVERT only takes Parquet files, and {table} is a path without a format.
    Next: Give parquet.{name} if the files are Parquet.
DELTA_CONVERT_NON_PARQUET_TABLE InvalidOptionError
    CONVERT only takes Parquet files, and the format of {table} is {provider}.
    Next: Read the table, and write it with df.write.format("delta").
DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER InvalidSchemaError
    The partition columns of the table in the catalog are {known}, but {declared} were given.
    Next: Leave partitionSchema out, because CONVERT takes the columns from the catalog.
DELTA_DUPLICATE_ACTIONS_FOUND/partition-outside InvalidCommitError
    The partition {partition} of {relation} is at {file}, which is not in the table's folder.
    Next: Move its files into the table's folder, or drop the partition and add its rows to the table later.
DELTA_CONVERSION_NO_PARTITION_FOUND InvalidOptionError
    The catalog has no partition of the partitioned table {relation}.
    Next: Run MSCK REPAIR TABLE {relation}, which finds the partitions, or convert the path.
DELTA_CONVERT_METASTORE_METADATA_MISMATCH InvalidOptionError
    The catalog has the properties {given} for the table, but its log has {known}.
    Next: Set the same properties on both, or set {setting} to false to add the catalog's to the log.
DELTA_FAILED_MERGE_SCHEMA_FILE/unreadable SchemaMismatchError
    Spark cannot read the columns of the file: {reason}.
    Next: Write the file again with types that Spark reads, or move it out of the folder.
DELTA_MODE_NOT_SUPPORTED InvalidOptionError
    Specified mode '{mode}' is not supported, because the supported modes are: {modes}.
    Next: Use a supported mode.
DELTA_OPERATION_NOT_ALLOWED/not-yet UnsupportedFeatureError
    {features} is not in this version of bayou yet, and nothing was changed.
    Next: Run it with another engine, such as delta-spark or delta-rs, because the table stays an ordinary Delta table.
DELTA_MISSING_DELTA_TABLE/for-path TableNotFoundError
    {table} is not a Delta table.
    Next: Check the path, or create the table with DeltaTable.create.
DELTA_TABLE_FOR_PATH_UNSUPPORTED_HADOOP_CONF InvalidOptionError
    Currently DeltaTable.forPath only supports hadoop configuration keys starting with [{prefixes}] but got {names}.
    Next: Leave the others out, or set them on the session.
no-active-session SessionError
    There is no active Spark session.
    Next: Give the session as an argument.
delta-table-constructor ArgumentTypeError
    DeltaTable(...) does not open a table.
    Next: Use DeltaTable.forPath(spark, path) or DeltaTable.forName(spark, name), or without Spark bayou.open(path).
package-of-spark-missing MissingPackageError
    Using bayou.{attribute} needs {package_name}, which is not installed.
    Next: Run pip install 'bayou[spark]'.
stored-expression InvalidSchemaError
    The expression {expression!r} of {owner} is not used: {problems}.
    Next: Remove it from the table, or store one that only uses built-in functions of a row's values.
"""
