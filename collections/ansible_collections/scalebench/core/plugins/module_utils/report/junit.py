"""The repeats of a campaign as JUnit XML, which Jenkins, GitLab and others show.

There is no standard; this follows the schema of Jenkins' xUnit plugin (junit-10.xsd), in which only
a testsuite has properties.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence
from xml.etree import ElementTree

from ..comparison.gate_text import rule_verdict
from ..layout.groups import cell_groups
from ..layout.plain_text import plain
from ..records import endings
from ..records.cells import cell_key
from ..records.results import MeasuredCell, Results
from ..results.provenance import unix_seconds
from .columns import JUNIT, columns_of

__all__ = ["junit_text"]

Repeat = Mapping[str, Any]
# The elements of testcases that are not a repeat with an ending.
_OTHERS = {
    **{"broken_rule": "failure", "undecided_and_failed": "failure"},
    **{"undecided": "skipped", "not_run": "skipped"},
}
# Of a rule, by its verdict and whether it lets the gate pass.
_RULES = {
    **{("passed", True): "ok", ("broken", False): "broken_rule"},
    **{("undecided", True): "undecided", ("undecided", False): "undecided_and_failed"},
}
# XML 1.0 forbids these two, which Unicode assigns to no character.
_FORBIDDEN = re.compile("[\ufffe\uffff]")


def junit_text(results: Results, last_lines: Mapping[str, Sequence[str]] = {}) -> str:
    """Return junit.xml: a testsuite for each group of cells, a testcase for each repeat.

    A testcase has the seconds of its repeat; ``type`` of a failure, error or skipped is its
    ending, ``message`` its reason. A planned repeat without a record is skipped as ``not_run``.
    Failures of a campaign that belong to no cell are in the suite ``beside the cells``; the suite
    ``gate`` has a testcase for each rule; an undecided one that passes the gate is skipped.

    :param results: of ``results.build_results``, or results.json.
    :param last_lines: of logs, by their path in the results.
    """
    suites = [_suite(cells, results, last_lines) for cells in cell_groups(results)]
    beside = _beside(results)
    if beside:
        suites.append(_closed(ElementTree.Element("testsuite", name="beside the cells"), beside))
    rules = [_rule(one) for one in (results.get("gate") or {"rules": ()})["rules"]]
    if rules:
        suites.append(_closed(ElementTree.Element("testsuite", name="gate"), rules))
    root = ElementTree.Element("testsuites", name=_text(results["campaign"]))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    root.extend(suites)
    for element in root.iter():
        element.tail = "\n"
    written: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{written}'


def _suite(
    cells: Sequence[MeasuredCell], results: Results, last_lines: Mapping[str, Sequence[str]]
) -> ElementTree.Element:
    name = ".".join(_text(key).replace(".", "_") for key in cell_key(cells[0]).group)
    suite = ElementTree.Element("testsuite", name=name)
    created = results["provenance"].get("created")
    if created and unix_seconds(created) is not None:
        suite.set("timestamp", created.rstrip("Z"))
    figures = ElementTree.SubElement(suite, "properties")
    for key, value in _properties(cells).items():
        ElementTree.SubElement(figures, "property", name=key, value=_text(value))
    cases = []
    for cell in cells:
        planned = (*cell["repeats"], *map(_not_run, cell["not_run"]))
        for repeat in sorted(planned, key=lambda one: int(one["repeat"])):
            place = {"classname": name, "name": f"{cell['topology']}/{repeat['repeat']}"}
            lines = _output(repeat, cell["unit"], last_lines)
            cases.append(_case(place, repeat, lines))
    return _closed(suite, cases)


def _properties(cells: Sequence[MeasuredCell]) -> Dict[str, Any]:
    """Return the known figures of each topology, and the unit of its throughput."""
    figures = {
        f"{cell['topology']} {column.key}": column.get(cell)
        for cell in cells
        for column in columns_of(JUNIT)
    }
    unit = next((cell["unit"] for cell in cells if cell["unit"]), "")
    return {"unit": unit, **{key: value for key, value in figures.items() if value is not None}}


def _not_run(number: int) -> Dict[str, Any]:
    reason = "planned, and not run yet"
    return {"repeat": number, "log": None, "ending": "not_run", "reason": reason}


def _output(
    repeat: Repeat, unit: Optional[str], last_lines: Mapping[str, Sequence[str]]
) -> List[str]:
    throughput = repeat.get("throughput")
    lines = [] if throughput is None else [f"throughput {throughput} {unit}"]
    lines += [
        f"disturbed: {one['node']}: {one['detail']}" for one in repeat.get("disturbances", ())
    ]
    return [*lines, *last_lines.get(repeat["log"] or "", ())]


def _beside(results: Results) -> List[ElementTree.Element]:
    """Return the failed searches and repeats alone, which belong to no cell."""
    known = {repeat["log"] for cell in results["cells"] for repeat in cell["repeats"]}
    return [
        _case({"classname": "beside the cells", "name": _text(one["log"])}, one, ())
        for one in results["failures"]
        if one["log"] not in known
    ]


def _rule(rule: Mapping[str, Any]) -> ElementTree.Element:
    name = " ".join(filter(None, (str(rule["rule"]), str(rule["selector"] or ""))))
    ending = {
        "ending": _RULES.get((rule_verdict(rule), rule["ok"]), "broken_rule"),
        "reason": rule["detail"],
    }
    return _case({"classname": "gate", "name": name}, ending, ())


def _case(place: Dict[str, str], repeat: Repeat, lines: Sequence[str]) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {key: _text(value) for key, value in place.items()})
    if repeat.get("seconds") is not None:
        case.set("time", f"{repeat['seconds']:.3f}")
    ending = repeat["ending"]
    if ending != "ok":
        elements = {entry.name: entry.junit for entry in endings.ENDINGS}
        kind = {**elements, **_OTHERS}.get(ending, "error")
        what = ElementTree.SubElement(case, kind, type=_text(ending))
        # GitLab shows the text of the element, Jenkins its message.
        what.text = _text(repeat["reason"])
        what.set("message", what.text)
    if lines:
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(_text, lines))
    return case


def _closed(
    suite: ElementTree.Element, cases: Sequence[ElementTree.Element]
) -> ElementTree.Element:
    """Add the testcases to a testsuite, and how many there are of each kind."""
    kinds = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    suite.set("tests", str(len(cases)))
    for key, kind in kinds:
        suite.set(key, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")
    suite.extend(cases)
    return suite


def _text(value: Any) -> str:
    return _FORBIDDEN.sub("", plain(value))
