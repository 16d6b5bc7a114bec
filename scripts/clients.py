# SPDX-License-Identifier: Apache-2.0
"""clients.py NAME...: runs released programs that use Delta tables, unmodified, on bayou (client_list.py).

Each runs in an environment of its own, from the package index. Its own tests come from its source distribution and run under
`pytest -p bayou.testing.as_delta`. The results go into docs/works_with.md, failures too.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cache_folder import cache
from client_list import CLIENTS, Client
from environments import ROOT, environment, runtime_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

PAGE = ROOT / "docs" / "works_with.md"
BEGIN = "<!-- clients: begin -->\n"
END = "<!-- clients: end -->\n"
HEADER = "| Program | What ran | Result | PySpark | Date |\n|---|---|---|---|---|\n"
SOURCES_OF_US = "https://github.com/bayou-lake/bayou/blob/main/"
LONGEST_REASON = 200


@dataclass(frozen=True)
class Result:
    """What came of a program.

    Attributes:
        passed: whether all that ran passed.
        text: the counts of its tests, and the reason why something failed.
    """

    passed: bool
    text: str


def main() -> int:
    names = sys.argv[1:] or list(CLIENTS)
    unknown = [name for name in names if name not in CLIENTS]
    if unknown:
        print(f"no such client: {', '.join(unknown)}; there are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    results: dict[str, Result] = {}
    for name in names:
        print(f"\n== {CLIENTS[name].release}", flush=True)
        results[name] = run(CLIENTS[name])
        today = dt.datetime.now(tz=dt.timezone.utc).date()
        new_row = row(CLIENTS[name], results[name], today)
        PAGE.write_text(with_rows(PAGE.read_text(encoding="utf-8"), {name: new_row}), encoding="utf-8")
    print("\nclients:", ", ".join(f"{name} {'passed' if each.passed else 'FAILED'}" for name, each in results.items()), flush=True)
    return 0 if all(each.passed for each in results.values()) else 1


def run(client: Client) -> Result:
    """What came of a program's own tests and of ours; an environment that cannot be made is a failure, too."""
    try:
        python = environment((*runtime_dependencies(), f"pyspark=={client.pyspark}", "pytest", *client.requirements))
        results = [_tests(client, python)] if client.tests else []
    except subprocess.CalledProcessError as error:
        return Result(passed=False, text=f"pip ended with {error.returncode}: its release cannot be installed")
    if client.program:
        code, lines = _output([python, ROOT / client.program], ROOT, client, python)
        results.append(Result(code == 0, "" if code == 0 else f"our program: {last_words(lines)}"))
    return Result(all(each.passed for each in results), "; ".join(each.text for each in results if each.text))


def _tests(client: Client, python: Path) -> Result:
    plugins = ["-p", "bayou.testing.as_delta", *(["-p", client.conftest] if client.conftest else [])]
    chosen = ["-k", " and ".join(f"not {word}" for word, _ in client.without)] if client.without else []
    options = ["-q", "-rfE", "--color=no", "-o", "addopts=", "-p", "no:cacheprovider"]
    command = [python, "-m", "pytest", *options, *plugins, *chosen, *client.tests]
    code, lines = _output(command, _sources(client.release, python), client, python)
    return of_tests(code, lines)


def of_tests(code: int, lines: Sequence[str]) -> Result:
    """What came of a run of pytest.

    Args:
        code: what it returned.
        lines: what it printed.
    """
    ends = (found.group(1) for line in reversed(lines) if (found := re.match(r"=* ?(\d+ .+?) in [\d.]+s", line)))
    counts = ", ".join(re.findall(r"\d+ (?:failed|passed|skipped|errors?)", next(ends, "")))
    if code == 0:
        return Result(passed=True, text=counts)
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    first = re.sub(r"^\w+ \S*?(\w+(?:\[.*?\])?) - ", r"\1: ", failed[0]) if failed else last_words(lines)
    return Result(passed=False, text=f"{counts or 'no test ran'}: {first}")


def last_words(lines: Iterable[str]) -> str:
    """The last line that is not empty, as the reason of a failure: of a traceback, the exception."""
    return next((line.strip() for line in reversed(list(lines)) if line.strip()), "it printed nothing")


def _output(command: Sequence[str | Path], folder: Path, client: Client, python: Path) -> tuple[int, list[str]]:
    """What a command returns and prints; it is printed as it comes, too."""
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), "src", "tests"]),
        "PYSPARK_PYTHON": str(python),
        "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
        "PYTHONUNBUFFERED": "1",
        "DO_NOT_TRACK": "1",
        "GX_ANALYTICS_ENABLED": "false",
        **dict(client.variables),
    }
    variables.pop("SPARK_HOME", None)
    lines = []
    with subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None  # noqa: S101  (it is a pipe)
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def _sources(release: str, python: Path) -> Path:
    """The folder of a release's source distribution; fetched if it is not in the cache."""
    folder = cache() / "clients" / release
    complete = folder / ".complete"
    if not complete.exists():
        fetch = [python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", folder]
        subprocess.run([*fetch, release], check=True)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
        complete.touch()
    return next(each for each in folder.iterdir() if each.is_dir())


def row(client: Client, result: Result, day: dt.date) -> str:
    """The line of the page for a program."""
    name, _, version = client.release.partition("==")
    ran = ["its tests of Delta tables"] if client.tests else []
    ran += [f"without `{word}` ({why})" for word, why in client.without]
    ran += [f"[our program]({SOURCES_OF_US}{client.program})"] if client.program else []
    text = re.sub(r"\s+", " ", result.text).replace("|", "\\|").replace("<", "&lt;")
    shown = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]} ..."
    outcome = ": ".join(each for each in ("passes" if result.passed else "**fails**", shown) if each)
    return f"| {name} {version} | {', '.join(ran)} | {outcome} | {client.pyspark} | {day.isoformat()} |\n"


def with_rows(page: str, rows: Mapping[str, str]) -> str:
    """The page with new lines for some programs; those of others stay, and those of programs that left the list go.

    Args:
        page: the page as it is.
        rows: the new line by the name in the list.
    """
    before, rest = page.split(BEGIN)
    between, after = rest.split(END)
    kept = {line.split("|")[1].split()[0]: f"{line}\n" for line in between.splitlines() if line.startswith("| ")}
    table = "".join(
        rows.get(name) or kept.get(client.release.partition("==")[0]) or row_of_none(client) for name, client in CLIENTS.items()
    )
    return f"{before}{BEGIN}\n{HEADER}{table}\n{END}{after}"


def row_of_none(client: Client) -> str:
    """The line of the page for a program that has not run yet."""
    name, _, version = client.release.partition("==")
    return f"| {name} {version} | nothing yet | | | |\n"


if __name__ == "__main__":
    sys.exit(main())
