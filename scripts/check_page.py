# SPDX-License-Identifier: Apache-2.0
"""check_page.py: writes docs/check.md, the page of all rules of `bayou check`."""

from __future__ import annotations

from pathlib import Path

from bayou.checks.coverage import COVERAGE, Sentence
from bayou.checks.rule import Rule, Section
from bayou.checks.rules import RULES, SECTIONS
from bayou.repairs.repair import REPAIRS

PAGE = Path(__file__).parent.parent / "docs" / "check.md"
COMMAND = "python scripts/check_page.py"
_HEAD = f"""# Check a table

`bayou check TABLE` and `bayou.check(path)` check a Delta table by any writer against the
[Delta protocol](https://github.com/delta-io/delta/blob/master/PROTOCOL.md), up to reader version 3 and writer version 7. They work
on every store, and change nothing. Only the check of rows needs Spark.

```python
import bayou
from pyspark.sql import SparkSession

spark = bayou.enable(SparkSession.builder)
spark.range(3).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save("/tmp/orders")

report = bayou.check("/tmp/orders", files=True)
print(report)
for finding in report.findings:
    print(finding.rule, finding.place, finding.action, finding.writer, finding.detail)
```

By default the check reads each file of the log: commits, checkpoints with their sidecar files, compacted files, checksums and
`_last_checkpoint`. It compares checkpoints, compacted files and checksums with the commits, as far as the commits exist.

| Option | Command line | What it reads too |
|---|---|---|
| `files=True` | `--files` | folders: whether data files exist and have their sizes; the bytes of deletion vectors |
| `footers=True` | `--footers` | the footer of each live data file: types, field ids, numbers of rows, statistics |
| `rows=True` | `--rows` | all rows, in one Spark query: constraints, NOT NULL, generated columns, identity columns, lengths |

The query runs on the active session, or on a new local one, and reads the table with the settings of that session.

A finding names the rule, the file, the line (the row of a Parquet file), the action and the writer: `engineInfo` of a commit, or
the library that wrote a checkpoint. At most five places of a rule and a file action are listed; `more` counts the others.

| Severity | Meaning | Exit code |
|---|---|---|
| broken | The table breaks the protocol. Readers may fail or return wrong rows. | 2 |
| risky | Some readers or writers fail, or a check that protects the table is missing. | 1 |
| odd | The protocol recommends something else. Readers and writers are not affected. | 0 |

If an error ends the check, for example because the table does not exist, the exit code is 3.

`bayou check --json` prints one JSON document with all findings. Rules have ids that do not change.

The check parses the log on its own and not through the reader of `bayou.open`, so that it does not share the reader's mistakes.
Only `rows=True` reads the table as `bayou.read` does.

## Rules

`{COMMAND}` writes this page from the {len(RULES)} rules in `src/bayou/checks/rules`.
[Repair a table](repair.md) explains the repairs.
"""
_OPEN = """## Sentences without a rule

These sentences of the protocol bind readers, writers or catalogs, but leave no trace that a check of one table can find.
"""


def page() -> str:
    """Return the content of the page."""
    return "\n".join([_HEAD, *(part for section in SECTIONS for part in _section(section)), _OPEN, *_without_rules(), ""])


def _section(section: Section) -> list[str]:
    return [
        f"### {section.title}\n",
        "| Rule | Severity | Reads | A sound table | Repair |",
        "|---|---|---|---|---|",
        *map(_line, section.rules),
        "",
    ]


def _line(rule: Rule) -> str:
    return f"| `{rule.id}` | {rule.severity.name.lower()} | {rule.reads.value} | {_cell(rule.text)} | {_repair(rule)} |"


def _repair(rule: Rule) -> str:
    return f"`{REPAIRS[rule.id].value}`" if rule.id in REPAIRS else ""


def _without_rules() -> list[str]:
    without = [each for each in COVERAGE if not each.rules]
    return ["| Section | Sentence | Why |", "|---|---|---|", *map(_sentence, without)]


def _sentence(each: Sentence) -> str:
    return f"| {each.section} | {_cell(each.text)} | {_cell(each.reason)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
