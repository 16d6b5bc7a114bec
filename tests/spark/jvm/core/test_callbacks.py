# SPDX-License-Identifier: Apache-2.0
"""Another process on this machine must not be able to call the Python objects behind py4j's callback port."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.support.tables.built import ids, numbers_table

import bayou
from bayou.spark.jvm.core.callbacks import BiFunction, start
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.session.application import Application

ATTACK = """
import json, socket, sys
port, commands = int(sys.argv[1]), json.loads(sys.argv[2])
answers = []
for conversation in commands:
    with socket.create_connection(("127.0.0.1", port), timeout=3) as connection:
        stream = connection.makefile("rwb")
        got = []
        for command in conversation:
            try:
                stream.write(command.encode()); stream.flush()
                got.append(stream.readline().decode())
            except OSError as error:
                got.append(type(error).__name__)
        answers.append(got)
print(json.dumps(answers))
"""


def attack(port, *conversations):
    """What another process hears when it speaks py4j's protocol to the port."""
    done = subprocess.run(
        [sys.executable, "-c", ATTACK, str(port), json.dumps(conversations)], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def callback_port(spark):
    return spark.sparkContext._gateway._callback_server.get_listening_port()


@pytest.fixture
def target(spark):
    """An object that the JVM may call, its id, and what was called on it."""
    application = Application.of(spark)
    called = []
    function = BiFunction(jvm_of(application), lambda first, second: called.append((first, second)))
    holder = jvm_of(application).java_list([function])
    pool = spark.sparkContext._gateway.gateway_property.pool
    identity = next(key for key, value in pool.dict.items() if value is function)
    holder.get(0).apply("legal", None)
    assert called == [("legal", None)]
    called.clear()
    return identity, called


@pytest.mark.smoke
def test_a_process_without_the_token_is_refused(spark, target):
    identity, called = target
    assert start(jvm_of(Application.of(spark)))  # calls need the token
    call = f"c\n{identity}\napply\nsattack\nsattack\ne\n"
    answers = attack(
        callback_port(spark),
        [call],
        ["A\nwrong\ne\n", call],
        ["A\n\ne\n", call],
        ["c\n" + identity + "\ntoString\ne\n", call],
        ["g\n" + identity + "\ne\n"],
    )
    assert called == []
    assert all(not answer.startswith("!yv") and "attack" not in answer for answers_ in answers for answer in answers_)


def test_the_same_call_with_the_token_would_have_worked(spark, target):
    identity, called = target
    token = spark.sparkContext._gateway.gateway_parameters.auth_token
    attack(callback_port(spark), [f"A\n{token}\ne\n", f"c\n{identity}\napply\nsthe\nstoken\ne\n"])
    assert called == [("the", "token")]


@pytest.mark.smoke
def test_the_port_listens_on_loopback_alone(spark):
    address = spark.sparkContext._gateway._callback_server.server_socket.getsockname()[0]
    assert address in ("127.0.0.1", "::1")


def test_ids_of_callback_objects_cannot_be_guessed(target):
    identity, _ = target
    assert identity.startswith("p")
    assert int(identity[1:]) > 1 << 64


def test_the_tables_still_work_after_an_attack(spark, table_path):
    numbers_table(table_path, [1])
    attack(callback_port(spark), ["garbage\n" * 100], ["c\np0\napply\ne\n"], ["\x00\xff\n"])
    assert ids(bayou.read(spark, table_path)) == [1]
