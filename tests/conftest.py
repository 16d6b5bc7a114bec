# SPDX-License-Identifier: Apache-2.0
"""What every test may use: hypothesis profiles, the folder of published tables, and one Spark session for the whole run."""

from __future__ import annotations

import os
import subprocess
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer
    from tests.support.interpreters import Interpreters

ROOT = Path(__file__).resolve().parent.parent

# What tests have in common lies beside them, and tells as much where it fails.
pytest.register_assert_rewrite("tests.core", "tests.hadoop", "tests.interop", "tests.scenarios", "tests.spark", "tests.support")

# The same examples on every run: a change fails for what it changes. `make soak` draws new ones, and many.
settings.register_profile(
    "default",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("soak", settings.get_profile("default"), derandomize=False, max_examples=5_000)
settings.load_profile("default")


# Fixtures that run a test several times for the same rule. A plain run takes one of each, `make soak` the others: which one goes
# by the test's name and its other arguments, so that each is used by half of the tests, and by the same ones on every run.
REPEATS = ("way", "joins")

# A plain run takes a sixth of the tests beside delta-spark, and a fourth or a sixth of the cases of each test on Spark.
COMPARISONS_IN_TURN = 6
CASES_IN_TURN = {"tests/spark/": 4, "tests/connect/": 6}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run choose the kind of session that tests of `tests/spark` get."""
    text = "run the tests of tests/spark on a stock server of Spark Connect; tests/support/on_connect.py says which cannot"
    parser.addoption("--on-connect", action="store_true", help=text)
    text = "run the tests of tests/spark on a classic session that bayou serves by the documented functions of PySpark"
    parser.addoption("--portable-on-classic", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Hold files of tests to their budgets: each process of tests measures, the one that reports adds up."""
    from tests.support.budgets import Budgets, Stopwatch, chooses_tests

    if config.getoption("--on-connect"):  # the client warns of old settings, where a classic session logs
        config.addinivalue_line("filterwarnings", "ignore:The SQL config:UserWarning")
    config.pluginmanager.register(Stopwatch())
    if not hasattr(config, "workerinput") and not chooses_tests(config):
        config.pluginmanager.register(Budgets())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A process has either classic sessions or sessions of Spark Connect: the tests of the latter run only if they are named."""
    of_connect = ROOT / "tests" / "connect"
    is_named = any(
        of_connect in (path := Path(arg.partition("::")[0]).resolve()).parents or path == of_connect for arg in config.args
    )
    return True if collection_path == of_connect and not is_named else None


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what a plain run leaves out as `soak`, unless tests were asked for by name.

    A test that says `in_turn(n)` repeats one rule for many inputs, at a price: a run takes every n-th of its cases, others at each
    commit. Tests beside delta-spark are one such family, because each takes seconds; `make soak-oracle` takes all. On Spark every
    test with several cases is one.
    """
    if config.getoption("--on-connect") or config.getoption("--portable-on-classic"):
        _mark_what_connect_cannot_run(items, on_classic=config.getoption("--portable-on-classic"))
    if config.getoption("hypothesis_profile", None) == "soak":
        _mark_what_draws(items)
    if config.option.keyword or any("::" in each for each in config.args):
        return
    families: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and not item.get_closest_marker("soak"):
            _sort_out(item, families)
    for (name, count), family in families.items():
        # Families begin at different places, or the runs whose turn is the last one would leave out all small families.
        turn = (_turn() + zlib.crc32(name.encode())) % count
        for number, item in enumerate(sorted(family, key=lambda each: each.nodeid)):
            if number % count != turn:
                item.add_marker("soak")


def _mark_what_connect_cannot_run(items: list[pytest.Item], *, on_classic: bool) -> None:
    from tests.support.on_connect import TABLE, TABLE_ON_CLASSIC, why_left_out

    for item in items:
        for table in (TABLE, TABLE_ON_CLASSIC) if on_classic else (TABLE,):
            reason = why_left_out(item.nodeid, getattr(item, "fixturenames", ()), table)
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def _sort_out(item: pytest.Function, families: dict[tuple[str, int], list[pytest.Item]]) -> None:
    """Mark a test that repeats another one, or put it to the family of which a run takes every n-th test."""
    if hasattr(item, "callspec") and _repeats_another(item) and not item.get_closest_marker("every_way"):
        item.add_marker("soak")
    elif "delta_spark" in item.fixturenames:
        families.setdefault(("delta-spark", COMPARISONS_IN_TURN), []).append(item)
    elif hasattr(item, "callspec"):
        marker = item.get_closest_marker("in_turn")
        usual = next((count for folder, count in CASES_IN_TURN.items() if item.nodeid.startswith(folder)), 1)
        count = marker.args[0] if marker else usual
        families.setdefault((item.nodeid.partition("[")[0], count), []).append(item)


def _mark_what_draws(items: list[pytest.Item]) -> None:
    """In a plain run these draw few examples."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("soak")


def _repeats_another(item: pytest.Function) -> bool:
    indices = item.callspec.indices
    others = "-".join(str(index) for name, index in sorted(indices.items()) if name not in REPEATS)
    chosen = {name: zlib.crc32(f"{item.originalname} {name} {others}".encode()) % 2 for name in REPEATS if name in indices}
    return any(indices[name] != index for name, index in chosen.items())


@cache
def _turn() -> int:
    """A number that changes from commit to commit, and is the same in all processes of a run."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return int(head or "0", 16)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside this checkout with tables and tools that projects share; skips the test without it."""
    folder = Path(os.environ.get("BAYOU_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared folder is not beside this checkout (BAYOU_SHARED names another place)")
    return folder


@pytest.fixture(scope="session")
def corpora(shared: Path) -> Path:
    """Delta tables that other projects published as test data."""
    folder = shared / "corpora" / "open"
    if not folder.is_dir():
        pytest.skip("the shared folder has no published tables")
    return folder


@pytest.fixture(scope="session")
def connect_server() -> Iterator[ConnectServer]:
    """A stock server of Spark Connect that runs until the end of the tests."""
    pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")
    from tests.support.connect_server import ConnectServer

    with ConnectServer() as started:
        yield started


@pytest.fixture(scope="session")
def plain_spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A stock local session: no JAR, no setting of Delta Lake. Never stopped before the end of the run."""
    if request.config.getoption("--on-connect"):
        from tests.support.on_connect import session_on

        yield from session_on(request.getfixturevalue("connect_server"))
        return
    from bayou.testing.session import local_session

    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    # Spark checks every plan after each rule of the optimizer: one process of a run does, and the order of tests is random.
    validates = str(os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0").lower()
    settings = {"spark.sql.warehouse.dir": warehouse, "spark.sql.planChangeValidation": validates}
    # For the tests on S3, where `make` provides them. No other test loads a class from them.
    if jars := os.environ.get("BAYOU_S3_JARS"):
        settings["spark.jars"] = ",".join(map(str, sorted(Path(jars).glob("*.jar"))))
    session = local_session(settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, plain_spark: SparkSession) -> SparkSession:
    """The same session with the data source `delta` on it."""
    import bayou

    if request.config.getoption("--portable-on-classic"):
        from bayou.spark.enable import enable_documented

        enable_documented(plain_spark, "the tests say so")
        return plain_spark
    return bayou.enable(plain_spark)


@pytest.fixture(autouse=True)
def _session_as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a setting on the session that all tests share. Their order is random: others would fail."""
    if "plain_spark" not in request.fixturenames:
        yield
        return
    from tests.support.on_connect import settings_of

    from bayou.spark.session.session_transaction import LAST_VERSION  # which each commit sets, as those of delta-spark

    session = request.getfixturevalue("plain_spark")
    before = settings_of(session)
    yield
    changed = {name for name, _ in before.items() ^ settings_of(session).items()} - {LAST_VERSION}
    if request.config.getoption("--portable-on-classic"):  # a DataFrame of column ids needs them whenever it runs
        changed -= {"spark.sql.parquet.fieldId.read.enabled", "spark.sql.parquet.fieldId.read.ignoreMissing"}
    for name in changed:
        if name in before:
            session.conf.set(name, before[name])
        else:
            session.conf.unset(name)
    assert not changed, f"the test left settings on the session: {sorted(changed)}"


@pytest.fixture(scope="session")
def interpreters() -> Iterator[Interpreters]:
    """Processes of Python that start at once."""
    from tests.support.interpreters import interpreters

    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    with interpreters() as found:
        yield found


@pytest.fixture
def table_path(tmp_path: Path) -> str:
    """A path for a table of this test's own."""
    return str(tmp_path / "table")
