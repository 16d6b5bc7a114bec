# SPDX-License-Identifier: Apache-2.0
"""The errors of creating, cloning, converting and restoring tables, and of VACUUM."""

from __future__ import annotations

from typing import Final

OPERATIONS: Final = """
DELTA_PATH_EXISTS TableExistsError
    A table exists already.
    Next: Append to it, or choose another path.
    Parameters: path={table_uri}
DELTA_ADD_CONSTRAINTS/create InvalidOptionError
    A CHECK constraint needs Spark, and a table is created here without it.
    Next: Use DeltaTable.create, or DeltaTable.addConstraint.
DELTA_CREATE_EXTERNAL_TABLE_WITHOUT_TXN_LOG TableNotFoundError
    You are trying to create an external table from {table} using Delta, but there is no transaction log present at the location,
    and it is not empty.
    Next: Check the path, or convert the files there.
DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION TableExistsError
    Cannot create table at {table}: the location is not empty and also not a Delta table.
    Next: Choose an empty folder, or convert the files there.
DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE UnsupportedFeatureError
    The table cannot be replaced by a clone of its own version {version}.
    Next: Restore the version with restoreToVersion().
DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE/properties UnsupportedFeatureError
    The table cannot be replaced by a clone of itself with other properties.
    Next: Set the properties with setProperties().
TABLE_OR_VIEW_ALREADY_EXISTS/clone TableExistsError
    Cannot create table {table} because it already exists.
    Next: Choose another location, or replace the table with replace=True.
DELTA_UNSUPPORTED_NON_EMPTY_CLONE UnsupportedFeatureError
    A shallow clone cannot replace a table that has files.
    Next: Choose an empty location, delete the table's rows first, or make a deep clone.
DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/clone UnsupportedFeatureError
    A clone of {cloned} cannot change the column mapping mode from {mode!r} to {new_mode!r}.
    Next: Leave delta.columnMapping.mode out, or clone to another location.
DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS InvalidCommitError
    The source's file {file} has no row count in its statistics, which a clone that tracks rows needs for their ids.
    Next: Compute the source's statistics first, with computeStatistics().
DELTA_FILE_NOT_FOUND_DETAILED/clone DataFileNotFoundError
    A file of version {version} of the source is gone, so the clone was not made: {reason}.
    Next: Clone a later version, because VACUUM or another program deleted the file.
DELTA_NON_PARTITION_COLUMN_REFERENCE/statistics InvalidOptionError
    The filter names the column {column!r}, which is not a partition column, and statistics that are recomputed cannot select files.
    Next: Use the partition columns, which are {partition_columns}.
DELTA_FILE_NOT_FOUND_DETAILED/live DataFileNotFoundError
    A file of the table does not exist.
FAILED_READ_FILE UnreadableDataFileError
    The footer of a file of the table cannot be read: {reason}.
DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING UnsupportedFeatureError
    Files that were written without column mapping cannot make up a table with the column mapping mode {mode!r}.
    Next: Unset the default of delta.columnMapping.mode in the session, and set the property once the table is converted.
DELTA_FILE_NOT_FOUND_DETAILED/listed DataFileNotFoundError
    A file that was listed does not exist.
DELTA_FAILED_READ_FILE_FOOTER UnreadableDataFileError
    The file is not a Parquet file: {reason}.
    Next: Move it out of the folder, or set spark.sql.files.ignoreCorruptFiles to leave out such files.
sink-log-unreadable StorageError
    The log of the streaming sink cannot be read: {reason}.
    Next: Delete the folder _spark_metadata to convert all files of the table's folder.
DELTA_DUPLICATE_ACTIONS_FOUND/sink-log-outside InvalidCommitError
    The log of the streaming sink names the file {file}, which is not in the table's folder.
    Next: Delete the folder _spark_metadata to convert all files of the table's folder.
DELTA_DUPLICATE_ACTIONS_FOUND/linked-folder InvalidCommitError
    The folder {file} is a link, and a table has no files behind a link to a folder.
    Next: Put the folder itself in the place of the link, or remove the link to leave its files out.
DELTA_PATH_EXISTS/nested TableExistsError
    The folder {file} is a Delta table of its own, and some of its files may hold rows that were deleted.
    Next: Move it elsewhere, or convert the other folders separately.
DELTA_PATH_DOES_NOT_EXIST PathNotFoundError
    The folder {table} does not exist.
DELTA_EMPTY_DIRECTORY TableNotFoundError
    The folder {table} has no file for a table, and files whose names begin with _ or . do not count.
    Next: Check the path, or create an empty table with DeltaTable.create.
DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME InvalidSchemaError
    The folders of the file {file} name the partition columns [{found}], and those of the table are [{columns}].
    Next: Declare the columns with their types as the folders name them, as in partitionSchema={example!r}, or move the file to the
    others.
DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME InvalidSchemaError
    The partition column {column!r} was expected, and the folders of the file {file} name {name!r} instead.
    Next: Declare the columns as the folders name them, in their order.
DELTA_FAILED_CAST_PARTITION_VALUE InvalidSchemaError
    The partition value {value!r} of the file {file} cannot be cast to {type}, the type of the column {column!r}.
    Next: Declare the column with another type, such as string, or move the file.
DELTA_FAILED_MERGE_SCHEMA_FILE SchemaMismatchError
    Failed to merge the schema of the file {file} with those of earlier files, here called the table: {reason}; the file's schema is
    {schema}.
    Next: Rewrite the file with the types of the other files, or move it out of the folder.
DELTA_ILLEGAL_OPTION/restore InvalidOptionError
    RESTORE needs a version or a timestamp, and only one of them.
    Next: Give one of them.
DELTA_CANNOT_RESTORE_TABLE_VERSION VersionNotFoundError
    The table cannot be restored to version {version}, because versions {earliest} to {latest} are available.
    Next: Give a version in that range.
DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER TimestampOutOfRangeError
    The table cannot be restored to {timestamp}, because its first version that can be read was committed at {first}.
    Next: Give a later time, or a version.
DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/restore UnsupportedFeatureError
    The table cannot be restored to version {version}, because its column mapping mode was {old_mode!r}, and is {mode!r} now.
    Next: Read version {version}, and write its rows into the table.
DELTA_FILE_NOT_FOUND_DETAILED/restore DataFileNotFoundError
    {num_files} files of version {version} are gone, for example {sample}.
    Next: Restore a later version, because VACUUM or another program deleted them, or set spark.sql.files.ignoreMissingFiles
    (ignore_missing_files=True) to restore the others.
DELTA_ROW_TRACKING_BACKFILL_RUNNING_CONCURRENTLY_WITH_UNBACKFILL UnsupportedFeatureError
    {operation} stopped, because another writer {change} row tracking at the same time.
    Next: Try again when the other operation is done.
files-not-deleted StorageError
    {num_files} files could not be deleted, for example {file}, and the others were deleted: {reason}.
    Next: Run VACUUM again, which tries to delete them again.
DELTA_UNSUPPORTED_VACUUM_SPECIFIC_PARTITION TableNotFoundError
    Please provide the base path ({base}) when Vacuuming Delta tables. Vacuuming specific partitions is currently not supported.
    Next: Run VACUUM on {base}, because it cleans up the whole table.
DELTA_PARSING_MUTUALLY_EXCLUSIVE_CLAUSES/inventory InvalidOptionError
    VACUUM LITE reads only the log, and cannot use an inventory.
    Next: Leave one of them out.
DELTA_INVALID_INVENTORY_SCHEMA InvalidOptionError
    The inventory lacks these columns: {columns}.
    Next: Give the columns path (a string), length (a long), isDir (a boolean) and modificationTime (a long, in milliseconds since
    1970).
DELTA_CANNOT_VACUUM_LITE InvalidOptionError
    VACUUM LITE needs the commits of the versions {first} to {last}, and version {version} is no longer in the log.
    Next: Run a full VACUUM once; LITE works from then on.
DELTA_VERSION_NOT_FOUND/vacuum TimeTravelError
    VACUUM must keep files that were removed since {since}, and the log reaches back only to {reached}.
    Next: Give fewer hours; to keep more from now on, raise delta.logRetentionDuration and delta.deletedFileRetentionDuration.
DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE InvalidOptionError
    The retention of VACUUM is {hours} hours, and cannot be less than 0.
    Next: Give a number of hours from 0 on.
DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT InvalidOptionError
    A retention of {hours:g} hours is shorter than the table's delta.deletedFileRetentionDuration, {least:g} hours, so that VACUUM
    could delete files that a running writer or reader still needs.
    Next: Use at least {least:g} hours, or, if nobody uses the table, switch the check off by
    spark.databricks.delta.retentionDurationCheck.enabled=false or check_retention=False.
"""
