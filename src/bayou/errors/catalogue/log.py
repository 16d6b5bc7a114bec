# SPDX-License-Identifier: Apache-2.0
"""The errors of reading a log: versions, snapshots, checkpoints and change data."""

from __future__ import annotations

from typing import Final

LOG: Final = """
DELTA_TABLE_NOT_FOUND TableNotFoundError
    Delta table `{table}` doesn't exist: _delta_log holds neither a commit nor a checkpoint, so this is not a Delta table.
    Next: Check the path, write to it to create a table there, or make a table of its Parquet files with CONVERT TO DELTA.
    Parameters: tableName={table_name}
DELTA_TABLE_NOT_FOUND/inside TableNotFoundError
    Delta table `{table}` doesn't exist, because this is a folder inside the table {outer}.
    Next: Give the path of that table, and select the rows by a filter.
DELTA_TABLE_NOT_FOUND/file TableNotFoundError
    `{table}` is a file, and a Delta table is a folder.
    Next: Give the folder that holds _delta_log.
PATH_NOT_FOUND PathNotFoundError
    Path does not exist: {table}.
    Next: Check the path.
    Parameters: path={table_path}
DELTA_PATH_DOES_NOT_EXIST/partition PathNotFoundError
    {path} doesn't exist, or is not a Delta table, because the table has no files of this partition.
    Next: Read the table, and select its rows by a condition.
DELTA_INVALID_PARTITION_PATH InvalidOptionError
    A partition path fragment should be the form like `part1=foo/part2=bar`. The partition path: {path}.
    Next: Check the path, or give the path of the table.
DELTA_NON_PARTITION_COLUMN_SPECIFIED InvalidOptionError
    Non-partitioning column(s) [{columns}] are specified where only partitioning columns are expected: {path}.
    Next: Use the partition columns, which are {partition_columns}.
DELTA_VERSION_NOT_FOUND VersionNotFoundError
    Version {version} cannot be read: {why}; versions {earliest} to {latest} are available.
    Next: Ask for a version in that range.
    Parameters: userVersion={version} earliest={earliest} latest={latest}
DELTA_VERSION_NOT_FOUND/empty-log VersionNotFoundError
    Version {version} cannot be read: {why}; the log holds no version that can be read.
    Next: Restore the missing files of the log from a backup.
timestamp-out-of-range TimestampOutOfRangeError
    No version can be read as of {wanted}: {why}.
    Next: Ask for a timestamp in that range, or for a version.
DELTA_TIMESTAMP_INVALID InvalidTimestampError
    {value} is not a valid timestamp: {reason}.
    Next: Give a datetime, or a string such as '2026-01-02 03:04:05' or '2026-01-02T03:04:05.678Z'.
DELTA_ONEOF_IN_TIMETRAVEL InvalidOptionError
    A version and a timestamp were both given.
    Next: Give one of them.
DELTA_VERSIONS_NOT_CONTIGUOUS VersionGapError
    The log {problem}.
    Next: Restore the missing files of the log from a backup.
DELTA_MISSING_COMMIT_TIMESTAMP CorruptLogError
    The table uses in-commit timestamps, and a commit has none.
    Next: Read by version, or disable delta.enableInCommitTimestamps.
DELTA_STATE_RECOVER_ERROR/header CorruptLogError
    The log holds no action of the kind {missing}.
    Next: Restore the first commits of the log, or the checkpoint, from a backup.
DELTA_STATE_RECOVER_ERROR/skipped CorruptLogError
    The file cannot be used, and was skipped already.
DELTA_STATE_RECOVER_ERROR/listed-commit CorruptLogError
    A listed commit cannot be found, because it is a broken link, or the log was cleaned up or the table replaced at the same time.
    Next: Open the table again; if that fails too, restore the file from a backup.
DELTA_STATE_RECOVER_ERROR/sidecar-path CorruptLogError
    A sidecar action has no path.
DELTA_STATE_RECOVER_ERROR/sidecar-outside CorruptLogError
    The sidecar {sidecar} lies outside the table {table}.
DELTA_STATE_RECOVER_ERROR/row-id-mark CorruptLogError
    The domain {domain} does not hold {mark}: {configuration!r:.80}.
DELTA_STATE_RECOVER_ERROR/range-commit CorruptLogError
    A commit of the range is gone, and with it the information whether rows kept their ids.
    Next: Read the changes from a later version on.
DELTA_STATE_RECOVER_ERROR/feed-commit CorruptLogError
    A listed commit is gone, because the log was cleaned up, or the table was replaced, at the same time.
    Next: Read the change data feed from a later version on.
DELTA_STATE_RECOVER_ERROR/cdc-size CorruptLogError
    The `cdc` action of version {version} for {file} lacks the file's size, without which none of its rows would be read.
    Next: Begin the change feed at a later version.
DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA CorruptLogError
    {num_files} removed files of the change feed are logged without their size and partition values, and the log no longer holds the
    actions that added them: {files}.
    Next: Begin the change feed at a later version.
DELTA_MISSING_CHANGE_DATA TimeTravelError
    The change data of the range [{start}, {end}] cannot be read: change data was not recorded for version [{version}].
    Next: Give a range in which delta.enableChangeDataFeed is true throughout, as the history shows; to record changes from now on,
    set it to true.
DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE UnsupportedFeatureError
    Retrieving the table's changes between version {start} and {end} failed because of an incompatible schema change: the schema to
    read is that of version {read_version}, {schema}, and version {version} has another one.
    Next: Read the changes from version {start} to {before}, and from {version} to {end}, one after the other.
DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA UnsupportedFeatureError
    Retrieving the table's changes between version {start} and {end} failed because of an incompatible data schema: the schema to
    read is that of version {read_version}, {schema}, and version {version} has another one.
    Next: Set spark.databricks.delta.changeDataFeed.defaultSchemaModeForColumnMappingTable to endVersion, or begin at a later
    version.
DELTA_INVALID_CDC_RANGE InvalidOptionError
    The change feed's range from start {start} to end {end} was invalid: the end cannot be before the start.
    Next: Give an end that is not before the start.
DELTA_CDC_START_VERSION_AFTER_LATEST VersionNotFoundError
    The start version {version} of the change feed exceeds the latest table version {latest}.
    Next: Start at a version up to {latest}, or set spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled to true to get
    no rows.
DELTA_MULTIPLE_CDC_BOUNDARY InvalidOptionError
    Multiple {side} arguments were provided for the change feed.
    Next: Give one of {side}Timestamp and {side}Version.
DELTA_NO_START_FOR_CDC_READ InvalidOptionError
    No startingVersion or startingTimestamp was provided for the change feed.
    Next: Give one of them.
DELTA_TXN_LOG_FAILED_INTEGRITY ChecksumMismatchError
    The checksum of the version disagrees with its log: {differences}.
    Next: Check the log for lost or edited files; if it is sound, delete the checksum file.
DELTA_DELETION_VECTOR_FILE_NOT_FOUND DeletionVectorError
    The deletion vector file cannot be read: {reason}.
    Next: Restore the file, or restore the table to a version that does not need it.
DELTA_ILLEGAL_OPTION/files-column InvalidOptionError
    Files have no column {column!r}.
    Next: Choose from {columns}.
DELTA_ILLEGAL_OPTION/filter InvalidOptionError
    {problem}.
    Next: Pass [(column, operator, value), ...] for AND, or a list of such lists for OR.
DELTA_ILLEGAL_OPTION/literal InvalidOptionError
    {shown} is not a value of type {type}.
    Next: Give a value of the column's type.
DELTA_SCHEMA_NOT_SET/partition-type InvalidSchemaError
    A column of type {type} cannot be a partition column.
DELTA_UNSUPPORTED_DATA_TYPES/arrow UnsupportedFeatureError
    The column {column!r} has the type {type}, which bayou does not read without Spark.
    Next: Leave the column out of `columns`, or read the table with Spark.
filter-not-exact UnsupportedFeatureError
    The filter uses a comparison that bayou cannot decide without Spark, such as one of strings with a collation.
    Next: Leave the condition out of `where`, or read the table with Spark.
file-column-type SchemaMismatchError
    A file of the table does not have the table's types: {reason}.
    Next: Read the table with Spark, and find out which program wrote the file.
DELTA_ILLEGAL_OPTION/rows-column InvalidOptionError
    Column {column!r} does not exist; the columns are: {columns}.
    Next: Name top-level columns of the table.
DELTA_ILLEGAL_OPTION/rows-column-twice InvalidOptionError
    Column {column!r} is named twice.
    Next: Name each column once.
FAILED_READ_FILE/rows UnreadableDataFileError
    The rows of a file of the table cannot be read: {reason}.
dataset-not-exact UnsupportedFeatureError
    A dataset of PyArrow would not read the table's rows exactly, because {why}.
    Next: Use to_arrow, or to_batches for a stream of batches.
rows-package-missing MissingPackageError
    {method} needs {name}, which is not installed.
    Next: Run pip install 'bayou[{package}]'.
"""
