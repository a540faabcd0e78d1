"""Results as text: for the terminal, in Markdown, and as the reference scripts print them."""

from __future__ import annotations

import textwrap
from pprint import pformat
from typing import Any, Dict, List, Mapping

from ..comparison.bisect import bisect_line
from ..comparison.comparison_text import comparison_line
from ..comparison.gate_text import broken_rules, gate_line, undecided_rules, unshown_rules
from ..comparison.treatments_text import treatment_lines
from ..layout.groups import cell_groups, failures, group_title
from ..layout.plain_text import plain
from ..layout.sections import in_markdown, markdown, table_text
from ..records.results import Results
from ..results.results import only_facts
from .collectives_text import collective_lines
from .columns import TERMINAL, cells_table
from .remarks import remarks
from .step_text import step_lines

__all__ = ["reference_output", "report_markdown", "terminal_table"]

_WIDTH = 100
_MOST_FAILURES = 5
_LONGEST_SENTENCE = 1000


def terminal_table(results: Results) -> str:
    """Return the speed-up table of every group, remarks, comparison, gate, failures and what
    is left out.

    It is for a terminal of 100 columns; no escape sequence of a log or a name reaches it.
    """
    wrap = textwrap.TextWrapper(_WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    blocks = []
    for cells in cell_groups(results):
        title = plain(group_title(cells))
        blocks.append(f"{wrap.fill(title)}\n{table_text(cells_table(title, cells, TERMINAL))}")
    if not blocks:
        blocks.append("no cell was measured")
    failed = failures(results)
    left_out = [f"{item['path']}: left out: {item['reason']}" for item in results["unmatched"]]
    lines = remarks(results) + collective_lines(results) + step_lines(results) + _verdicts(results)
    for named, rest in ((failed, "repeats failed"), (left_out, "files are left out")):
        lines += named[:_MOST_FAILURES]
        if len(named) > _MOST_FAILURES:
            lines.append(f"{len(named) - _MOST_FAILURES} more {rest}; the report names them")
    lines = [wrap.fill(plain(line, _LONGEST_SENTENCE)) for line in lines]
    return "\n\n".join(blocks + (["\n".join(lines)] if lines else []))


def _verdicts(results: Results) -> List[str]:
    """Return the outcome of comparisons of variants and with a baseline, and of the gate."""
    lines = treatment_lines(results) if results.get("treatments") else []
    lines += [bisect_line(results)] if results.get("bisection") else []
    lines += [comparison_line(results)] if results.get("comparison") else []
    if results.get("gate"):
        rules = (broken_rules, unshown_rules, undecided_rules)
        lines += [gate_line(results), *(line for of in rules for line in of(results))]
    return lines


def reference_output(results: Results, log_dir: str, saved: str) -> str:
    """Return what the extract scripts of the reference efforts print.

    For each log its path and the speeds so far, then the facts, then where they are saved. A log
    without a speed, which stopped those scripts, is named with the reason.

    :param saved: the path of the JSON file.
    """
    lines: List[str] = []
    for cell in results["cells"]:
        speeds: Dict[int, float] = {}
        for repeat in cell["repeats"]:
            path = plain(f"{log_dir.rstrip('/')}/{repeat['log']}", _LONGEST_SENTENCE)
            if repeat["throughput"] is None:
                lines.append(f"{path} {repeat['ending']}: {plain(repeat['reason'])}")
            else:
                speeds[repeat["repeat"]] = repeat["throughput"]
                lines.append(f"{path} {speeds}")
    lines += [
        plain(f"{item['path']} left out: {item['reason']}", _LONGEST_SENTENCE)
        for item in results["unmatched"]
    ]
    lines += pformat(only_facts(results)).split("\n")
    return "\n".join([*lines, f"Saving result to {saved}"])


def report_markdown(page: Mapping[str, Any]) -> str:
    """Return report.md.

    :param page: of ``page.page``.
    """
    head = page["head"]
    blocks = [f"# Scaling of {in_markdown(page['title'])}"]
    blocks += map(in_markdown, [*head["what"], head["where"]])
    blocks += [
        f"{head['counts']} Throughput is in {in_markdown(page['unit'])}.",
        f"**{head['trust']['verdict']}**",
        _list(head["trust"]["reasons"]),
    ]
    if head["remarks"]:
        blocks += ["Remarks:", _list(head["remarks"])]
    blocks += [markdown(one) for one in page["before"]]
    blocks += ["## Speed-up", *map(in_markdown, page["about"])]
    blocks += [*(markdown(one["summary"], 3) for one in page["groups"])]
    blocks += [f"![{in_markdown(text)}]({name}.svg)" for name, text in page["plots"].items()]
    blocks += ["## Repeats", *(markdown(one["repeats"], 3) for one in page["groups"])]
    rest = [page["failures"], *page["after"], page["machines"], *page["method"]]
    blocks += [markdown(one) for one in rest if one]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _list(lines: List[str]) -> str:
    return "\n".join(f"- {in_markdown(line)}" for line in lines)
