# SPDX-License-Identifier: Apache-2.0
"""Every line that --json prints is valid JSON with the digits of the log, whatever a log holds."""

from __future__ import annotations

import json

import pytest
from tests.core.cli.test_output import COMMANDS

ODD_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "12345678901234567890.123456789012345678", "0.10", "1" * 5_000]


def parsed(line):
    def refuse(word):
        raise AssertionError(word)

    document = json.loads(line, parse_constant=refuse, parse_float=str, parse_int=str)
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    return document


def add_with(stats, **more):
    return {"add": {"path": "f", "partitionValues": {}, "size": 1, "modificationTime": 0, "stats": stats, **more}}


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_statistics_are_valid_json_with_the_digits_of_the_log(bayou_command, writer, number):
    stats = f'{{"numRecords":3,"minValues":{{"id":{number},"point":{{"x":{number}}}}}}}'
    writer.create().commit(1, add_with(stats))
    (line,) = bayou_command("files", writer.path, "--json").lines
    assert parsed(line)["stats"] == {"numRecords": "3", "minValues": {"id": number, "point": {"x": number}}}
    assert bayou_command("files", writer.path).lines[1].split()[1] == "3"


@pytest.mark.parametrize("number", ["1e400", "12345678901234567890.50", "1" * 5_000])
def test_a_number_of_rows_keeps_its_digits_in_a_pipe(bayou_command, writer, number):
    writer.create().commit(1, add_with(f'{{"numRecords":{number}}}'))
    assert bayou_command("files", writer.path).lines[1].split()[1] == number


@pytest.mark.parametrize("stats", ["", "nonsense", "[1", '"text"', "3", '{"a":"\\udc80"}', "[" * 5_000, '{"a":1}{"b":2}'])
def test_statistics_of_any_kind_are_printed(bayou_command, writer, stats):
    writer.create().commit(1, add_with(stats))
    (line,) = bayou_command("files", writer.path, "--json").lines
    parsed(line)


@pytest.mark.parametrize("number", ODD_NUMBERS[:-1])
def test_provenance_is_valid_json_with_the_digits_of_the_log(bayou_command, writer, number):
    writer.create()
    path = writer.folder / "_delta_log" / f"{1:020d}.json"
    info = f'"operation":"W","operationParameters":{{"a":{number},"b":[{number}]}},"operationMetrics":{{"n":{number}}}'
    path.write_text(f'{{"commitInfo":{{{info},"job":{{"x":{number}}},"userMetadata":"\\ud800"}}}}', encoding="utf-8")
    row = parsed(bayou_command("history", writer.path, "--json", "--limit", "1").lines[0])
    quoted = number if number[0].isdigit() or number[1].isdigit() else f'"{number}"'
    assert row["job"] == {"x": number}
    assert row["operationMetrics"]["n"].strip('"') == number
    assert row["operationParameters"]["b"] == f"[{quoted}]"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("odd", ["\\ud800", "\\udc80x", "\\u0000", "\\u202e", "\\u007f", "\\u2028", "\\ud83d\\ude00"])
def test_texts_of_any_kind_are_valid_json(bayou_command, writer, command, odd):
    metadata = f'"id":"{odd}","name":"{odd}","description":"{odd}","configuration":{{"k{odd}":"{odd}"}}'
    field = f'{{"name":"c","type":"long","nullable":true,"metadata":{{"comment":"{odd}","x":[1.10,NaN]}}}}'
    schema = json.dumps(f'{{"type":"struct","fields":[{field}]}}')
    lines = [
        f'{{"commitInfo":{{"operation":"{odd}","engineInfo":"{odd}"}}}}',
        '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}',
        f'{{"metaData":{{{metadata},"schemaString":{schema},"partitionColumns":[]}}}}',
        f'{{"add":{{"path":"f{odd}","partitionValues":{{"p":"{odd}"}},"size":1,"modificationTime":0,"tags":{{}}}}}}',
    ]
    log = writer.folder / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").write_text("\n".join(lines), encoding="utf-8")
    (log / "_last_checkpoint").write_text(f'{{"version":1e400,"x":NaN,"y":"{odd}"}}', encoding="utf-8")
    result = bayou_command(command, writer.path, "--json")
    if result.code:
        assert len(result.err.splitlines()) == 1
        return
    for line in result.lines:
        assert line.isascii()
        parsed(line)


def test_the_schema_keeps_the_digits_of_the_log(bayou_command, writer):
    writer.create()
    path = writer.folder / "_delta_log" / f"{0:020d}.json"
    text = path.read_text(encoding="utf-8").replace(
        '{\\"comment\\": \\"the key\\"}', '{\\"x\\": 1.10, \\"y\\": 0.12345678901234567891}'
    )
    path.write_text(text, encoding="utf-8")
    (line,) = bayou_command("schema", writer.path, "--json").lines
    assert parsed(line)["fields"][0]["metadata"] == {"x": "1.10", "y": "0.12345678901234567891"}
