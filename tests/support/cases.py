# SPDX-License-Identifier: Apache-2.0
"""Families of many quick cases as one test each: pytest takes longer for a test of its own than such a case does."""

from __future__ import annotations

import functools
import inspect
import itertools
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

SHOWN = 3
"""So many failures are shown with their traces; the others by name."""
LONGEST_NAME = 80


Case = TypeVar("Case")


def in_one_test(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test on every case, and fails once, with the names of all cases that failed.

    It is written as `pytest.mark.parametrize` is, also several times: then each value meets each of the others. The fixtures of
    the test are the same for all cases.

    Args:
        names: of one argument, or of several.
        values: of the argument, or of all of them.
    """
    family = [{names: value} if isinstance(names, str) else dict(zip(names, value, strict=True)) for value in values]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        inner = getattr(function, "cases", None)
        test = function if inner is None else inspect.unwrap(function)
        cases = family if inner is None else [{**one, **other} for one, other in itertools.product(family, inner)]

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            __tracebackhide__ = True
            check_each(cases, lambda case: test(**fixtures, **case), name_of=_by_arguments)

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if not cases or name not in cases[0]]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        run.cases = cases  # type: ignore[attr-defined]
        return run

    return decorate


def check_each(cases: Sequence[Case], check: Callable[[Case], None], *, name_of: Callable[[Case], str]) -> None:
    """Checks every case, and fails once, with the names of all cases that failed."""
    __tracebackhide__ = True
    assert cases, "a family without a case"
    failures: list[tuple[str, BaseException]] = []
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  (each is reported)
            failures.append((name_of(case), error))
    if failures:
        pytest.fail(_report(failures, len(cases)), pytrace=False)


def _by_arguments(case: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_shown(value)}" for name, value in case.items())


def _shown(value: Any) -> str:
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return name
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (some cases are values that cannot be shown)
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}..."


def _report(failures: list[tuple[str, BaseException]], total: int) -> str:
    names = [f"  {name}" for name, _ in failures]
    traces = [f"--- {name}\n{_trace(error)}" for name, error in failures[:SHOWN]]
    return "\n".join((f"{len(failures)} of {total} cases failed:", *names, "", *traces))


def _trace(error: BaseException) -> str:
    own = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, own and own.tb_next))
