# SPDX-License-Identifier: Apache-2.0
"""The errors of log stores and of the places that tables are in."""

from __future__ import annotations

from typing import Final

STORAGE: Final = """
DELTA_INCONSISTENT_LOGSTORE_CONFS StorageError
    The settings {setting} = {value} and {other} = {other_value} contradict each other.
    Next: Set one of them, or both to the same value.
DELTA_INCORRECT_LOG_STORE_IMPLEMENTATION StorageError
    The log store {log_store} is not honored: {reason}.
    Next: Unset spark.delta.logStore.class, or write with delta-spark only.
DELTA_INCORRECT_LOG_STORE_IMPLEMENTATION/scheme StorageError
    The log store {log_store} is not honored for the scheme {scheme!r}: {reason}.
    Next: Register a compatible store, bayou.storage.register({scheme!r}, factory), or write with delta-spark only.
DELTA_INVALID_LOGSTORE_CONF StorageError
    A log store for all schemes and log stores for single schemes are both set: {settings}.
    Next: Set only one of the two kinds.
DELTA_ILLEGAL_OPTION/empty-path InvalidOptionError
    The path of a table is empty.
    Next: Give its path; '.' is the current folder.
DELTA_ILLEGAL_OPTION/impossible-path InvalidOptionError
    The path {path!r} has a character that no file name can have: a NUL, or half of a surrogate pair.
    Next: Leave that character out.
DELTA_ILLEGAL_OPTION/scheme InvalidOptionError
    {scheme!r} is not the scheme of a URI.
    Next: Give two or more letters, without a colon.
DELTA_ILLEGAL_OPTION/factory InvalidOptionError
    {factory!r} does not name a factory of log stores.
    Next: Name it as 'package.module:Name'.
DELTA_ILLEGAL_OPTION/served-scheme InvalidOptionError
    The scheme {scheme!r} is already served by {factory}.
    Next: Pass replace=True to replace that factory.
scheme-of-a-session StorageError
    The scheme {scheme!r} is served through a classic Spark session, and no session is active.
    Next: Call bayou.enable(spark) first, or open the table with bayou.read(spark, path). A Spark Connect session cannot serve it.
scheme-of-adapters StorageError
    The scheme {scheme!r} is served by the Java adapters of bayou: {reason}.
rename-not-atomic StorageError
    The scheme {scheme!r} is served by {system} here, which is not known to rename atomically without replacing a file, so that two
    writers could overwrite each other's commits.
    Next: Keep the table on HDFS or on Azure Data Lake Storage Gen2 with a hierarchical namespace, or register a store:
    bayou.storage.register({scheme!r}, factory, replace=True).
hadoop-failed StorageError
    Hadoop's file system failed: {reason}.
    Next: Check that the file system is up and the table's folder can be written to.
unknown-file-system StorageError
    Spark has no file system for {scheme}: URIs.
    Next: Write the table's path as {spelling}.
missing-file-system StorageError
    Spark cannot read the data files, because its file system for {scheme}: URIs, {file_system}, is not on the class path.
    Next: Stop the session, and start it again with the setting spark.jars.packages={package}.
credentials-unreadable StorageError
    The credentials for the table cannot be read: {reason}.
    Next: Correct hadoop.security.credential.provider.path.
unserved-scheme StorageError
    No log store serves the scheme {scheme!r}.
    Next: Use a local path or a file: URI, or register a store: bayou.storage.register({scheme!r}, factory).
unserved-object-store StorageError
    No log store serves the scheme {scheme!r} ({system}) yet.
    Next: Use a local path or a file: URI, or register a store: bayou.storage.register({scheme!r}, factory).
incomplete-log-store StorageError
    {factory} made a {made}, which is not a log store, because it lacks {missing}.
    Next: Implement every method of bayou.storage.LogStore.
log-store-not-imported StorageError
    The log store {factory} for the scheme {scheme!r} cannot be imported: {reason}.
    Next: Install the package that it is in, or register another one.
cannot-list-folders StorageError
    The store {store} cannot list the folders of a table.
    Next: Give the store a method list_folders (see bayou.storage.TreeStore).
local-file-system StorageError
    The local file system failed: {reason}.
    Next: Check the permissions and the space of that folder.
file-outside-table StorageError
    The file lies outside the table, or behind a link.
sync-outside-table StorageError
    Only files under the table can be synced.
copy-failed StorageError
    The file cannot be copied: {reason}.
copy-target-exists StorageError
    Another program created a file of this name in the target's folder at the same time.
    Next: Check whether another copy of the table is being made there, and run the operation again after it.
DELTA_ILLEGAL_OPTION/path-with-credentials InvalidOptionError
    The path {table} holds credentials, which every error and log would show.
    Next: Give them as storage options.
DELTA_ILLEGAL_OPTION/azure-url InvalidOptionError
    The path {table} is not a URL of an Azure storage account.
    Next: Give https://ACCOUNT.blob.core.windows.net/..., s3://BUCKET/PATH or gs://BUCKET/PATH.
DELTA_ILLEGAL_OPTION/azure-host InvalidOptionError
    The path {table} has the host {host!r}, which does not belong to an Azure storage account.
    Next: Give CONTAINER@ACCOUNT.dfs.core.windows.net.
DELTA_ILLEGAL_OPTION/no-bucket InvalidOptionError
    The path {table} does not name a bucket.
    Next: Give {scheme}://BUCKET/PATH.
DELTA_ILLEGAL_OPTION/bucket InvalidOptionError
    The path {table} names {bucket!r}, which is not the name of a bucket.
    Next: Give {scheme}://BUCKET/PATH.
DELTA_ILLEGAL_OPTION/express-bucket InvalidOptionError
    The path {table} is in S3 Express, which lists objects in no order, and the log needs one.
    Next: Keep the table in a general purpose bucket.
DELTA_ILLEGAL_OPTION/object-key InvalidOptionError
    The path {table} has a part that is empty, or is `.` or `..`, which an object store cannot have.
    Next: Give the path without these parts.
DELTA_ILLEGAL_OPTION/storage-option InvalidOptionError
    {option!r} is not a storage option for {store}.
    Next: Correct the name, or leave the option out; docs/object_stores.md has the names.
DELTA_ILLEGAL_OPTION/storage-option-missing InvalidOptionError
    The storage option {option} is missing.
    Next: Give it, or set it in the environment; docs/object_stores.md has the names and values.
DELTA_ILLEGAL_OPTION/storage-option-value InvalidOptionError
    The storage option {option} has a value that cannot be used: {reason}.
    Next: Correct the value; docs/object_stores.md has the values.
DELTA_ILLEGAL_OPTION/storage-options InvalidOptionError
    No client can be created with these storage options: {reason}.
    Next: Correct them; docs/object_stores.md has the names and values.
DELTA_ILLEGAL_OPTION/storage-account InvalidOptionError
    The path names the storage account {account!r}, but the storage option {option} names another one.
    Next: Leave the option out, or correct the path.
DELTA_ILLEGAL_OPTION/flag InvalidOptionError
    {option} is neither true nor false.
    Next: Give true or false.
DELTA_ILLEGAL_OPTION/duration InvalidOptionError
    {option} is not a length of time.
    Next: Give seconds, as `30s`.
DELTA_ILLEGAL_OPTION/count InvalidOptionError
    {option} is not a number.
    Next: Give a number, as `10`.
DELTA_ILLEGAL_OPTION/lock-table InvalidOptionError
    {option} asks for a lock table, which bayou does not use, because writers exclude each other by conditional requests.
    Next: Leave the option out once every writer of the table uses conditional requests, as delta-rs does by default.
DELTA_ILLEGAL_OPTION/control-character InvalidOptionError
    {option} holds a line break or another control character.
    Next: Remove it from the value.
DELTA_ILLEGAL_OPTION/word InvalidOptionError
    {option} {problem}.
    Next: Give a name, as '{example}'.
DELTA_ILLEGAL_OPTION/certificate InvalidOptionError
    {option} is not a certificate as PEM text.
    Next: Give the text of the certificate's file, not its path.
DELTA_ILLEGAL_OPTION/address InvalidOptionError
    {option} is not the address of a server.
    Next: Give a scheme, a host and a port, as 'http://localhost:9000'.
DELTA_ILLEGAL_OPTION/address-with-user InvalidOptionError
    {option} holds a user or a password.
    Next: Give credentials in their own options.
DELTA_ILLEGAL_OPTION/encryption InvalidOptionError
    {option} encrypts nothing without AWS_SERVER_SIDE_ENCRYPTION={algorithm}.
    Next: Give AWS_SERVER_SIDE_ENCRYPTION={algorithm} too, or leave {option} out.
DELTA_ILLEGAL_OPTION/credential-provider InvalidOptionError
    {option} is {provider}, and bayou cannot get credentials that way.
    Next: Give the storage option {instead}, or set another value.
DELTA_ILLEGAL_OPTION/hadoop-setting InvalidOptionError
    {option} is set, and bayou cannot {effect}.
    Next: {instead}
DELTA_ILLEGAL_OPTION/two-credentials InvalidOptionError
    The environment variable {variable} and the storage option {option} both give credentials, and only one of them can be used.
    Next: Unset {variable} in the program's environment, or leave the option out.
DELTA_ILLEGAL_OPTION/aws-role InvalidOptionError
    The role cannot be assumed: {reason}.
    Next: Give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY together, and check AWS_REGION.
DELTA_ILLEGAL_OPTION/aws-profile InvalidOptionError
    The AWS configuration has no profile {profile!r}.
    Next: Correct AWS_PROFILE, or create the profile with `aws configure --profile`.
DELTA_ILLEGAL_OPTION/aws-configuration InvalidOptionError
    The AWS configuration cannot be read: {reason}.
    Next: Correct that file, or give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
DELTA_ILLEGAL_OPTION/aws-credentials InvalidOptionError
    The AWS configuration gives no credentials for the profile {profile!r}{reason}.
    Next: Run `aws configure` or `aws sso login`, or give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
obstore-missing MissingPackageError
    Tables in {store} need the package obstore, which is not installed.
    Next: Run pip install 'bayou[{kind}]'.
botocore-missing MissingPackageError
    Profiles and roles of AWS need the package botocore, which is not installed.
    Next: Run pip install botocore, or give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
forked-process StorageError
    This process was forked from one that has used an object store, and lacks the threads that carry out requests.
    Next: Start it without a fork: multiprocessing.get_context('spawn').
no-conditional-puts StorageError
    The server ignores conditional PUTs (If-None-Match), so that two writers would overwrite each other's commits.
    Next: Update the server, or set the storage option single_writer=true if only one program ever writes the table.
request-failed StorageError
    The object store did not {request}: {reason}{tried}.
request-not-known StorageError
    A request without an answer was repeated, and it is not known whether it created the file: {reason}.
commit-too-large StorageError
    A commit of {size:,} bytes is too large for one request, and parts cannot be put without replacing a file.
    Next: Make several smaller commits.
credentials-expired StorageError
    The credentials have expired, and there are no new ones: {reason}.
"""
