"""Checks the options of a campaign, plans it and lists the repeats that are still to run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

from ansible import context
from ansible_collections.scalebench.core.plugins.module_utils.node.machine import digest
from ansible_collections.scalebench.core.plugins.module_utils.planning import (
    plan,
    plan_changes,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.carried import (
    check_carried,
    minutes_needed,
    offered_cells,
    too_long,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import (
    OPTIONS,
    parse_options,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.plan_text import plan_text
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
    declaring,
    frameworks,
    unused_factors,
    workloads,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.schedule import (
    build_waves,
    device_bound,
    lower_bound,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning.seating import device_ids
from ansible_collections.scalebench.core.plugins.module_utils.records.cells import (
    check_campaign_name,
)
from ansible_collections.scalebench.core.plugins.module_utils.running import search
from ansible_collections.scalebench.core.plugins.module_utils.running.outstanding import (
    Ledger,
    outstanding,
)
from ansible_collections.scalebench.core.plugins.module_utils.running.policy import policy
from ansible_collections.scalebench.core.plugins.module_utils.running.record import not_run
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files as files
from ansible_collections.scalebench.core.plugins.plugin_utils.acceptances import (
    check_stated,
    keep,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.controller_action import (
    ControllerAction,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import (
    check_same_on_nodes,
    given_options,
    misspelt,
    with_given_variants,
    with_sources,
)


class ActionModule(ControllerAction):
    """Implements module campaign_plan."""

    ARGUMENTS: ClassVar = {
        "variables": {"type": "dict", "required": True},
        "known": {"type": "list", "elements": "str", "default": []},
        "benchmarks_dir": {"type": "path", "required": True},
        "workload_sources": {"type": "list", "elements": "path", "default": []},
        "results_dir": {"type": "path", "required": True},
        "campaign": {"type": "str", "default": ""},
        "session": {"type": "str", "default": ""},
        "retry": {"type": "dict", "default": {}},
        "requeue": {"type": "int", "default": 0},
        "accept_changes": {"type": "bool", "default": False},
        "memory_mib": {"type": "dict", "default": {}},
        "free_mib": {"type": "int", "default": 0},
        "nodes": {"type": "dict"},
        "carrier": {"type": "str", "default": "ssh"},
        "srun": {"type": "dict", "default": {}},
        "offered": {"type": "list", "elements": "dict", "default": []},
        "cpu_processes": {"type": "int", "default": 1},
        "lost": {"type": "dict", "default": {}},
        "hosts": {"type": "dict", "default": {}},
        "seconds_left": {"type": "int", "default": 0},
        "acceptance": {"type": "dict", "default": {}},
    }

    def answer(self, args):
        """Return the frameworks of the benchmarks, and with nodes the plan and what is to run."""
        self._of_variables, self._declared = [], {}
        try:
            return self._answer(args)
        except ValueError as error:
            raise ValueError(with_sources(str(error), self._of_variables, self._declared)) from None

    def _answer(self, args):
        benchmarks = files.load_benchmarks(Path(args["benchmarks_dir"]))
        given = self._given(args, benchmarks)
        campaign = args["campaign"] or time.strftime("%Y%m%d-%H%M%S")
        check_campaign_name(campaign)
        folder = Path(args["results_dir"]) / campaign
        files.check_room(folder, args["free_mib"])
        kept = files.kept_plan(folder)
        # A campaign that is continued without options of -e keeps those that it was planned with.
        without_options = kept and len(given) == len(self._of_variables)
        options = kept["options"] if without_options else given
        benchmarks = with_given_variants(benchmarks, options, kept if without_options else {})
        checked = {
            "campaign": campaign,
            "frameworks": frameworks(benchmarks, options),
            "workloads": {
                path: {
                    "named_by": f"{args['benchmarks_dir']}/{place}",
                    "copied": _is_copied(path, args["workload_sources"]),
                }
                for path, place in workloads(benchmarks, options).items()
            },
        }
        packing = policy(options, args)["packing"]
        if args["nodes"] is None:
            return {
                **checked,
                "changed": False,
                "minutes": _minutes(benchmarks, options, folder, args),
            }
        args["nodes"] = plan_changes.with_absent(args["nodes"], kept)
        planned = plan.build(benchmarks, options, args["nodes"], kept, campaign)
        planned["carrier"] = args["carrier"]
        other = _other_trainers(planned, args["workload_sources"])
        if other:
            planned["other_trainers"] = other
        if plan_changes.replaced(args["hosts"]):
            planned["hosts"] = args["hosts"]
        plan.check_forks(planned["cells"], args["nodes"], packing, context.CLIARGS["forks"])
        search.check_memory(planned["cells"], args["memory_mib"], packing)
        check_carried(planned["cells"], args["carrier"], args["srun"])
        check_stated(campaign, args["acceptance"], planned)
        if kept:
            replaced = plan_changes.replaced(args["hosts"], kept.get("hosts", {}))
            plan_changes.check_same(campaign, kept, planned, self._of_variables, replaced)
        elif not self._task.check_mode:
            files.hold(folder, campaign)
            files.write(folder, campaign, planned)
        promised = keep(folder, args["acceptance"], self._task.check_mode)
        answer = {
            **checked,
            "directory": str(folder),
            "changed": not kept or promised,
            "cells": planned["cells"],
            "nodes": planned["nodes"],
            **self._missing(folder, campaign, kept, planned, benchmarks, args),
        }
        return {**answer, "text": plan_text(answer)}

    def _given(self, args, benchmarks):
        """Return the options, typed; refuse a misspelt one and one that differs between nodes."""
        own = declared_factors(benchmarks)
        self._declared = declaring(benchmarks)
        names = [*OPTIONS, *(factor.name for factor in own)]
        extra = args["variables"]
        of_role = [f"campaign_{name}" for name in names]
        wrong = misspelt(extra, [*args["known"], *names, *of_role])
        if wrong:
            raise ValueError(" ".join(wrong))
        variables = self._templar.available_variables
        given, of_variables = given_options(extra, variables, names, self._templar.template)
        self._of_variables = of_variables
        choosing = {name: given[name] for name in ("benchmark", "recipe") if name in given}
        unused = unused_factors(benchmarks, parse_options(choosing))
        given = {
            name: value
            for name, value in given.items()
            if name not in unused or name not in of_variables
        }
        self._of_variables = [name for name in of_variables if name in given]
        if args["nodes"] is None:
            hosts = {name: variables["hostvars"][name] for name in variables["ansible_play_hosts"]}
            by_variable = [
                name
                for name in names
                if name in self._of_variables or not (name in given or name in unused)
            ]
            check_same_on_nodes(hosts, by_variable, self._declared)
        return parse_options(given, own=own)

    def _missing(self, folder, campaign, kept, planned, benchmarks, args):
        """Return the repeats to run, in waves; set the files of their earlier attempts aside."""
        damaged: files.Problems = []
        records = files.records(folder, damaged)
        ledger = Ledger(campaign, records, files.attempts(folder, damaged), args["session"])
        lost = {name: {"lost": why} for name, why in args["lost"].items()}
        nodes = {name: {**node, **lost.get(name, {})} for name, node in args["nodes"].items()}
        there = {name: node for name, node in nodes.items() if not node.get("lost")}
        cells = plan.with_unavailable(planned["cells"], nodes)
        rules = policy(planned["options"], args)
        left = outstanding(cells, ledger, rules, planned.get("seed", ""))
        # A complete campaign stays as it is.
        if kept and (left["repeats"] or left["given_up"]) and not self._task.check_mode:
            files.hold(folder, campaign)
        if left["repeats"]:
            accept = args["accept_changes"]
            changes = plan_changes.check_software(campaign, kept, planned, accept) if kept else []
            if not args["session"]:
                before = kept.get("hosts", {}) if kept else None
                changes += plan_changes.replaced(args["hosts"], before).values()
            if changes and not self._task.check_mode:
                files.note_changes(folder, kept or files.kept_plan(folder), planned, changes)
        session = args["session"] or files.now()
        if not self._task.check_mode:
            _set_aside(folder, records, [*left["repeats"], *left["given_up"]])
            _record_given_up(folder, campaign, session, left["given_up"])
        times = files.earlier(folder.parent)
        timed = [
            {
                **repeat,
                "attempt": ledger.attempt(repeat["log"]),
                "seconds": plan.estimate(repeat, times),
            }
            for repeat in left["repeats"]
        ]
        made = build_waves(timed, rules["packing"], benchmarks, there)
        # A bisection plans as it goes.
        known = len(plan.repeats(planned["cells"])) or len({*records, *(r["log"] for r in timed)})
        seconds = sum(wave["seconds"] for wave in made)
        remarks = [*("{path}: {reason}".format(**one) for one in damaged), *left["remarks"]]
        other = planned.get("other_trainers", [])
        if other and left["repeats"] and not args["session"]:
            remarks.append(
                f"trainers on the nodes are not those of this checkout ({', '.join(other[:3])}"
                f"{', …' if len(other) > 3 else ''}), which ansible-playbook"
                " playbooks/provision.yml --tags workload copies"
            )
        # Once, for the whole of it: in later rounds less time is left.
        remarks += [] if args["session"] else too_long(campaign, seconds, args["seconds_left"])
        return {
            # Elsewhere a step of the repeat starts its own.
            "containers": plan.containers(cells) if args["carrier"] == "ssh" else [],
            "session": session,
            "repeats": known,
            "missing": len(timed),
            "not_run": [
                {key: repeat[key] for key in ("log", "ending", "reason")}
                for repeat in left["given_up"]
            ],
            "remarks": remarks,
            "packing": rules["packing"],
            "duration": rules["duration"],
            "waves": made,
            "seconds": seconds,
            "lower_bound": _bound(timed, there, rules["packing"]),
            "measured": sum(plan.timing_key(repeat["cell"]) in times for repeat in timed),
        }


def _other_trainers(planned, sources):
    """Return the trainers on the nodes that are not those of role workload's folders.

    A folder of one's own may hold much else, as data sets.
    """
    on_nodes = planned.get("workload", {})
    copied = {
        path: digest(_as_copied(Path(source, path)))
        for source in sources
        for path in on_nodes
        if _is_copied(path, [source])
    }
    return plan_changes.other_trainers(copied, on_nodes)


def _as_copied(path):
    """Return a text as module text_tree writes it, whatever ends its lines here."""
    return path.read_text("utf-8", "surrogateescape").encode("utf-8", "surrogateescape")


def _is_copied(path, sources):
    """Return whether role workload copies a trainer from one of its folders."""
    return path.endswith(".py") and any(Path(source, path).is_file() for source in sources)


def _minutes(benchmarks, options, folder, args):
    """Return the time limit in minutes for a carrier's nodes; refuse what it cannot start on them.

    None where the time is not known, or no nodes are offered.
    """
    cells = offered_cells(benchmarks, options, args["offered"], args["cpu_processes"])
    check_carried(cells, args["carrier"], args["srun"])
    recorded = files.records(folder) if cells else {}
    done = {log for log, record in recorded.items() if record["ending"] == "ok"}
    times = files.earlier(folder.parent) if cells else {}
    return minutes_needed(cells, options, times, done)


def _set_aside(folder, records, repeats):
    """Rename what earlier attempts of the repeats left."""
    for repeat in repeats:
        if repeat["log"] in records:
            files.set_aside(folder, records[repeat["log"]])
        else:
            files.set_aside_unrecorded(folder, repeat["log"])


def _record_given_up(folder, campaign, session, repeats):
    """Write a run record for repeats that will not run."""
    known = {"campaign": campaign, "session": session, "recorded": files.now()}
    for repeat in repeats:
        record = not_run(known, repeat, repeat["ending"], repeat["reason"])
        files.write_record(folder, record)


def _bound(repeats, nodes, packing):
    """Return a lower bound in seconds of any schedule of the repeats with this packing."""
    if not nodes:  # All were lost, so that no repeat is left to run.
        return 0.0
    if packing == "devices":
        return device_bound(repeats, {name: device_ids(name, nodes[name]) for name in nodes})
    return lower_bound(repeats, len(nodes))
