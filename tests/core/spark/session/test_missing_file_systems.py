# SPDX-License-Identifier: Apache-2.0
"""The error for an object store that Spark cannot read names the package that helps, in the version of the session's Hadoop."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bayou.errors import StorageError
from bayou.spark.native.session.object_stores import check_file_system

GOOGLES = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
HADOOPS = "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem"


def jvm(version, **configured):
    """A session without packages: its Hadoop, and the file systems that the settings name."""
    settings = SimpleNamespace(get=lambda name: configured.get(name.split(".")[1]))
    return SimpleNamespace(
        context=SimpleNamespace(hadoopConfiguration=lambda: settings),
        has_class=lambda _: False,
        static=lambda _: SimpleNamespace(getVersion=lambda: version),
    )


@pytest.mark.parametrize(
    ("session", "uri", "package"),
    [
        (jvm("3.3.4"), "s3a://bucket/t", "org.apache.hadoop:hadoop-aws:3.3.4"),
        (jvm("3.5.0", gs=HADOOPS), "gs://bucket/t", "org.apache.hadoop:hadoop-gcp:3.5.0"),
        (
            jvm("3.4.1", gs=GOOGLES),
            "gs://bucket/t",
            "com.google.cloud.bigdataoss:gcs-connector:VERSION (a version for Hadoop 3.4.1)",
        ),
        (jvm("3.4.1"), "gs://bucket/t", "com.google.cloud.bigdataoss:gcs-connector:VERSION (a version for Hadoop 3.4.1)"),
        (jvm("3.4.1"), "abfss://c@account.dfs.core.windows.net/t", "org.apache.hadoop:hadoop-azure:3.4.1"),
    ],
)
def test_the_error_names_the_package_and_the_table(session, uri, package):
    with pytest.raises(StorageError) as caught:
        check_file_system(session, uri)
    assert caught.value.package == package
    assert f"spark.jars.packages={package}" in caught.value.next_step
    assert caught.value.table == uri


def test_a_table_of_another_kind_of_store_is_not_looked_at():
    check_file_system(SimpleNamespace(), "file:///t")
