# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import string

from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.storage import redact_uri


@in_one_test(
    ("uri", "shown"),
    [
        ("s3://key:secret@bucket/p", "s3://bucket/p"),
        ("S3A://key:secret@bucket/p", "S3A://bucket/p"),
        ("s3a://KEY:ab/cd+e/f@bucket/p", "s3a://bucket/p"),
        ("s3a://KEY:123/cd@bucket/p", "s3a://bucket/p"),
        ("s3a://KEY:ab?cd@bucket/p", "s3a://bucket/p"),
        ("s3a://KEY:ab#cd@bucket/p", "s3a://bucket/p"),
        ("s3://key:sec@ret@bucket/p", "s3://bucket/p"),
        ("s3://key:secret-with-no-bucket/p", "s3://key/p"),
        ("wasbs://c@account.blob.core.windows.net/t?sv=2024&sig=abc%2F", "wasbs://c@account.blob.core.windows.net/t"),
        ("https://host/t?sig=a:b@c", "https://host/t"),
        ("https://host?sig=a:b@c", "https://host"),
        ("https://user:word@host:8443/t?a#b", "https://host:8443/t"),
        ("gs:/odd?sig=x", "gs:/odd"),
    ],
)
def test_passwords_and_queries_are_left_out(uri, shown):
    assert redact_uri(uri) == shown


@in_one_test(
    "uri",
    [
        "abfss://container@account.dfs.core.windows.net/t",
        "s3://KEY@bucket/p",
        "s3://bucket/user@x/y:z",
        "hdfs://name:8020/user@x/t",
        "hdfs://[::1]:8020/user@x/t",
        "hdfs://name:/t",
        "hdfs:///t",
        "file:///data/a b#c?d",
        "FILE:///data/a?d",
        "/data/day=10:00/a?d",
        "relative/a?d",
        "C:/data?x",
        "",
    ],
)
def test_what_is_no_secret_stays(uri):
    assert redact_uri(uri) == uri


# A secret may hold anything but the sign that ends it, and is long enough not to be in the rest by accident.
SECRETS = st.text(string.ascii_letters + string.digits + "/+=?#:%", min_size=6, max_size=40).map(lambda text: f"x{text}zQ")
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=8)


@given(NAMES, SECRETS, NAMES, NAMES)
@example("key", "x/y:z/1zQ", "b", "p")
def test_no_secret_is_shown(user, secret, host, path):
    for uri in (f"s3a://{user}:{secret}@{host}/{path}", f"https://{host}/{path}?sig={secret}"):
        shown = redact_uri(uri)
        assert shown.endswith(f"://{host}/{path}")
        assert secret not in shown


@given(st.builds("{}://{}".format, st.sampled_from(["s3", "hdfs", "https"]), st.text("ab1:@/?#[", max_size=20)))
def test_redacting_twice_is_redacting_once(uri):
    once = redact_uri(uri)
    assert redact_uri(once) == once
