# SPDX-License-Identifier: Apache-2.0
"""Random tables, random commits on them, and random options of a stream that reads them."""

from __future__ import annotations

import random
from datetime import datetime, timezone
from pathlib import Path

FORGET = "forget"
"""A step after which the commits before the last checkpoint are gone, as log cleanup leaves a table."""

COMMITS = (
    "insert into {table} (id, p) select id, {n} from range({a}, {b}, 1, {files})",
    "insert into {table} (id, p) select id, {n} from range({a}, {b}, 1, {files})",
    "delete from {table} where id % 7 = {n} % 7",
    "delete from {table} where p = {n}",
    "update {table} set v = v + 1 where id % 5 = 0",
    "optimize {table}",
    "alter table {table} add columns (c{n} int)",
    "alter table {table} set tblproperties ('note' = '{n}')",
    "merge into {table} t using (select {a}L as id) s on t.id = s.id when not matched then insert (id, p) values (s.id, 0)",
    "restore table {table} to version as of 1",
)
MAPPED = (
    "insert into {table} (id, p) select id, {n} from range({a}, {b}, 1, {files})",
    "alter table {table} rename column v to w",
    "alter table {table} rename column w to v",
    "alter table {table} drop column v",
    "alter table {table} add columns (v int)",
    "alter table {table} alter column v type bigint",
    "alter table {table} rename column p to q",
)


class Story:
    """A table, what happens to it, and how a stream reads it.

    Attributes:
        create: the statement that makes the table.
        options: the options of the stream; `starting_commit` stands for the timestamp of a commit, in milliseconds from it.
        is_tracked: whether the stream follows changes of the schema.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        kind = self.random.choices(["plain", "feed", "mapped", "tracked", "forgetful"], [4, 4, 3, 3, 2])[0]
        self.is_tracked = kind == "tracked"
        self._steps = COMMITS
        properties = {"delta.enableDeletionVectors": self.random.choice(["true", "false"])}
        if kind == "feed":
            properties["delta.enableChangeDataFeed"] = "true"
        if kind in {"mapped", "tracked"}:
            properties |= {"delta.columnMapping.mode": self.random.choice(["name", "id"]), "delta.enableTypeWidening": "true"}
            self._steps = (*COMMITS[:6], *MAPPED)
        if kind == "forgetful":
            properties["delta.checkpointInterval"] = "3"
            self._steps = (*COMMITS[:5], FORGET)
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        partition = self.random.choice(["", "partitioned by (p)"])
        self.create = f"create table {{table}} (id bigint, p int, v int) using delta {partition} tblproperties ({listed})"
        self.options = {"readChangeFeed": "true"} if kind == "feed" else {}
        for name, values in {
            "maxFilesPerTrigger": [1, 2, 5],
            "maxBytesPerTrigger": ["1b", "1500b", "1m"],
            "ignoreDeletes": ["true"],
            "ignoreChanges": ["true"],
            "skipChangeCommits": ["true"],
            "startingVersion": [0, 1, 2],
            "starting_commit": [(0, 0), (1, 0), (1, 1), (1, 86_400_000)],
            "excludeRegex": ["p=1", "part-00000"],
            "failOnDataLoss": ["true", "false"],
        }.items():
            if self.random.random() < 0.3:
                self.options[name] = self.random.choice(values)
        if "starting_commit" in self.options and self.random.random() < 0.9:
            self.options.pop("startingVersion", None)
        if self.is_tracked:
            for name in ("Rename", "Drop", "TypeChange"):
                if self.random.random() < 0.5:
                    self.options[f"allowSourceColumn{name}"] = "always"

    def commits(self):
        """Some steps; some of them cannot be, which is for the table to say."""
        for _ in range(self.random.randint(1, 3)):
            n = self.random.randint(0, 9)
            a = self.random.randint(0, 500)
            text = self.random.choice(self._steps)
            yield text.format(table="{table}", n=n, a=a, b=a + self.random.randint(1, 30), files=self.random.randint(1, 3))

    def options_on(self, table):
        """The options, with the timestamp that a commit of this table has."""
        options = dict(self.options)
        if "starting_commit" in options:
            version, later = options.pop("starting_commit")
            milliseconds = Path(table, "_delta_log", f"{version:020}.json").stat().st_mtime_ns // 1_000_000 + later
            seconds, rest = divmod(milliseconds, 1000)
            options["startingTimestamp"] = f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M:%S}.{rest:03}"
        return options


def forget(table):
    """Takes the commits before a table's last checkpoint away."""
    log = Path(table, "_delta_log")
    kept = max((int(each.name[:20]) for each in log.glob("*.checkpoint*.parquet")), default=0)
    for each in [*log.glob("*.json"), *log.glob("*.crc")]:
        if each.name[:20].isdigit() and int(each.name[:20]) < kept:
            each.unlink()
