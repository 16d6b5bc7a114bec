# SPDX-License-Identifier: Apache-2.0
"""What bayou reads in Java's descriptions of methods and constructors decides how it calls them."""

from __future__ import annotations

import pytest

from bayou.errors import SessionError
from bayou.spark.jvm.core.signatures import by_name, fitting, missing_call, parse_members, unknown_signature

METHODS = (
    "Array(public scala.collection.Seq a.b.Resolver$.resolve(java.lang.String,boolean,scala.Enumeration$Value), "
    "public static int a.b.Resolver$.resolve(java.lang.String) throws java.io.IOException,a.b.Other, "
    "public final native void java.lang.Object.wait() throws java.lang.InterruptedException)"
)


def test_methods_are_found_with_their_parameters():
    found = by_name(parse_members(METHODS))
    assert found == {
        "resolve": [("java.lang.String", "boolean", "scala.Enumeration$Value"), ("java.lang.String",)],
        "wait": [()],
    }


def test_constructors_are_found_in_order():
    text = "Array(public a.b.Name(java.lang.String,java.lang.String), protected a.b.Name(byte[]))"
    assert parse_members(text) == [("Name", ("java.lang.String", "java.lang.String")), ("Name", ("byte[]",))]


def test_a_class_without_members_has_none():
    assert parse_members("Array()") == []


@pytest.mark.parametrize(
    ("count", "expected"), [(0, ("int",)), (1, ("int",)), (2, ("int", "int", "long")), (3, ("int", "int", "long")), (4, None)]
)
def test_the_overload_with_the_fewest_parameters_that_suffice_is_chosen(count, expected):
    assert fitting([("int", "int", "long"), ("int",)], count) == expected


def test_an_unknown_signature_names_the_version_the_method_and_its_parameters():
    error = unknown_signature("9.9.9", "a.Writer", "write", [("int", "long")], "3 arguments")
    assert isinstance(error, SessionError)
    for part in ("9.9.9", "a.Writer.write", "(int, long)", "3 arguments", "README"):
        assert part in str(error)
    assert "a.Writer.write" in str(unknown_signature("9.9.9", "a.Writer", "write", [], "3 arguments"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "An error occurred.\npy4j.Py4JException: Method f([class java.lang.String]) does not exist\n\tat x",
            "f([class java.lang.String])",
        ),
        ("py4j.Py4JException: Constructor a.B([int, class C]) does not exist", "a.B([int, class C])"),
        ("org.apache.spark.sql.Gone does not exist in the JVM", "org.apache.spark.sql.Gone"),
    ],
)
def test_a_call_that_this_spark_lacks_is_named_with_the_version(text, part):
    error = missing_call("9.9.9", RuntimeError(text))
    assert isinstance(error, SessionError)
    assert "9.9.9" in str(error)
    assert part in str(error)
    assert "README" in error.next_step


def test_another_error_of_py4j_is_not_a_missing_call():
    assert missing_call("9.9.9", RuntimeError("Error while sending or receiving: Answer from Java side is empty")) is None
