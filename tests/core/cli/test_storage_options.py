# SPDX-License-Identifier: Apache-2.0
"""Commands on a table in an object store."""

from __future__ import annotations

import json
import logging

import pytest
from tests.support.object_servers import ACCESS, make_bucket, moto

import bayou
from bayou.cli.app import run
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType


@pytest.fixture(scope="module")
def server():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it notes every request
    with moto() as url:
        make_bucket(url, "commands")
        yield url


@pytest.fixture
def options(server):
    given = {**ACCESS, "AWS_ENDPOINT_URL": server}
    return [each for key, value in given.items() for each in ("--storage-option", f"{key}={value}")]


@pytest.fixture
def table(server, tmp_path):
    uri = f"s3://commands/{tmp_path.name}"
    log = bayou.open(uri, storage_options={**ACCESS, "AWS_ENDPOINT_URL": server})
    log.create(StructType((StructField("id", "long"),)))
    log.transaction("WRITE").commit([AddFile("a", {}, 1, 1, stats='{"numRecords":1}')])
    return uri


def test_commands_reach_the_table(table, options, capsys):
    assert run(["history", table, *options, "--json"]) == 0
    assert [json.loads(line)["version"] for line in capsys.readouterr().out.splitlines()] == [1, 0]
    for command in (["files"], ["log"], ["vacuum"], ["checkpoint"], ["restore", "--version", "0", "--yes"]):
        assert run([command[0], table, *command[1:], *options]) == 0, capsys.readouterr().err
    assert run(["clone", table, f"{table}.clone", "--shallow", "--yes", *options]) == 0
    capsys.readouterr()
    assert run(["history", f"{table}.clone", *options, "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_an_option_that_is_none_is_refused_and_not_repeated(table, capsys):
    assert run(["history", table, "--storage-option", "a-secret"]) != 0
    found = capsys.readouterr().err
    assert "it is not KEY=VALUE" in found
    assert "a-secret" not in found


def test_the_environment_holds_options(table, server, capsys, monkeypatch):
    for key, value in {**ACCESS, "AWS_ENDPOINT_URL": server, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(key, value)
    assert run(["history", table]) == 0, capsys.readouterr().err
