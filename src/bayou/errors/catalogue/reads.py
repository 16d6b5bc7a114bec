# SPDX-License-Identifier: Apache-2.0
"""The errors of Spark sessions, and of reading a table with Spark."""

from __future__ import annotations

from typing import Final

READS: Final = """
spark-session ArgumentTypeError
    bayou needs a SparkSession here, but got {given}.
spark-frame ArgumentTypeError
    bayou needs a Spark DataFrame here, but got {given}.
connect-session SessionError
    This is a Spark Connect session, which has no JVM in this process, and bayou needs one.
    Next: Use a classic session; bayou's log functions (bayou.open, the CLI) need none.
connect-client SessionError
    The Spark Connect client of PySpark {client} is too old for bayou: it has no {missing}.
    Next: Install a client of PySpark 4.0 or later (pip install 'bayou[connect]') for a server of Spark 4.0 or later, or use a
    classic session, which works from PySpark 3.5 on.
connect-server SessionError
    The Spark Connect server of Spark {server} is too old for bayou: it does not know SQL with relations in it.
    Next: Use a server of Spark 4.0 or later, or a classic session, which works from PySpark 3.5 on.
connect-server-scan SessionError
    The Spark Connect server has a data source delta of its own, and does not read Parquet files as Spark does: {reason}
    Next: Read and change the table with the server's own statements. bayou.open(path) reads the log.
DELTA_OPERATION_NOT_ALLOWED/connect UnsupportedFeatureError
    {what} is not possible on a Spark Connect session, and nothing was changed.
    Next: Run it on a classic session.
DELTA_OPERATION_NOT_ALLOWED/documented UnsupportedFeatureError
    {what} is not possible on this session, where bayou uses only the documented functions of PySpark, and nothing was changed.
    Next: Use {instead}.
DELTA_OPERATION_NOT_ALLOWED/documented-columns UnsupportedFeatureError
    A condition or a value uses the columns {columns} of a DataFrame, such as frame["id"], which on this session do not stand for
    the columns of the table (MISSING_ATTRIBUTES), and nothing was changed.
    Next: Name the columns in SQL or with F.col, in a MERGE with the aliases of both sides, as in F.col("t.id") == F.col("s.id").
DELTA_OPERATION_NOT_ALLOWED/documented-condition UnsupportedFeatureError
    The condition {condition} of MERGE uses only columns of the source, because a column of a DataFrame such as frame["id"] is the
    source's if the source is made of that DataFrame, and nothing was changed.
    Next: Give both sides an alias, and write the condition with it, as in "t.id = s.id".
DELTA_OPERATION_NOT_ALLOWED/connect-insert UnsupportedFeatureError
    FROM ... INSERT INTO a table by path is not possible on a Spark Connect session, and nothing was changed.
    Next: Write INSERT INTO table SELECT ... FROM ..., one statement for each table.
UNSUPPORTED_FEATURE.INSERT_PARTITION_SPEC_IF_NOT_EXISTS UnsupportedFeatureError
    INSERT INTO {table} with IF NOT EXISTS in the PARTITION spec is not supported.
    Next: Leave out IF NOT EXISTS, or look for a row of the partition first.
    Parameters: tableName={table}
DELTA_ILLEGAL_OPTION/with InvalidOptionError
    The options after WITH of {name} cannot be read.
    Next: Write WITH ('key' = 'value', ...) with each key once, where a value is a string, a number, TRUE or FALSE.
    Parameters: input={name} name={option}
DELTA_OPERATION_NOT_ALLOWED/connect-text UnsupportedFeatureError
    {statement} keeps the text of its query for the Spark Connect server, which cannot read {relation}.
    Next: Make the DataFrame of the query with spark.sql, and call its createOrReplaceTempView.
DELTA_OPERATION_NOT_ALLOWED/connect-unread UnsupportedFeatureError
    bayou cannot read this statement, so that Spark would not find the table at {path}: {reason} (at character {place}).
    Next: Write that part in another way, such as a name that is also a keyword in backticks.
DELTA_OPERATION_NOT_ALLOWED/connect-script UnsupportedFeatureError
    {statement} is run by the Spark Connect server, which cannot read or write delta.`{path}`.
    Next: Send each statement with a call of spark.sql, or run the script on a classic session.
DELTA_OPERATION_NOT_ALLOWED/connect-view UnsupportedFeatureError
    {relation} is a temporary view, and on a Spark Connect session no {operation} changes the rows of a table through a view.
    Next: Name the table in the {operation} by its path, as in delta.`/a/path`.
DELTA_ILLEGAL_OPTION/storage-level InvalidOptionError
    The storage level {given!r} of CACHE TABLE is unknown.
    Next: Use one of PySpark's, such as MEMORY_ONLY or DISK_ONLY.
    Parameters: input={given} name={option}
DELTA_ILLEGAL_OPTION/format-of-path InvalidOptionError
    The format is {given}, but {relation} names a Delta table by its path.
    Next: Leave the format out, or use df.write.format({given!r}).save(path).
DELTA_OPERATION_NOT_ALLOWED/connect-catalog UnsupportedFeatureError
    The Spark Connect server has no data source delta, and its catalog refuses entries of unknown data sources, so {relation} cannot
    become a Delta table of the catalog.
    Next: Leave the name out and use the table by its path, as in CREATE TABLE delta.`/a/path`. A temporary view of it has a name.
scratch-not-shared SessionError
    The setting {setting} names the folder {folder}, but {reason}; both need the same folder.
    Next: Set it to a folder that both reach, such as one in an object store, or unset it.
server-cannot-read SessionError
    This process reads the table, but the Spark Connect server cannot read {folder}: {reason}.
    Next: Let the server reach that folder: by the same path if it is a mount, or with the JARs of the file system and with
    credentials of its own. bayou sends it no credentials.
client-cannot-write StorageError
    The write was refused before any file was written, because this process, which commits, cannot write to the table's folder:
    {reason}.
    Next: Give this process access: options of the write such as fs.s3a.access.key, the environment, or the mount of that folder.
server-cannot-write SessionError
    The write was refused before any file was written, because the Spark Connect server, which writes the rows, does not read what
    this process writes to the table's folder: {reason}.
    Next: Let the server reach that folder: by the same path if it is a mount, or with the JARs of the file system and with
    credentials of its own. bayou sends it no credentials.
file-lists-ignored SessionError
    The setting {setting} of this session is true, so Spark would not read the list of the table's files.
    Next: Unset it with spark.conf.unset({setting!r}).
column-case-differs SessionError
    The setting {setting} of this session is true, so Spark would return NULL for the column {column} of the rows in {file}, which
    calls it {found}.
    Next: Set it to false with spark.conf.set({setting!r}, "false").
file-list-changed SessionError
    While the query ran, another program changed or deleted the list of the table's files in {folder}, so rows may be missing.
    Next: Run the query again; if it fails again, set {setting} to a folder that no other program changes.
file-not-in-list DataFileNotFoundError
    Spark read a file that is not in the list of the table's files, because the list is missing or another list replaced it.
    Next: Run the query again on a new DataFrame; if it fails again, set {setting} to a folder that no other program changes.
too-many-paths SessionError
    The scan reads {num_files:,} files, but it can read at most {most:,}, because this process and the Spark Connect server share
    no folder for the list of the files.
    Next: Set {setting} to a folder that both can reach, or read fewer files with a filter on partition columns.
request-too-large SessionError
    The scan needs a request of {size:,} bytes, but the limit is {most:,}; the request contains partition values or deletion
    vectors of {num_files:,} files.
    Next: Read fewer files at once with a filter, or set {setting} to a folder that this process and the server can reach.
stopped-session SessionError
    This Spark session was stopped.
    Next: Make a new session, enable it, and open the table on it again.
adapters-not-loaded SessionError
    The Java adapters of bayou cannot be compiled and loaded on this session: {reason}.
    Next: Use a Spark release that the README lists, and check that the driver can write to its temporary folder; bayou.open reads
    the log of a table without Spark.
adapter-not-compiled SessionError
    The adapter {adapter} does not compile on this Spark: {reason}.
    Next: Use a Spark release that the README lists, or set spark.bayou.backend to portable before bayou.enable; report this message
    to bayou.
adapter-message SessionError
    An adapter sent a message that is cut off: {given!r:.80}.
    Next: Restart the session, so that its adapters are those of the installed version of bayou.
adapter-word SessionError
    An adapter asked for {word!r}, which is unknown.
    Next: Restart the session, so that its adapters are those of the installed version of bayou.
catalog-interface SessionError
    The catalog does not implement {interface}.
catalog-not-extended SessionError
    The catalog cannot be extended: {reason}.
catalog-loaded SessionError
    The catalogs that the session has loaded cannot be listed.
unknown-signature UnknownSparkError
    Spark {spark_version} has another {member} than bayou knows: it takes {parameters}, and bayou has {wanted}.
    Next: Use a Spark release that the README lists, or set spark.bayou.backend to portable before bayou.enable; report this message
    to bayou.
unknown-class UnknownSparkError
    Spark {spark_version} has no class {names}, which bayou needs for this.
    Next: Use a Spark release that the README lists, or set spark.bayou.backend to portable before bayou.enable; report this message
    to bayou.
unknown-call UnknownSparkError
    Spark {spark_version} has no {member}, which bayou calls for this.
    Next: Use a Spark release that the README lists, or set spark.bayou.backend to portable before bayou.enable; report this message
    to bayou.
DELTA_ILLEGAL_OPTION/setting InvalidOptionError
    The session's setting {option} is {value!r}, which is not {wanted}.
    Next: Set it to one, or unset it.
DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS InvalidOptionError
    An idempotent write needs an application id and a number from 0 on, and txnAppId is {app_id!r} and txnVersion is {value!r}.
    Next: Give both, with a higher version for each run.
read-path-missing InvalidOptionError
    A Delta table is read by its path, and no path is given.
    Next: Give the path in load(path).
DELTA_ILLEGAL_OPTION/several-paths InvalidOptionError
    A Delta table is read by its path, and {num_paths} paths are given.
    Next: Read each table alone, and combine the rows with union.
DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE InvalidOptionError
    The option versionAsOf needs a number from 0 on, but got {value!r}.
    Next: Give the number of a version.
DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS/changes TimeTravelError
    Cannot time travel change data feed queries.
    Next: Name the versions only with startingVersion and endingVersion.
DELTA_VERSION_INVALID InvalidOptionError
    The provided version ({value}) of option {option!r} is not a valid version.
    Next: Give a number from 0 on.
DELTA_ILLEGAL_OPTION/changes InvalidOptionError
    The changes to read need a start and an end, but got {given}.
    Next: Give two versions or timestamps, such as changes=(3, 7); changes=(3, None) has no end.
DELTA_ILLEGAL_OPTION/changes-bound InvalidOptionError
    {given} is neither a version nor a timestamp.
    Next: Give an int, a string or a datetime.
DELTA_ILLEGAL_OPTION/net InvalidOptionError
    Net changes need a range of versions, and none is given.
    Next: Give changes=(start, end).
DELTA_OPERATION_NOT_ALLOWED/net-changes UnsupportedFeatureError
    Net changes need the ids of the table's rows, and {why}.
    Next: {instead}, or read the changes without net=True.
DELTA_READ_TABLE_WITHOUT_COLUMNS InvalidSchemaError
    You are trying to read a Delta table {table} that does not have any columns.
    Next: Add columns to it, or write rows with the option mergeSchema.
DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS SchemaChangedError
    The table's schema changed after this DataFrame was made: {differences}.
    Next: Make the DataFrame again from the table.
DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/row-ids SchemaChangedError
    The table does not track its rows any more, and this DataFrame asks for their ids.
    Next: Make the DataFrame again from the table.
DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/stream SchemaChangedError
    The table's schema changed after this streaming DataFrame was made.
    Next: Make the DataFrame again with readStream, and start the query with it.
DELTA_STATE_RECOVER_ERROR/row-id-columns CorruptLogError
    The table tracks its rows, and its properties do not name the columns of its files that hold their ids.
    Next: Set delta.enableRowTracking to false and to true again.
DELTA_OPERATION_NOT_ALLOWED/physical-name UnsupportedFeatureError
    The column {column!r} cannot be read, because it is {physical_name!r} in the files, and bayou needs that name for other values.
    Next: Drop the column, and add it again under another name, with the engine that wrote it.
DELTA_DELETION_VECTOR_INVALID_ROW_INDEX/far-row DeletionVectorError
    A deletion vector deletes row {row} of its file, the log {says}, and bayou reads vectors of files of up to {most} rows, because
    the memory that a vector needs grows with the greatest row that it deletes.
    Next: Write the file's rows again with the engine that wrote the vector, or add numRecords to the file's statistics.
DELTA_FILE_NOT_FOUND_DETAILED DataFileNotFoundError
    A data file that the table's log names does not exist.
    Next: Restore the file, which VACUUM or another program deleted, or read a version that does not need it; a shallow clone needs
    the files of its source, and this error then names the source.
FAILED_READ_FILE/data UnreadableDataFileError
    A data file of the table cannot be read: {reason}.
    Next: Restore the file from a copy, or overwrite its partition; rows that no version has elsewhere are lost.
footer-unreadable StorageError
    The footer of the file cannot be read: {reason}.
footers-unreadable StorageError
    The footers of {num_files} files cannot be read: {reason}.
DELTA_SCHEMA_NOT_SET/expression InvalidSchemaError
    The expression {expression!r} cannot be resolved: {reason}.
    Next: Use the table's columns and built-in functions.
DELTA_SCHEMA_NOT_SET/stored-expression InvalidSchemaError
    The expression {expression!r} in the table's metadata is not a SQL expression: {reason}.
    Next: Correct it with the engine that stored it.
"""
