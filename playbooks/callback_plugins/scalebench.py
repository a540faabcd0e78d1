"""Standard output of the playbooks: changes, failures and the progress of a campaign."""

from __future__ import annotations

DOCUMENTATION = r"""
name: scalebench
type: stdout
short_description: Show changes, failures and the progress of a campaign
description:
  - Without C(-v) it prints a line per changed task, the complete message of a failed task, and a
    line per repeat of a campaign. Below, on a terminal, a live line shows the running task, or the
    campaign's progress with elapsed and remaining time.
  - With C(-v) it prints Ansible's default output.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""

import re
import time
from functools import wraps
from pathlib import Path
from types import SimpleNamespace

from ansible import context
from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import (
    printable,
    without_commands,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import duration
from ansible_collections.scalebench.core.plugins.module_utils.records.node_names import (
    by_words,
    folded,
    without_own,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.progress import Progress
from ansible_collections.scalebench.core.plugins.plugin_utils.live import LivePrinter

BAR_WIDTH = 18
# Lines to show of the standard output and error of a failed command.
LAST_LINES = 15
UNREACHABLE = "UNREACHABLE"
# What Ansible puts before the message of a lookup: the variables on its way to it. The messages of
# ours say by themselves which file or option is wrong.
OUR_LOOKUPS = sorted(path.stem for path in Path(__file__).parents[2].glob("lookup_plugins/*.py"))
WAY_TO_LOOKUP = re.compile(
    rf"Task failed: .{{0,2000}}?The lookup plugin '(?:{'|'.join(OUR_LOOKUPS)})' failed: (?=\S)"
)
# Disturbances of a repeat to show; the report has all.
MOST_DISTURBANCES = 4
LEFT_OUT = (
    "--start-at-task and --skip-tags always leave out checks, and the claim of the nodes, that"
    " later tasks rely on: those may fail, or change nodes that others use. For a part of a"
    " playbook give --tags"
)


def unless_verbose(event):
    """Handle an event of Ansible, or leave it to Ansible's default output with -v."""

    @wraps(event)
    def handle(self, *args, **kwargs):
        if self._display.verbosity:
            return getattr(Default, event.__name__)(self, *args, **kwargs)
        return event(self, *args, **kwargs)

    return handle


class CallbackModule(Default):
    """Prints the events of a playbook, Ansible's default output with -v."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "scalebench"

    def __init__(self):
        super().__init__()
        self._began = time.monotonic()
        self._check_mode = False
        self._heading = ""
        self._pattern = ""
        # The hosts of the last play that had none.
        self._unmatched = ""
        self._printer = None
        self._task_name = ""
        self._task_began = self._began
        # By the name of the running task the hosts that it changed, and by what --diff shows those
        # where it shows that.
        self._changed = {}
        self._diffs = {}
        # By what the running task printed the hosts that say it, each by its own name, and by
        # failure the hosts that failed alike; the first of them is printed.
        self._said = {}
        self._alike = {}
        # Whether a campaign was planned, and then its progress.
        self._planned = False
        self._progress = None
        self._wave_began = None
        # Whether --check showed what would be asked for: there are no nodes then.
        self._only_asked = False

    @unless_verbose
    def v2_playbook_on_start(self, playbook):
        given = context.CLIARGS
        if given.get("start_at_task") or "always" in given.get("skip_tags", ()):
            self._display.warning(LEFT_OUT)
        # Ansible has no public access to this lock.
        self._printer = LivePrinter(self._status, self._display._lock)
        # With --step Ansible asks on the line that the status would take.
        if not context.CLIARGS.get("step"):
            self._printer.start()

    @unless_verbose
    def v2_playbook_on_play_start(self, play):
        self._print_gathered()
        self._check_mode = play.check_mode
        self._pattern = ":".join(play.hosts)
        self._heading = play.get_name() + (" (check mode)" if self._check_mode else "")

    @unless_verbose
    def v2_playbook_on_no_hosts_matched(self):
        # A cluster has no local nodes, and with those there are no servers.
        if self._pattern == "nodes" and not self._only_asked:
            self._print("no host of group nodes in the inventory, or none with --limit", "red")
        self._unmatched = self._pattern

    @unless_verbose
    def v2_playbook_on_task_start(self, task, is_conditional):
        self._print_gathered()
        self._task_name = task.get_name()
        self._task_began = time.monotonic()

    @unless_verbose
    def v2_playbook_on_handler_task_start(self, task):
        self.v2_playbook_on_task_start(task, False)

    @unless_verbose
    def v2_runner_on_ok(self, result):
        action, answer = result.task.action.rpartition(".")[2], result.result
        if action == "campaign_plan" and "missing" in answer:
            self._print_plan(answer)
        elif "allocation" in answer:
            self._only_asked = answer["allocation"].get("only_asked", False)
            self._print_once(answer["allocation"].get("says", ""), result.host)
        elif action == "repeat_record":
            # ANSIBLE_NO_LOG leaves nothing of an answer.
            if "records" in answer:
                self._print_records(answer["records"])
        elif action == "debug":
            text = str(answer.get("msg", answer.get(result.task.args.get("var"), "")))
            self._print_once(text, result.host)
        elif answer.get("changed") and action not in ("training_runs", "include_tasks"):
            # What runs once is not of the first node alone.
            host = "localhost" if result.task.run_once else result.host.get_name()
            self._changed.setdefault(result.task.get_name(), []).append(host)

    @unless_verbose
    def v2_on_file_diff(self, result):
        # The items of a loop come one by one.
        found = result.result.get("diff") if result.result.get("changed") else None
        found = found if isinstance(found, list) else [found]
        text = self._get_diff([_clean_difference(one) for one in found if one])
        if text:
            shown_here = self._diffs.setdefault(result.task.get_name(), {})
            shown_here.setdefault(text.rstrip("\n"), []).append(result.host.get_name())

    @unless_verbose
    def v2_runner_on_failed(self, result, ignore_errors=False):
        # With --check a refusal is ignored, so that the rest is shown.
        if ignore_errors and result.task.action.rpartition(".")[2] in ("assert", "node_claim"):
            self._print_failure("WOULD FAIL", result)
        # Of a loop the items were printed.
        elif not (ignore_errors or (result.task.loop and "results" in result.result)):
            self._print_failed(result)

    @unless_verbose
    def v2_runner_on_unreachable(self, result):
        if not result.task.ignore_unreachable:
            self._print_failure(UNREACHABLE, result)

    @unless_verbose
    def v2_runner_on_skipped(self, result):
        pass

    @unless_verbose
    def v2_runner_item_on_ok(self, result):
        pass

    @unless_verbose
    def v2_runner_item_on_skipped(self, result):
        pass

    @unless_verbose
    def v2_runner_item_on_failed(self, result):
        if not result.task_fields.get("ignore_errors"):
            self._print_failed(result)

    @unless_verbose
    def v2_playbook_on_include(self, included_file):
        pass

    @unless_verbose
    def v2_playbook_on_stats(self, stats):
        self._print_gathered()
        # Of a play in which nothing ran.
        self._heading = self._task_name = ""
        self._printer.stop()
        # That the controller did five tasks tells nobody anything.
        on_nodes = {*stats.processed} - {"localhost"}
        failed = stats.failures or stats.dark
        if not stats.processed and self._pattern == self._unmatched == "localhost":
            words = "leaves out localhost, on which this playbook runs. Run it without --limit"
            self._print(f"Nothing was done: --limit {context.CLIARGS.get('subset')} {words}", "red")
        if on_nodes and (failed or not self._planned):
            super().v2_playbook_on_stats(_folded_stats(stats))
        if failed:
            self._print("Run the same command with -v for Ansible's full output.")

    def _status(self):
        """Return the live line; it is empty between tasks."""
        now = time.monotonic()
        progress = self._progress
        if progress is None or not progress.current:
            if not self._task_name:
                return ""
            return f"  running: {self._task_name} ({duration(now - self._task_began)})"
        filled = BAR_WIDTH * progress.done // progress.total
        last = f", last {progress.last}" if progress.last else ""
        # A narrow terminal cuts off the end.
        return (
            f"  {progress.done}/{progress.total} {'━' * filled}{'─' * (BAR_WIDTH - filled)}"
            f" {duration(now - self._began)} elapsed, {progress.left(now - self._wave_began)}"
            f"{last}, running {progress.current}"
        )

    def _print(self, text, style=""):
        """Print below the name of the play, which is printed before its first line only."""
        if self._heading:
            self._write(self._heading, "bold")
            self._heading = ""
        self._write(text, style)

    def _write(self, text, style):
        """Print, and log where log_path of Ansible is set."""
        self._printer.print(text, style)
        self._display.display(text, log_only=True)

    def _print_once(self, text, host):
        """Print what several hosts of a task say alike, their own names aside, for the first."""
        alike = without_own(text, _names(host))
        hosts = self._said.setdefault(alike, [])
        if text and not hosts:
            self._print(_clean(text))
        # Of what has nothing of a host's own one is enough.
        if alike != text or not hosts:
            hosts.append(host.get_name())

    def _print_gathered(self):
        """Print where else the last task said the same or failed alike, and what it changed."""
        for hosts in self._said.values():
            if len(hosts) > 1:
                self._print(f"  likewise: {folded(hosts[1:])}")
        lines = {}
        for word, task, hosts in self._alike.values():
            others = {*hosts} - {hosts[0]}
            if others:
                lines[f"{word} {folded(others)}: {task}, with the message of {hosts[0]}"] = True
        for line in lines:
            self._print(line, "red")
        self._said, self._alike = {}, {}
        verb = "would change" if self._check_mode else "changed"
        # The report describes what a campaign wrote.
        changed = {} if self._planned else self._changed
        for name, hosts in changed.items():
            where = f" ({folded(hosts)})" if {*hosts} != {"localhost"} else ""
            self._print(f"  {verb}: {name}{where}", "yellow")
            diffs = self._diffs.get(name, {})
            for text, some in diffs.items():
                if len(diffs) > 1:
                    self._print(f"  {folded(some)}:")
                self._print(text)
        self._changed, self._diffs = {}, {}

    def _print_failed(self, result):
        if not _is_rescued(result.task):
            self._print_failure("FAILED", result)

    def _print_failure(self, word, result):
        """Print host, task, message and the last lines of the output of a failed task.

        Hosts with the same message, their own name and address aside, follow in one line.
        """
        answer, host = result.result, result.host.get_name()
        item = self._get_item_label(answer) if "_ansible_item_label" in answer else None
        task = result.task.get_name() if item is None else f"{result.task.get_name()} ({item})"
        task = _clean(task)
        message = _clean(answer.get("msg") or answer.get("censored", ""))
        message = WAY_TO_LOOKUP.sub("", message, count=1)
        lines = ["  " + line for line in message.splitlines()]
        if "sudo password" in message:
            lines.append("  give sudo's password: -K (--ask-become-pass)")
        for stream in ("stdout", "stderr"):
            output = _clean(answer.get(stream) or answer.get(f"module_{stream}") or "").splitlines()
            if output:
                lines += [f"  {stream}:", *("    " + line for line in output[-LAST_LINES:])]
        alike = without_own("\n".join([word, task, *lines]), _names(result.host))
        *_, hosts = self._alike.setdefault(alike, (word, task, []))
        hosts.append(host)
        if len(hosts) == 1:
            # What runs once for all nodes is no fault of the first one.
            of_all = (
                result.task.run_once
                and word != UNREACHABLE
                and not result.task.action.endswith("node_claim")
            )
            where = "" if of_all else f" {host}:"
            self._print("\n".join([f"{word}{where} {task}", *lines]), "red")

    def _print_plan(self, plan):
        """Print how much of a campaign is to run; later in the campaign, what was added and why."""
        first = not self._planned
        self._planned = True
        if self._check_mode:
            return
        for repeat in plan["not_run"]:
            line = f"  {repeat['log']}: {repeat['ending']}: {repeat['reason']}"
            self._print(_in_one_line(line), "yellow")
        for remark in plan["remarks"]:
            self._print(f"  {_clean(remark)}")
        self._wave_began = time.monotonic()
        if first:
            self._progress = Progress(plan["campaign"])
        self._progress.add(plan["waves"])
        if first:
            self._print(f"Campaign {plan['campaign']}: {self._outstanding(plan)}")
            return
        for repeat in (repeat for wave in plan["waves"] for repeat in wave["repeats"]):
            if repeat["why"]:
                self._print(_in_one_line(f"  run again: {repeat['log'][5:-4]}: {repeat['why']}"))

    def _outstanding(self, plan):
        if plan["missing"]:
            return (
                f"{plan['missing']} of {plan['repeats']} repeats to run, {self._progress.left(0)}"
                f"\n  (to continue it after an interruption: -e campaign={plan['campaign']})"
            )
        if plan["not_run"]:
            return "nothing is left to run"
        return f"all {plan['repeats']} repeats are done"

    def _print_records(self, records):
        """Print a line for each repeat of a wave that has ended, and what disturbed it."""
        now = time.monotonic()
        lines = self._progress.end(records, now - self._wave_began)
        self._wave_began = now
        for record, line in zip(records, lines, strict=True):
            self._print(_in_one_line(line), "" if record["ending"] == "ok" else "red")
            causes = by_words((one["node"], one["detail"]) for one in record["disturbances"])
            more = len(causes) - MOST_DISTURBANCES
            causes[MOST_DISTURBANCES:] = [f"{more} more are in the report"] if more > 0 else []
            for cause in causes:
                self._print(_in_one_line(f"           disturbed: {cause}"), "yellow")


def _clean(text):
    """Return what a node said without secrets and what would reach the terminal as a command."""
    return shown("\n".join(printable(line.expandtabs()) for line in str(text).splitlines()))


def _in_one_line(text):
    """Return what :func:`_clean` does, in one line: a node may say what looks like another one."""
    return shown(printable(text))


def _clean_difference(difference):
    """Return a difference of --diff without secrets and what would be a command to a terminal."""
    if not isinstance(difference, dict):
        return difference
    clean = {
        key: _clean_lines(value) if isinstance(value, str) else shown(value)
        for key, value in difference.items()
    }
    sides = [[one.get(side) for side in ("before", "after")] for one in (difference, clean)]
    if sides[0][0] != sides[0][1] and sides[1][0] == sides[1][1]:
        clean["after"] = f"{clean['after']}(differs in secrets, which are not shown)\n"
    return clean


def _clean_lines(text):
    return "\n".join(without_commands(line, "\ufffd") for line in shown(text).split("\n"))


def _names(host):
    """Return the name of a host, and that which is dialled."""
    name = host.get_name()
    return [name, str(host.get_vars().get("ansible_host", name))]


def _is_rescued(task):
    """Return whether a block around a task has a ``rescue`` for it."""
    child, block = task, task._parent
    while block is not None:
        tried = {one._uuid for one in getattr(block, "block", None) or ()}
        if child._uuid in tried and block.rescue:
            return True
        child, block = block, block._parent
    return False


def _folded_stats(stats):
    """Return the counts of a run of playbooks by hosts that have the same."""
    names = {}
    for host in stats.processed:
        names.setdefault(tuple(stats.summarize(host).items()), []).append(host)
    counts = {folded(hosts): dict(same) for same, hosts in names.items()}
    return SimpleNamespace(processed=counts, summarize=counts.get, custom=stats.custom)
