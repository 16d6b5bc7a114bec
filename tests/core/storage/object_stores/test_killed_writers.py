# SPDX-License-Identifier: Apache-2.0
"""A writer that is killed at any of its requests leaves a table that opens, with each of its commits whole or not at all."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.support.object_servers import Fault

import bayou
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType

# Ten commits and the checkpoint of the tenth; says which ones it knows to be in the log.
PROGRAM = """
import json, sys
import bayou
from bayou.protocol.actions.actions import AddFile
place, options = json.loads(sys.argv[1])
log = bayou.open(place, storage_options=options)
for number in range(10):
    actions = [AddFile(f"f{number}", {}, 1, 1, stats='{"numRecords":1}'), AddFile(f"g{number}", {}, 1, 1, stats='{"numRecords":1}')]
    log.transaction("WRITE").commit(actions, new_files=True)
    print(number, flush=True)
"""
# How many requests the program sends, at most.
REQUESTS = 48


@pytest.mark.in_turn(16)
@pytest.mark.parametrize("acts", [True, False], ids=["answered", "unanswered"])
@pytest.mark.parametrize("at", range(1, REQUESTS))
def test_a_writer_that_is_killed_at_a_request_leaves_whole_commits(place, options, server, at, acts):
    bayou.open(place, storage_options=options).create(StructType((StructField("id", "long"),)))
    server.requests.clear()
    command = [sys.executable, "-c", PROGRAM, json.dumps([place, options])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:

        def kill(request):
            if request.number < at:
                return None
            writer.kill()
            return Fault(0, acts=acts and request.number == at)

        server.fault = kill
        known = [int(line) for line in writer.stdout]
    server.fault = lambda _: None
    log = bayou.open(place, storage_options=options)
    paths = set(log.snapshot().files(["path"])["path"].to_pylist())
    made = {int(path[1:]) for path in paths}
    assert paths == {f"{letter}{number}" for letter in "fg" for number in made}
    assert made >= set(known)
    assert made == set(range(len(made)))
    assert len(made) <= len(known) + 1
    log.transaction("WRITE").commit([AddFile("z", {}, 1, 1)], new_files=True)
    assert bayou.open(place, storage_options=options).snapshot().num_files == len(paths) + 1
