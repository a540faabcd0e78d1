"""Booleans are booleans whichever way they come: as YAML, as a word of an inventory, by -e.

Ansible validates the arguments of a role and does not convert them: `-e x=false` stays the word
"false", which is true for Jinja, and `x: true` in an inventory is not the word "true".
"""

from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import parse_kv
from ansible.template import Templar, trust_as_template
from ansible_collections.scalebench.core.plugins.module_utils.planning.variable_types import (
    unfit_variables,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import declared_types
from jinja2 import Environment, nodes

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = {"when", "that", "changed_when", "failed_when", "until"}
WORDS = {True: ["true", "True", "yes"], False: ["false", "False", "no"]}
# What is not in the role: facts of a node, and results of earlier tasks.
CONTEXT = {
    "ansible_check_mode": False,
    "ansible_play_hosts": ["node1", "node2"],
    "ansible_play_hosts_all": ["node1", "node2"],
    "inventory_hostname": "node2",
    "scalebench_state_dir": "/state",
    "scalebench_work_dir": "/work",
    "scalebench_gate": {"failures": ["one"]},
    "hardware_pci": {"devices": []},
    "stack_hardware": {"hcas": ["mlx5_0"]},
    "nvidia_driver_record": {"version": "580.1", "source": "repository"},
    "mlnx_ofed_release": {"source": "distribution"},
    "python_bootstrap_archive": {},
    "__container_engine_old": {"log-driver": "journald"},
    "__container_engine_needs": {},
    "__container_engine_there": "28.2.2",
    "__container_engine_work": {"containers": ["one"]},
    "__cuda_found": {"programs": {"/usr/local/cuda/bin/nvcc": {"lines": ["release 12.4, V1"]}}},
    "cuda_record": {"version": "12.9.1", "source": "repository"},
    "nccl_record": {"version": "2.28.9", "source": "repository"},
    "__nccl_found": {"version": "2.21.5"},
    "__nvidia_driver_found": {
        "driver_installed": "550.1",
        "driver_loaded": "550.1",
        "driver_runfile": True,
    },
    "__nvidia_driver_work": {"gpu_users": []},
    "__nvidia_packages_simulation": {"stdout": "Remv docker-ce\nInst linux-image-6.9 (1)\n"},
    "nvidia_packages_purpose": "cuda",
    "__mlnx_ofed_work": {"gpu_users": [], "containers": []},
    "__mlnx_ofed_installed": "24.07",
    "__mlnx_ofed_loaded": {"stale": ["ib_core"]},
    "__nvidia_driver_stale": ["another driver"],
    "__host_baseline_packages": ["procps"],
    "__cluster_ssh_best_kex": ["one"],
    "__cluster_ssh_older_kex": ["older"],
    "__python_bootstrap_system": "3.6",
    "__verify_shown": ["one"],
    "item": "one",
}


def options():
    """Return (role, name, argument) of every option that says yes or no, also beside others."""
    found = {}
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml")):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            for name, argument in (entry.get("options") or {}).items():
                if argument["type"] == "bool" or "true" in argument.get("choices", []):
                    found[name] = (path.parts[-3], name, argument)
    return list(found.values())


OPTIONS = options()
NAMED = {name: argument["type"] for _, name, argument in OPTIONS}


def strings(value, key=""):
    """Return (key, text) of every text in a YAML value, with the key it stands under."""
    if isinstance(value, dict):
        return [pair for name, part in value.items() for pair in strings(part, name)]
    if isinstance(value, list):
        return [pair for part in value for pair in strings(part, key)]
    return [(key, value)] if isinstance(value, str) else []


def expressions():
    """Return (path, text, whether it is a condition) of all that Ansible evaluates."""
    found = []
    for folder in ("roles", "playbooks", "inventory"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".j2":
                # By lines: no option that says yes or no stands in a block of several.
                found += [
                    (path, line, False) for line in path.read_text().splitlines() if "{{" in line
                ]
            elif path.suffix == ".yml" and "meta" not in path.parts:
                for key, text in strings(yaml.safe_load(path.read_text())):
                    condition = key in CONDITIONS and "{{" not in text
                    if condition or "{{" in text or "{%" in text:
                        found.append((path, text, condition))
    return found


EXPRESSIONS = expressions()


def parsed(text, condition):
    """Return the tree of an expression or a template."""
    return Environment().parse("{{ " + text + " }}" if condition else text)


def unconverted(tree):
    """Return the names of options and defaults that are used as they come."""
    converted = set()
    for filtered in tree.find_all(nodes.Filter):
        inner = filtered.node
        if filtered.name == "bool":
            if isinstance(inner, nodes.Filter) and inner.name in {"default", "d"}:
                converted.add(id(inner))
                inner = inner.node
            converted.add(id(inner))
        elif filtered.name == "lower" and isinstance(inner, nodes.Filter):
            of_words = isinstance(inner.node, nodes.Name) and NAMED.get(inner.node.name) == "str"
            converted |= {id(inner.node)} if inner.name == "string" and of_words else set()
    names = [
        name.name
        for name in tree.find_all(nodes.Name)
        if name.ctx == "load" and name.name in NAMED and id(name) not in converted
    ]
    defaults = [
        f"default({filtered.args[0].value})"
        for filtered in tree.find_all(nodes.Filter)
        if filtered.name in {"default", "d"}
        and filtered.args
        and isinstance(filtered.args[0], nodes.Const)
        and isinstance(filtered.args[0].value, bool)
        and id(filtered) not in converted
    ]
    return names + defaults


def test_every_use_converts_the_option():
    """`| bool`; `| string | lower` where other words are allowed too."""
    assert len(OPTIONS) > 25
    assert len(EXPRESSIONS) > 500
    wrong = [
        f"{path.relative_to(ROOT)}: {', '.join(names)}: {' '.join(text.split())[:100]}"
        for path, text, condition in EXPRESSIONS
        if (names := unconverted(parsed(text, condition)))
    ]
    assert wrong == []


def test_a_switch_of_a_playbook_takes_the_words_of_the_roles_switches():
    """What filter bool does not know, as `y`, it takes for false: the types refuse it before."""
    converted = {
        name.name
        for path, text, condition in EXPRESSIONS
        if "playbooks" in path.parts
        for filtered in parsed(text, condition).find_all(nodes.Filter)
        if filtered.name == "bool"
        for name in filtered.find_all(nodes.Name)
    }
    types = declared_types()
    # A fact of the allocation; what a callback gives; what cleanup.yml alone has checked.
    assert converted - types.keys() == {"hostvars", "release_become", "results"}
    assert {types[name] for name in converted & types.keys()} == {"bool"}


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        *((word, True) for words in WORDS.values() for word in words),
        *((True, True), (False, True), ("on", True), ("1", True), (0, True)),
        *(("y", False), ("/data/results", False), ("", False)),
    ],
)
def test_cleanup_refuses_results_that_is_neither_true_nor_false(given, fits):
    plays = yaml.safe_load((ROOT / "playbooks/cleanup.yml").read_text())
    (role,) = next(play for play in plays if play["name"] == "Check the options")["roles"]
    types = declared_types(role["extra_variables_known"])
    said = unfit_variables({"node1": {"scalebench_work_dir": "/work", "results": given}}, types)
    assert said == ([] if fits else ["node1: results is neither true nor false: give one of them"])


def words_of(argument, meaning):
    """Return the words for it; beside other choices Ansible knows no `yes` and `no`."""
    return WORDS[meaning] if argument["type"] == "bool" else WORDS[meaning][:2]


def role_variables(role):
    folder = ROOT / "roles" / role
    loaded = {}
    for name in ("defaults/main.yml", "vars/main.yml"):
        path = folder / name
        loaded.update(yaml.safe_load(path.read_text()) or {} if path.exists() else {})
    return {key: trusted(value) for key, value in loaded.items()}


def trusted(value):
    """Return a value whose texts Ansible evaluates, as those of a role's files."""
    if isinstance(value, dict):
        return {key: trusted(part) for key, part in value.items()}
    if isinstance(value, list):
        return [trusted(part) for part in value]
    return trust_as_template(value) if isinstance(value, str) else value


def outcome(text, condition, variables):
    """Return what Ansible makes of an expression; the kind of its error, if it is one."""
    templar = Templar(loader=DataLoader(), variables={**variables, **CONTEXT, "omit": ""})
    try:
        if condition:
            return templar.evaluate_conditional(trust_as_template(text))
        return templar.template(trust_as_template(text))
    except Exception as error:
        return type(error)


@pytest.mark.parametrize(
    ("role", "name", "argument"), OPTIONS, ids=[name for _, name, _ in OPTIONS]
)
def test_every_word_has_the_same_effect_as_the_boolean(role, name, argument):
    used = [
        (text, condition)
        for path, text, condition in EXPRESSIONS
        if role in path.parts and "defaults" not in path.parts
        if name in {found.name for found in parsed(text, condition).find_all(nodes.Name)}
    ]
    # Through the variables of the role, too.
    inner = {key for key, text in role_variables(role).items() if name in str(text)} - {name}
    used += [("{{ " + key + " }}", False) for key in sorted(inner) if key.startswith("__")]
    assert used
    told_apart = 0
    for text, condition in used:
        results = {}
        for meaning in WORDS:
            accepted = words_of(argument, meaning)
            given = [meaning, *accepted, *(parse_kv(f"{name}={word}")[name] for word in accepted)]
            variables = role_variables(role)
            results[meaning] = [
                outcome(text, condition, {**variables, name: value}) for value in given
            ]
            assert all(result == results[meaning][0] for result in results[meaning]), text
        told_apart += results[True][0] != results[False][0]
    # The check is not one of errors only.
    assert told_apart, used


@pytest.mark.parametrize(
    ("role", "name", "argument"), OPTIONS, ids=[name for _, name, _ in OPTIONS]
)
def test_the_specification_accepts_every_word(role, name, argument):
    spec = {key: argument[key] for key in ("type", "choices") if key in argument}
    for meaning in WORDS:
        for value in [meaning, *words_of(argument, meaning)]:
            assert not ArgumentSpecValidator({name: spec}).validate({name: value}).error_messages
