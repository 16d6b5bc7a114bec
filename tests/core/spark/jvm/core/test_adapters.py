# SPDX-License-Identifier: Apache-2.0
"""An adapter that does not compile on some Spark costs what uses it, and nothing else."""

from __future__ import annotations

import pytest

from bayou.errors import SessionError
from bayou.spark.jvm.core.adapters import _LOST_WITH, Adapters, adapter_texts, unfit_sources

SOURCES = adapter_texts()


def failure(name: str) -> str:
    return f"org.codehaus.commons.compiler.CompileException: File '/tmp/x/{name}', Line 82, Column 9: No applicable constructor"


@pytest.mark.parametrize("name", _LOST_WITH)
def test_a_session_can_be_without(name):
    unfit = {each.removesuffix(".java") for each in unfit_sources(failure(f"{name}.java"), SOURCES)}
    assert name in unfit
    assert unfit <= _LOST_WITH.keys()


def test_no_session_is_enabled_without_the_adapters_that_every_read_and_write_needs():
    needed = {
        "Columns",
        "DefaultSource",
        "DeltaTable",
        "Nodes",
        "Plans",
        "Python",
        "Rule",
        "Tables",
        "WritableTable",
        "WrittenFiles",
    }
    assert {name.removesuffix(".java") for name in SOURCES} - _LOST_WITH.keys() >= needed


def test_sources_that_use_another_go_with_it():
    sources = {
        "A.java": "class A { int f = bayou.B.g(); }",
        "B.java": "class B extends C {}",
        "C.java": "class C { } // A",
        "D.java": 'import org.x.A; class D { String s = "B"; org.y.C other; }',
    }
    assert unfit_sources(failure("C.java"), sources) == {"A.java", "B.java", "C.java"}
    assert unfit_sources(failure("A.java"), sources) == {"A.java"}


def test_a_failure_that_names_no_source_leaves_none_out():
    assert unfit_sources("java.lang.OutOfMemoryError: Metaspace", SOURCES) == set()


class WithoutAdapters:
    """A JVM that never loaded an adapter."""

    def has_class(self, _):
        return False


def test_a_session_that_cannot_compile_the_adapters_says_why_and_what_to_do(monkeypatch):
    def refuse(_):
        raise OSError("No space left on device")

    monkeypatch.setattr(Adapters, "_sources", refuse)
    with pytest.raises(SessionError, match="No space left on device") as caught:
        Adapters.of(WithoutAdapters())
    assert "the README lists" in caught.value.next_step
    assert "bayou.open" in caught.value.next_step
