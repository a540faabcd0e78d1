"""Standard output of the playbooks: what changed, what failed, and how far a campaign is."""

from __future__ import annotations

DOCUMENTATION = r"""
name: scalebench
type: stdout
short_description: What changed, what failed, and how far a campaign is
description:
  - Without C(-v) it prints a line for what changed, whole messages for what failed, and a line for
    every repeat of a campaign; on a terminal a live line below tells the task in hand, or the
    campaign's progress with elapsed and remaining time.
  - With C(-v) it is Ansible's own output.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""

import time

from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import duration
from ansible_collections.scalebench.core.plugins.module_utils.running.progress import Progress
from ansible_collections.scalebench.core.plugins.plugin_utils.live import LivePrinter

BAR = 18
LAST_LINES = 15


class CallbackModule(Default):
    """Ansible's own output when it is asked for, ours else."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "scalebench"

    def __init__(self):
        super().__init__()
        self._began = time.monotonic()
        self._task_name = ""
        self._task_began = self._began
        self._changed = {}
        self._planned = False
        self._progress = None
        self._wave_began = None
        self._failed = False
        self._check = False
        self._printer = None
        self._heading = ""

    # What the live line says.

    def _status(self):
        now = time.monotonic()
        progress = self._progress
        if progress is None or not progress.current:
            if not self._task_name:
                return ""
            return f"  … {self._task_name} ({duration(now - self._task_began)})"
        filled = BAR * progress.done // progress.total
        last = f"  last {progress.last}" if progress.last else ""
        # What may be cut off on a narrow terminal comes last.
        return (
            f"  {progress.done}/{progress.total} {'━' * filled}{'─' * (BAR - filled)}"
            f" {duration(now - self._began)} elapsed, {progress.left(now - self._wave_began)}"
            f"{last}  {progress.current}"
        )

    def _print(self, text, style=""):
        """Print below the play's name; a play that has nothing to say is not named."""
        if self._heading:
            self._printer.print(self._heading, "bold")
            self._heading = ""
        self._printer.print(text, style)

    # Ansible's events.

    def v2_playbook_on_start(self, playbook):
        if self._display.verbosity:
            super().v2_playbook_on_start(playbook)
            return
        # Ansible has no public name for it.
        self._printer = LivePrinter(self._status, self._display._lock)
        self._printer.start()

    def v2_playbook_on_play_start(self, play):
        if self._display.verbosity:
            super().v2_playbook_on_play_start(play)
            return
        self._flush()
        self._check = play.check_mode
        self._heading = play.get_name() + (" (check mode)" if self._check else "")

    def v2_playbook_on_task_start(self, task, is_conditional):
        if self._display.verbosity:
            super().v2_playbook_on_task_start(task, is_conditional)
            return
        self._flush()
        self._task_name = task.get_name()
        self._task_began = time.monotonic()

    def v2_playbook_on_handler_task_start(self, task):
        self.v2_playbook_on_task_start(task, False)

    def v2_runner_on_ok(self, result):
        if self._display.verbosity:
            super().v2_runner_on_ok(result)
            return
        action, answer = result.task.action.rpartition(".")[2], result.result
        if action == "campaign_plan" and "missing" in answer:
            self._plan(answer)
        elif action == "repeat_record":
            now = time.monotonic()
            lines = self._progress.end(answer["records"], now - self._wave_began)
            self._wave_began = now
            for ended, line in zip(answer["records"], lines, strict=True):
                self._print(line, "" if ended["ending"] == "ok" else "red")
                for one in ended["disturbances"]:
                    text = f"           disturbed: {one['node']}: {one['detail']}"
                    self._print(text, "yellow")
        elif action == "debug":
            self._print(str(answer.get("msg", "")))
        elif answer.get("changed") and action not in ("training_runs", "include_tasks"):
            self._changed.setdefault(result.task.get_name(), []).append(result.host.get_name())

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if self._display.verbosity:
            super().v2_runner_on_failed(result, ignore_errors)
        elif not ignore_errors:
            self._tell("FAILED", result)

    def v2_runner_on_unreachable(self, result):
        if self._display.verbosity:
            super().v2_runner_on_unreachable(result)
        elif not result.task.ignore_unreachable:
            self._tell("UNREACHABLE", result)

    def v2_runner_on_skipped(self, result):
        if self._display.verbosity:
            super().v2_runner_on_skipped(result)

    def v2_runner_item_on_ok(self, result):
        if self._display.verbosity:
            super().v2_runner_item_on_ok(result)

    def v2_runner_item_on_skipped(self, result):
        if self._display.verbosity:
            super().v2_runner_item_on_skipped(result)

    def v2_runner_item_on_failed(self, result):
        if self._display.verbosity:
            super().v2_runner_item_on_failed(result)
        else:
            self._tell("FAILED", result)

    def v2_playbook_on_include(self, included_file):
        if self._display.verbosity:
            super().v2_playbook_on_include(included_file)

    def v2_playbook_on_stats(self, stats):
        if self._display.verbosity:
            super().v2_playbook_on_stats(stats)
            return
        self._flush()
        self._task_name = ""
        self._printer.stop()
        if self._failed or not self._planned:
            super().v2_playbook_on_stats(stats)
        if self._failed:
            self._print("Ansible's own output: the same command with -v.")

    # Our lines.

    def _plan(self, planned):
        again = self._planned
        self._planned = True
        if self._check:
            return
        for repeat in planned["not_run"]:
            text = f"{repeat['log']}: {repeat['ending']}: {repeat['reason']}"
            self._print(f"  {text}", "yellow")
        for remark in planned["remarks"]:
            self._print(f"  {remark}")
        self._wave_began = time.monotonic()
        if again:
            self._again(planned)
            return
        self._progress = Progress(planned["campaign"])
        if not planned["missing"]:
            done = f"all {planned['repeats']} repeats are done"
            if planned["not_run"]:
                done = "nothing is left to run"
            self._print(f"Campaign {planned['campaign']}: {done}")
        else:
            self._progress.add(planned["waves"])
            self._print(
                f"Campaign {planned['campaign']}: {planned['missing']} of {planned['repeats']}"
                f" repeats to run, {self._progress.left(0)}"
                f"\n  (to go on after an interruption: -e campaign={planned['campaign']})"
            )

    def _again(self, planned):
        """Tell what a later round adds, and why."""
        self._progress.add(planned["waves"])
        for wave in planned["waves"]:
            for repeat in wave["repeats"]:
                if repeat["why"]:
                    self._print(f"  again: {repeat['log'][5:-4]}: {repeat['why']}")

    def _flush(self):
        """Print what the last task changed, its hosts on one line."""
        word = "would change" if self._check else "changed"
        # What a campaign leaves is told at its end.
        changed = {} if self._planned else self._changed
        for name, hosts in changed.items():
            self._print(f"  {word}: {name} ({', '.join(sorted(set(hosts)))})", "yellow")
        self._changed = {}

    def _tell(self, word, result):
        """Print a failure: host, task, message, the last lines of what a command said."""
        self._failed = True
        answer = result.result
        lines = [f"{word} {result.host.get_name()}: {result.task.get_name()}"]
        lines += ["  " + line for line in str(answer.get("msg", "")).splitlines()]
        for stream in ("stdout", "stderr"):
            said = str(answer.get(stream) or answer.get(f"module_{stream}") or "").splitlines()
            if said:
                lines += [f"  {stream}:", *("    " + line for line in said[-LAST_LINES:])]
        self._print("\n".join(lines), "red")
