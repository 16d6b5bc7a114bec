# SPDX-License-Identifier: Apache-2.0
"""A health report as one HTML page: what helps, the facts, and plots. It needs no other file, no script and no network."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final

from bayou.health_report.plots import Plots
from bayou.report.units import age_text, count_text, size_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bayou.health_report.facts import Advice, HealthFacts

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; overflow-wrap: anywhere } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse } th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0 }
th { font-weight: normal; color: #666; white-space: nowrap }
code { background: #f2f5f6; padding: .1rem .3rem; overflow-wrap: anywhere }
.advice { border-left: 4px solid #00798c; padding: .1rem 0 .1rem .8rem; margin: .8rem 0 } .advice p { margin: .2rem 0 }
svg { max-width: 100%; height: auto } .note { color: #666 }
"""


def page(health: HealthFacts) -> str:
    """Return the page, or raise MissingPackageError if Matplotlib is not installed."""
    plots = Plots()
    title = f"Health of {health.table}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _facts(health.facts().items()),
        "<h2>What helps</h2>",
        *(map(_advice, health.advice) if health.advice else ["<p>Nothing: the table is in good health.</p>"]),
    ]
    if health.sizes.files:
        parts += ["<h2>File sizes</h2>", plots.sizes(health)]
    if len(health.sizes.partitions) > 1:
        parts += ["<h2>Partitions with the most small files</h2>", plots.partitions(health), _left_out(health)]
    bounded = [each for each in health.columns if each.has_bounds]
    if health.sizes.files and bounded:
        note = (
            "A filter <code>column = value</code> reads the files whose range holds the value. Values are the bounds of all files."
        )
        parts += ["<h2>Files that a point filter reads</h2>", f'<p class="note">{note}</p>', plots.reads(bounded)]
    lacking = [each for each in health.columns if each.missing]
    if lacking:
        parts += ["<h2>Missing statistics</h2>", plots.missing(lacking)]
    parts += ["<h2>Log</h2>", _facts(_log(health))]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head><body>\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _advice(advice: Advice) -> str:
    calls = [f"<code>{html.escape(call)}</code>" for call in (advice.sql, advice.python) if call]
    return (
        f'<div class="advice"><p>{html.escape(advice.why)}</p><p>{" or ".join(calls)}</p><p>{html.escape(advice.effect)}</p></div>'
    )


def _facts(facts: Iterable[tuple[str, Any]]) -> str:
    known = ((name, value) for name, value in facts if value is not None)
    rows = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>" for name, value in known)
    return f"<table>{''.join(rows)}</table>"


def _left_out(health: HealthFacts) -> str:
    left = health.sizes.num_partitions - len(health.sizes.partitions)
    return f'<p class="note">{left:,} more partitions.</p>' if left else ""


def _log(health: HealthFacts) -> Sequence[tuple[str, str]]:
    log = health.log
    checkpoint = "none"
    if log.checkpoint_version is not None:
        parts = f"{count_text(log.checkpoint_parts, 'file')} and {log.sidecars:,} sidecar files"
        checkpoint = (
            f"version {log.checkpoint_version}, {age_text(log.checkpoint_time)}: {size_text(log.checkpoint_bytes)} in {parts}"
        )
    return (
        ("commits", f"{log.commits:,}" + (f", from version {log.oldest_version}" if log.commits else "")),
        ("size", size_text(log.bytes) or ""),
        ("checkpoint", checkpoint),
        (
            "read after the checkpoint" if log.checkpoint_parts else "read",
            f"{log.commits_since:,} commits, {size_text(log.bytes_since)}",
        ),
    )
