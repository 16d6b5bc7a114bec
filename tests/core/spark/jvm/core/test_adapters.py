# SPDX-License-Identifier: Apache-2.0
"""An adapter that does not compile on some Spark costs what uses it, and nothing else."""

from __future__ import annotations

import pytest

from bayou.errors import SessionError
from bayou.spark.jvm.core.adapters import _INDISPENSABLE, Adapters, adapter_texts, unfit_sources

SOURCES = adapter_texts()
OPTIONAL = [
    "Catalog",
    "Parser",
    "StreamSource",
    "StreamSink",
    "HadoopFiles",
    "Statement",
    "SyntaxError",
    "Beginnings",
    "Changes",
    "ParquetTables",
]


def failure(name: str) -> str:
    return f"org.codehaus.commons.compiler.CompileException: File '/tmp/x/{name}', Line 82, Column 9: No applicable constructor"


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_session_can_be_without(name):
    unfit = unfit_sources(failure(f"{name}.java"), SOURCES)
    assert f"{name}.java" in unfit
    assert not unfit & _INDISPENSABLE


def test_what_is_indispensable_is_there():
    assert set(SOURCES) >= _INDISPENSABLE


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
