# SPDX-License-Identifier: Apache-2.0
"""Writers behind a network that fails for a third of the requests: nothing is lost or doubled, and what is reported is true."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.object_servers import Fault

import bayou
from bayou.errors import ConcurrentModificationError, CorruptLogError, StorageError
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.types.schema import StructField, StructType

FAULTS = [
    Fault(0),
    Fault(0, acts=True),
    Fault(503),
    Fault(503, acts=True),
    Fault(500, "InternalError", acts=True),
    Fault(409, "OperationAborted"),
    Fault(400, "ExpiredToken"),
    Fault(403, "RequestTimeTooSkewed"),
    Fault(keep=7),
    Fault(stall=4),  # the writer has given up by the time that the request is carried out
]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("seed", range(2))
def test_every_reported_outcome_is_true(place, options, server, seed):
    options = {**options, "retry_timeout": "20s", "timeout": "2s"}
    bayou.open(place, storage_options=options).create(StructType((StructField("id", "long"),)))
    chance = random.Random(seed)
    server.fault = lambda _: chance.choice(FAULTS) if chance.random() < 0.33 else None

    def write(writer):
        reported = {}
        for number in range(4):
            name = f"{writer}-{number}"
            try:
                log = bayou.open(place, storage_options=options)
                log.transaction("WRITE", max_attempts=50).commit([AddFile(name, {}, 1, 1)], new_files=True)
                reported[name] = True
            except ConcurrentModificationError:
                reported[name] = False
            except (StorageError, CorruptLogError) as error:
                reported[name] = error.facts.get("outcome") == "committed" or None  # None: nobody knows
        return reported

    with ThreadPoolExecutor(8) as pool:
        reported = {name: outcome for each in pool.map(write, range(8)) for name, outcome in each.items()}
    server.fault = lambda _: None
    log = bayou.open(place, storage_options=options)
    there = Counter(log.snapshot().files(["path"])["path"].to_pylist())
    assert set(there.values()) == {1}
    assert {name for name, outcome in reported.items() if outcome} <= there.keys()
    assert not {name for name, outcome in reported.items() if outcome is False} & there.keys()
    assert [each.version for each in log.history()] == list(range(len(there), -1, -1))
    assert list(reported.values()).count(True) >= 8
