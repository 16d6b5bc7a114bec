# SPDX-License-Identifier: Apache-2.0
"""The errors of commits: their checks, their checkpoints and checksums, and commits without a known outcome."""

from __future__ import annotations

from typing import Final

COMMITS: Final = """
DELTA_METADATA_ABSENT InvalidCommitError
    The first commit of a table must set its protocol and its metadata.
    Next: Add both actions to the commit.
DELTA_METADATA_ABSENT/staged InvalidCommitError
    The table does not exist, and the transaction has not staged its metadata.
    Next: Create the table first (DeltaLog.create), or stage its protocol and metadata.
NUMERIC_VALUE_OUT_OF_RANGE InvalidCommitError
    The {name} of {of!r} is {value!r:.60}, and should be a whole number from {lowest} to {greatest}.
    Next: Give such a number, because the log's readers and checkpoints hold no other.
DELTA_INVALID_PATH InvalidCommitError
    {file!r} {problem}.
    Next: Write the files into the table's folder first, and give their paths relative to it.
DELTA_INVALID_PATH/data-file InvalidCommitError
    {file!r} is not the path of a data file, because it is not under the table, or is in its log.
    Next: Give a path under the table's folder, or an absolute one.
DELTA_INVALID_PATH/change-file InvalidCommitError
    {file!r} is not the path of a change data file, because it is not in the table's folder _change_data.
    Next: Write the file into _change_data.
DELTA_DUPLICATE_ACTIONS_FOUND InvalidCommitError
    The commit has the action {action} more than once for {of}.
    Next: Commit each file, application and domain once.
DELTA_DUPLICATE_ACTIONS_FOUND/header InvalidCommitError
    The commit sets {action} {count} times.
DELTA_DUPLICATE_ACTIONS_FOUND/called-twice InvalidCommitError
    {method} was called twice.
    Next: Give all files at once.
DELTA_DUPLICATE_ACTIONS_FOUND/rows InvalidCommitError
    The rows cannot be deleted: {reason}.
    Next: Delete all rows at once, those of the transaction's own snapshot.
DELTA_DUPLICATE_ACTIONS_FOUND/live-file InvalidCommitError
    The commit adds {file} {given}, and the table has it already {known}.
    Next: Leave the file out, because its rows are in the table; to bring deleted ones back, remove the file in the same commit.
DELTA_DUPLICATE_ACTIONS_FOUND/row-id-mark InvalidCommitError
    The commit itself sets the domain {domain}, so that its highest row id cannot be staged.
DELTA_DUPLICATE_ACTIONS_FOUND/row-ids InvalidCommitError
    The file {file} has the row ids from {first} on, and the highest one that the table assigned is {highest}.
    Next: Stage the file without baseRowId, so that the commit gives its rows new ids.
DELTA_DUPLICATE_ACTIONS_FOUND/no-json InvalidCommitError
    The action {action} holds a value that JSON cannot represent: {reason}.
    Next: Give strings, numbers, booleans, None, and lists and dictionaries of these.
DELTA_DUPLICATE_ACTIONS_FOUND/unicode InvalidCommitError
    The action {action} holds a string that is not Unicode: {part!r}.
    Next: Leave out the character, which is half of a surrogate pair, or a byte of a name that is not UTF-8.
DELTA_INVALID_PARTITIONING_SCHEMA InvalidCommitError
    {files} partition values for {names}, and the table is partitioned by {columns}.
    Next: Give each file a value, which may be null, for each partition column.
DELTA_INVALID_PARTITIONING_SCHEMA/file InvalidCommitError
    The file's partition values are for {names}, and the table is partitioned by {columns}.
    Next: Give a value, which may be None, for each partition column.
DELTA_INVALID_PARTITIONING_SCHEMA/rows InvalidCommitError
    The file's rows have values from {least} to {greatest} in the partition column {column!r}, and its partition value is {value!r}.
    Next: Write one file for each partition value, and give that value.
DELTA_PARTITION_COLUMN_CAST_FAILED InvalidCommitError
    The partition column {column!r} has the type {type}, and {value} is not a value of it.
    Next: Give a value of the column's type, or a string that the log would hold for it.
DELTA_FILE_NOT_FOUND_DETAILED/added DataFileNotFoundError
    A file to add does not exist.
DELTA_FAILED_READ_FILE_FOOTER/added InvalidCommitError
    A file to add is not a Parquet file: {reason}.
DELTA_METADATA_MISMATCH/file-columns SchemaMismatchError
    The file does not have the table's columns: {problems}.
    Next: Write the file with the table's columns and types.
DELTA_METADATA_MISMATCH/table-id InvalidCommitError
    A commit cannot change the table's id, from {old} to {new}.
DELTA_COLUMN_NOT_FOUND_IN_SCHEMA/partition InvalidCommitError
    The partition column {column!r} is not among the columns {columns!r}.
DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED/row-ids InvalidSchemaError
    A column cannot be called {columns!r}, because the table's files hold row ids under that name.
    Next: Choose another name.
DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/catalog InvalidCommitError
    The property {key} puts the table's commits under a catalog, which bayou does not support.
DELTA_INVALID_PROTOCOL_VERSION/commit InvalidCommitError
    No table can have the protocol {protocol}: {problems}.
    Next: Make protocols with bayou.protocol.features.protocol_rules.
DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH/commit InvalidCommitError
    {reason}.
    Next: Commit a protocol with these features, too, which protocol_rules.upgraded makes.
feature-not-in-protocol InvalidCommitError
    The commit needs the table feature {feature} for {action}, and the table's protocol does not have it.
    Next: Add it with ALTER TABLE ... SET TBLPROPERTIES ('delta.feature.{feature}' = 'supported').
DELTA_FILE_TO_OVERWRITE_NOT_FOUND InvalidCommitError
    The commit removes {file} {given}, and the table has it {known}.
    Next: Remove files with Transaction.remove_files(files), or copy each file's deletion vector.
DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS InvalidCommitError
    The file {file} has a deletion vector, and its statistics do not say how many rows it has.
DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS/delete InvalidCommitError
    The file {file} cannot have a deletion vector, because its statistics do not say how many rows it has.
    Next: Read the number of rows from the file's footer.
DELTA_ADDING_DELETION_VECTORS_WITH_TIGHT_BOUNDS_DISALLOWED InvalidCommitError
    The file {file} has a deletion vector, and its statistics claim to be tight.
DELTA_DELETION_VECTOR_INVALID_ROW_INDEX InvalidCommitError
    Row {row} of the file {file} cannot be deleted, because the file has {num_rows} rows.
    Next: Compare the file's statistics (numRecords) with its footer.
DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS InvalidCommitError
    The rows of {file} cannot get ids, because its statistics do not say how many there are.
    Next: Add the file with statistics (numRecords).
vector-file-exists StorageError
    A deletion vector file of a new name exists already.
DELTA_ILLEGAL_OPTION/txn InvalidOptionError
    The argument txn is {given}, and should be an application's id and a number from 0 to {greatest}.
    Next: Give for example txn=('nightly-load', 17), and a higher number for each run.
transaction-over TransactionStateError
    The transaction is over: it was {state}.
    Next: Begin another one, which reads the latest version.
commits-cleaned-up StorageError
    The commits from there to {latest} were cleaned up before they could be read.
commits-unreadable StorageError
    The commits from version {first} on cannot be read: {reason}.
commit-not-listed StorageError
    The store says that version {version} exists, and does not list it.
commit-after-cleanup StorageError
    The log begins after it, and an earlier attempt at it had no answer.
commit-gone StorageError
    The log begins after version {version}, and no longer holds the commit.
outcome-unknown StorageError
    The store failed while writing version {version}, and whether it was written is not known: {reason}.
    Next: Look for txnId {txn_id} in the history; if it is there, the commit succeeded.
DELTA_INVALID_COMMITTED_VERSION StorageError
    Version {version} was committed and its rows are in the table, but the listing of the log {listing}.
    Next: Do not write the rows again, because the commit is final; find out first why the store lists old contents.
DELTA_CONCURRENT_WRITE/commits-gone ConcurrentWriteException
    {operation} was not committed, because another commit made version {taken}, which the log no longer holds, so that conflicts up
    to version {version} cannot be checked.
    Next: Run the operation again; commit sooner after reading, or raise delta.logRetentionDuration.
DELTA_MAX_COMMIT_RETRIES_EXCEEDED ConcurrentWriteException
    {operation} was not committed, because other writers committed first in each of {attempts} attempts.
    Next: Run it again when fewer writers are at work, or allow more attempts (max_attempts).
DELTA_POST_COMMIT_HOOK_FAILED StorageError
    Version {version} was committed and its rows are in the table, but the manifests could not be written: {reason}.
    Next: Do not write the rows again, because the commit is final; remove the cause, and write the manifests with `bayou manifest
    TABLE`.
manifests-not-deleted StorageError
    {num_files} manifests of partitions that are gone could not be deleted: {reason}.
    Next: Delete the files, or run GENERATE again, because engines that read manifests still see these partitions.
DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING/files UnsupportedFeatureError
    A table with column mapping has no manifests, because their readers do not know which column is which.
DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS UnsupportedFeatureError
    A table with deletion vectors has no manifests, because their readers would see deleted rows.
    Next: Set delta.enableDeletionVectors to false, and rewrite the files with deleted rows (REORG).
DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.EXISTING_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION UnsupportedFeatureError
    The property delta.compatibility.symlinkFormatManifest.enabled cannot be enabled while the table has deletion vectors, because
    readers of manifests would see deleted rows.
    Next: Rewrite the files with deleted rows (REORG) first.
checksum-not-written StorageError
    The checksum of the version could not be written, though its commit is in the log: {reason}.
    Next: Nothing is lost; versions have checksums again from the next checkpoint on.
DELTA_CHECKPOINT_SNAPSHOT_MISMATCH CorruptLogError
    The snapshot has {expected} files, and {found} were found for its checkpoint.
    Next: Open the table again; its base checkpoint may have been replaced.
DELTA_INVALID_PROTOCOL_VERSION/checkpoint UnsupportedProtocolError
    The table needs writer version {required}, and bayou supports versions up to {supported}.
    Next: Write the checkpoint with the engine that created the table.
DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/checkpoint UnsupportedFeatureError
    A checkpoint could lose what these features put into the log: {features}.
    Next: Write the checkpoint with an engine that supports all of these.
DELTA_ILLEGAL_OPTION/checkpoint-size InvalidOptionError
    The argument {option} is {size}.
    Next: Give a positive number.
DELTA_ILLEGAL_OPTION/multi-part InvalidOptionError
    A table with the feature v2Checkpoint must not have multi-part checkpoints.
    Next: Leave part_size out, or set delta.checkpointPolicy to v2 for a checkpoint with sidecars.
DELTA_ILLEGAL_OPTION/compaction-range InvalidOptionError
    A log compaction cannot go from version {start} to version {end}.
    Next: Give two versions, the second one after the first.
DELTA_ILLEGAL_OPTION/nothing-to-compact InvalidOptionError
    The commits of versions {start} to {end} hold no action that a compacted file could keep.
    Next: Choose another range, or leave these commits as they are.
DELTA_UNSUPPORTED_FEATURES_FOR_WRITE/action UnsupportedFeatureError
    A commit holds an action of the kind {kind!r}, which bayou does not know and would lose.
    Next: Compact the log with the engine that wrote the commit, or choose another range.
"""  # noqa: E501  (the name of an error class)
