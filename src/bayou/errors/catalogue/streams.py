# SPDX-License-Identifier: Apache-2.0
"""The errors of streams that read or write a table."""

from __future__ import annotations

from typing import Final

STREAMS: Final = """
DELTA_INVALID_SOURCE_OFFSET_FORMAT StreamingSourceError
    The stored source offset format is invalid: {offset!r:.300}.
    Next: Restore the query's checkpoint from a backup, or start the query from scratch with a new one.
DELTA_INVALID_SOURCE_OFFSET_FORMAT/order StreamingSourceError
    The query has read the first snapshot {order} so far, and would go on {new_order}, so that rows would be lost, and others come
    twice.
    Next: Run the query under bayou past the first snapshot, with the same withEventTimeOrder and the same withWatermark.
DELTA_INVALID_SOURCE_OFFSET_FORMAT/order-of-offsets StreamingSourceError
    Found invalid offsets: {problem}; previous: {previous}, current: {current}.
    Next: Restore the query's checkpoint; spark.databricks.delta.streaming.offsetValidation.enabled=false switches the check off,
    and rows may be repeated.
DELTA_INVALID_SOURCE_OFFSET_FORMAT/of-classic StreamingSourceError
    The checkpoint {checkpoint} belongs to a query of a classic session, whose offsets are those of Delta Lake; a query on Spark
    Connect has the offsets of Spark's file source, so neither can go on with the other's checkpoint.
    Next: Continue the query on a classic session, or start it here with a new checkpoint and startingVersion.
DELTA_INVALID_SOURCE_OFFSET_FORMAT/of-connect StreamingSourceError
    The checkpoint has the offset {offset} of a query on Spark Connect, where the offsets are those of Spark's file source, so
    neither kind of session can go on with the other's checkpoint.
    Next: Continue the query on Spark Connect, or start it here with a new checkpoint and startingVersion.
DELTA_INVALID_SOURCE_OFFSET_FORMAT/of-another StreamingSourceError
    In the checkpoint {checkpoint}, the source at position {position} is not one that bayou started for a Delta table on Spark
    Connect.
    Next: Start the query with the sources that it had, in the same order, or with a new checkpoint.
DELTA_INVALID_SOURCE_OFFSET_FORMAT/no-batch StreamingSourceError
    The checkpoint {checkpoint} has planned batch {number} of the source, and the entry of this batch is missing, so it is unknown
    how far the query has read.
    Next: Restore the query's checkpoint from a backup, or start the query from scratch with a new one.
DELTA_INVALID_SOURCE_OFFSET_FORMAT/end StreamingSourceError
    No batch can end at {offset}.
DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION StreamingSourceError
    Unsupported format. Expected version should be smaller than or equal to {expected} but was {found}. Please upgrade to newer
    version of Delta.
    Next: Run the query with the program that ran it last.
DELTA_INVALID_SOURCE_VERSION StreamingSourceError
    The sourceVersion({found}) is invalid in the offset {offset!r:.200}.
    Next: Restore the query's checkpoint from a backup, or start the query from scratch with a new one.
DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE StreamingSourceError
    The streaming query was reading from an unexpected Delta table (id = '{new_id}'): it used to read from another one (id =
    '{old_id}') according to its checkpoint, so that the code names another table, or the table was deleted and re-created.
    Next: Name the former table, or delete the query's checkpoint to restart from scratch.
DELTA_SOURCE_TABLE_IGNORE_CHANGES StreamingSourceError
    Detected a data update (for example {example}) in the source table at version {version}. This is currently not supported:
    {commit}; it removes files (for example {file}) and adds {num_added}.
    Next: Set the option 'skipChangeCommits' to 'true' to leave out such commits, with the rows that they add or change; or
    'ignoreChanges' to 'true' to read all rows of the files that they add, so that unchanged rows come again; or read the changes
    themselves with 'readChangeFeed' and a fresh checkpoint directory, if the table records them.
DELTA_SOURCE_IGNORE_DELETE StreamingSourceError
    Detected deleted data (for example {file}) from streaming source at version {version}. This is currently not supported:
    {commit}.
    Next: Set the option 'ignoreDeletes' to 'true' to skip commits that only remove files, whose rows stay where the stream has
    written them.
DELTA_OPERATION_NOT_ALLOWED/connect-stream UnsupportedFeatureError
    {what} is not possible on a Spark Connect session.
    Next: Run the stream on a classic session.
batch-function SessionError
    A function of foreachBatch failed, and before that bayou could not be enabled in the Python of the Spark Connect server, where
    the function runs: {reason}
    Next: If the function uses Delta tables, remove the reason; the Python of the server needs the libraries of bayou[connect].
stream-of-view UnsupportedFeatureError
    A query starts from a plan that the Spark Connect server keeps, such as a temporary view, and that reads a Delta table as a
    stream, but such a plan cannot follow the table.
    Next: Start the query from the DataFrame of readStream, without a view.
stream-folder-not-shared SessionError
    A stream from a Delta table passes the lists of its files to the Spark Connect server through a folder, and this process and the
    server share none: tried were {setting}, the folder of the table, and the query's checkpoint.
    Next: Set {setting} to a folder that both reach, whose path has none of the characters {{}}[]*?.
stream-batch-lost StreamingSourceError
    The query has planned batch {batch} and not completed it, and the list of its files belongs into the folder {folder}, which this
    process and the Spark Connect server do not share any more.
    Next: Let both reach this folder again, for example with the former value of {setting}, and start the query again.
stream-starts-elsewhere StreamingSourceError
    Another client starts the query of the checkpoint {checkpoint} at this time, and only one run of a query may read the table.
    Next: Wait until the other client has started it, and start it here only if its run here should replace that one.
stream-list-gone StreamingSourceError
    Another program deleted or changed the list of files of batch {batch} in {folder} while the query ran, so rows of this batch may
    be missing in the query's result.
    Next: Set {setting} to a folder that no other program changes, and start the query from scratch with a new checkpoint.
stream-vectors-too-large UnsupportedFeatureError
    The deletion vectors of {num_files:,} files take {size:,} bytes in a batch, but on Spark Connect the limit is {most:,}.
    Next: Set maxFilesPerTrigger to fewer files and use a trigger that runs until it is stopped, or remove the deleted rows from the
    files with REORG TABLE ... APPLY (PURGE).
stream-vectors-new SchemaChangedError
    Deletion vectors were enabled on the table while the stream ran, and its plan does not leave out deleted rows.
    Next: Start the query again with the same checkpoint.
DELTA_MISSING_FILES_UNEXPECTED_VERSION VersionNotFoundError
    Delta stream cannot resume from version {version}: the transaction log starts at {earliest}, so that the commits in between are
    gone, by a cleanup of the log.
    Next: Restart the stream with a new checkpoint location, and raise delta.logRetentionDuration; with the option failOnDataLoss
    set to "false" it goes on without the rows of these commits.
DELTA_STREAMING_TRAILING_COMMIT_MISSING StreamingSourceError
    Delta stream detected commits up to version {last}, but files after version {version} are missing from the transaction log.
    Next: Restore the missing files of the log, or restart the stream with a new checkpoint location.
DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE VersionNotFoundError
    The stream is in the middle of version {version}, and the log that led to it is gone: if nobody deleted it, the query is lagging
    behind.
    Next: Delete the query's checkpoint to restart from scratch, and raise delta.logRetentionDuration.
DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE/schema VersionNotFoundError
    The log no longer has the commit of version {version}, whose change of the schema the stream should follow.
    Next: Start the query with a new checkpoint, and raise delta.logRetentionDuration.
DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT VersionNotFoundError
    The schema of version {version}, which the stream begins with, cannot be found, because the log that led to it is gone, and with
    column mapping columns may have been renamed or dropped since.
    Next: Choose a different start version;
    spark.databricks.delta.streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled=true reads on, at the risk of wrong
    columns.
DELTA_SCHEMA_CHANGED_WITH_VERSION SchemaChangedError
    Detected schema change in version {version}: {commit}; the stream's schema is {schema}, and that version's is {new_schema}.
    Next: Start the query from scratch using a new checkpoint directory, because rows of both schemas cannot be read as one stream.
DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS SchemaChangedError
    Detected schema change in version {version}: {commit}; the stream's schema is {schema}, and that version's is {new_schema}.
    Next: Start the query from scratch using a new checkpoint directory, because rows of both schemas cannot be read as one stream,
    and change startingVersion or startingTimestamp to start from a version newer than {version}.
DELTA_SCHEMA_CHANGED_WITH_VERSION/type SchemaChangedError
    Detected schema change in version {version} that no stream can follow: a column's type differs, and is not a wider one; the
    stream's schema is {schema}, and that version's is {new_schema}.
    Next: Start the query from scratch using a new checkpoint directory.
DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE SchemaChangedError
    Streaming read is not supported on tables with read-incompatible schema changes (e.g. rename or drop or datatype changes):
    {commit}; the stream's schema is {schema}, and the incompatible one is {new_schema}.
    Next: Start the query from scratch using a new checkpoint directory;
    spark.databricks.delta.streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled=true skips the check, and the values
    of renamed and dropped columns may be lost.
DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG SchemaChangedError
    Streaming read is not supported on tables with read-incompatible schema changes (e.g. rename or drop or datatype changes):
    {commit}; the stream's schema is {schema}, and the incompatible one is {new_schema}.
    Next: Provide a 'schemaTrackingLocation' under the checkpoint location to follow such changes, or start the query from scratch
    using a new checkpoint directory;
    spark.databricks.delta.streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled=true skips the check, and the values
    of renamed and dropped columns may be lost.
DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION SchemaChangedError
    We've detected one or more non-additive schema change(s) ({operation}) between Delta version {previous} and {version} in the
    Delta streaming source: {columns}.
    Next: See whether the table that the stream writes has to change in the same way first; then give the reader the option
    {this_version} to allow this change, or {always} to allow all, or set {setting}.
DELTA_STREAMING_METADATA_EVOLUTION SchemaChangedError
    The schema, table configuration or protocol of your Delta table has changed during streaming. The schema or metadata tracking
    log has been updated. Updated schema: {schema}. Updated table configurations: {configuration}. Updated table protocol:
    {protocol}.
    Next: Please restart the stream to continue processing using the updated metadata.
DELTA_STREAMING_SCHEMA_LOG_INIT_FAILED_INCOMPATIBLE_METADATA StreamingSourceError
    We could not initialize the Delta streaming source schema log because we detected an incompatible schema or protocol change
    while serving a streaming batch from table version {first} to {version}.
    Next: Start the query from scratch with a new checkpoint directory.
DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID StreamingSourceError
    Detected incompatible Delta table id when trying to read Delta stream: the persisted table id is {persisted_id}, and the table
    id is {table_id}, so that the schema log at '{location}' might have been reused.
    Next: Pick a new schema location.
DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT InvalidOptionError
    Schema location '{location}' must be placed under checkpoint location '{checkpoint}'.
    Next: Give a folder in the checkpoint; spark.databricks.delta.streaming.allowSchemaLocationOutsideCheckpointLocation=true allows
    any.
DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT InvalidOptionError
    Detected conflicting schema location '{location}' while streaming from table or table located at '{reader}': another stream may
    be reusing the same schema location, which is not allowed.
    Next: Give one of the streams another schemaTrackingLocation, or a streamingSourceTrackingId.
DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED StreamingSourceError
    Incomplete log file in the schema log at '{location}': it may have been corrupted.
    Next: Pick a new schemaTrackingLocation, and start the query with a new checkpoint.
DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED StreamingSourceError
    Failed to parse the schema from the schema log at '{location}': it may have been corrupted.
    Next: Pick a new schemaTrackingLocation, and start the query with a new checkpoint.
DELTA_UNSUPPORTED_FEATURES_FOR_READ/schema-tracking UnsupportedFeatureError
    Schema tracking location is not supported for Delta streaming source, because the session has it switched off.
    Next: Set spark.databricks.delta.streaming.schemaTracking.enabled to true, or leave out schemaTrackingLocation.
DELTA_ILLEGAL_OPTION/event-time InvalidOptionError
    The event time is {column!r}, and the table has no such column.
    Next: Name a column of the table in withWatermark.
DELTA_ILLEGAL_OPTION/value InvalidOptionError
    Invalid value '{value}' for option '{option}', {needs}.
    Next: Give such a value, or leave the option out.
DELTA_ILLEGAL_OPTION/schema-log-data-loss InvalidOptionError
    Using schema from schema tracking log cannot tolerate missing commit files: a missing one may have changed the schema.
    Next: Leave out failOnDataLoss=false, or schemaTrackingLocation.
DELTA_REGEX_OPT_SYNTAX_ERROR InvalidOptionError
    Please recheck your syntax for '{option}': {value!r} is not a regular expression.
    Next: Give a regular expression that finds a part of the paths to leave out.
DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS/stream TimeTravelError
    Cannot time travel views, subqueries, streams or change data feed queries.
    Next: Leave out {option}; startingVersion or startingTimestamp set where a stream begins.
DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS/stream-path TimeTravelError
    Cannot time travel streams, and the path names a version of the table.
    Next: Use the option startingVersion or startingTimestamp.
DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET InvalidOptionError
    Please either provide 'startingVersion' or 'startingTimestamp'.
    Next: Leave out one of them.
DELTA_UNSUPPORTED_OUTPUT_MODE UnsupportedFeatureError
    Data source delta does not support {output_mode} output mode.
    Next: Use append or complete; to change rows, use foreachBatch with DeltaTable.merge.
DELTA_ILLEGAL_OPTION/checkpoint InvalidOptionError
    A stream into a Delta table needs a checkpoint, and neither {option!r} nor the setting {setting} names one.
    Next: Name a folder that the server can write: .option({option!r}, ...).
DELTA_ILLEGAL_USAGE/append InvalidOptionError
    'overwriteSchema' needs the output mode complete, because an append keeps the rows that are there.
    Next: Use mergeSchema to add columns, or the output mode complete.
DELTA_NULL_SCHEMA_IN_STREAMING_WRITE InvalidSchemaError
    Columns of the stream contain the type void, which has only NULL: {columns}.
    Next: Cast them to another type.
"""
