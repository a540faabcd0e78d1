"""Values of roles' options as roles can use them.

Ansible's check of a role's arguments accepts what can be converted, ``a,b`` for a list and ``3.10``
for a text, and gives the role the value as it was: the letters of a text, or 3.1.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from ..records.node_names import by_words, folded
from .seating import GPU_CHOICES, chosen_gpus

__all__ = ["USUAL_PORT", "option_types", "unfit_variables"]

# What a value is called. Of bool and int the first counts.
_KINDS: Sequence[Tuple[Any, str]] = (
    (type(None), "empty"),
    (str, "text"),
    (bool, "a boolean"),
    (int, "a whole number"),
    (float, "a number"),
    (dict, "a mapping"),
    (list, "a list"),
)
# Of a number without another limit: not infinite.
_MOST = sys.float_info.max


def _problem_of_folder(path: str) -> str:
    if not path.startswith(("/", "~", "$")):
        return "is no absolute path: begin it with /"
    return "" if path.strip("/") else "is the root of the file system: name a folder below it"


def _problem_of_ssh_folder(path: str) -> str:
    odd = next((sign for sign in '"%' if sign in path), "")
    return _problem_of_folder(path) or (odd and f"has a {odd}, which ssh takes for its own")


def _problem_of_gpus(choice: Any) -> str:
    try:
        chosen_gpus(choice)
    except ValueError:
        return f"names no GPUs: {GPU_CHOICES}"
    return ""


def _problem_of_switch(value: Any) -> str:
    # Those of filter bool: Ansible's check of arguments accepts y and t also, which the filter
    # takes for false.
    words = ("true", "yes", "on", "1", "false", "no", "off", "0")
    return "" if str(value).lower() in words else "is neither true nor false: give one of them"


def _problem_of_number(
    value: Any, of: Callable[[Any], float] = int, least: float = 0, most: float = _MOST
) -> str:
    try:
        if least <= of(value) <= most:
            return ""
    except (ValueError, OverflowError):
        pass
    limits = f"{least} to {most}" if most < _MOST else f"{least} or more"
    return f"is no {'whole ' * (of is int)}number of {limits}: give one in digits, without a unit"


class _Type(NamedTuple):
    """What values may be and lists may hold; how the right value is called and written.

    ``problem``: what is wrong with a value of the right type, empty for nothing.
    """

    allowed: Sequence[str]
    elements: Sequence[str]
    right: str
    in_file: str
    in_json: str = ""
    problem: Callable[[Any], str] = lambda _value: ""


_LIST = ("[one, two]", '["one", "two"]')
# A whole number is the same text, but no path.
_WORD = ("text", "a whole number")
_PATH = _Type(["text"], [], "text", "text in quotes")
_COUNT = _Type(
    ["a whole number", "text"], [], "a whole number", "digits", problem=_problem_of_number
)
_SCALARS = ("a boolean", "a whole number", "a number", "text")
_TYPES = {
    "path": _PATH,
    # Of a node: from the root of its file system on.
    "folder": _PATH._replace(problem=_problem_of_folder),
    "ssh_folder": _PATH._replace(problem=_problem_of_ssh_folder),
    "place": _PATH._replace(problem=lambda path: "" if path.strip() else "is empty: name a folder"),
    "bool": _Type(_SCALARS, [], "a boolean", "true or false", problem=_problem_of_switch),
    "int": _COUNT,
    "positive": _COUNT._replace(problem=partial(_problem_of_number, least=1)),
    "port": _COUNT._replace(problem=partial(_problem_of_number, least=1, most=65535)),
    "float": _COUNT._replace(
        allowed=_SCALARS[1:], right="a number", problem=partial(_problem_of_number, of=float)
    ),
    "str": _Type(_WORD, [], "text", "text in quotes"),
    "list": _Type(["a list"], [], "a list", *_LIST),
    "texts": _Type(["a list"], _WORD, "a list of texts", *_LIST),
    "names": _Type([*_WORD, "a list"], _WORD, "text", "text in quotes"),
    "words": _Type(["text", "a list"], _WORD, "a list of texts", *_LIST),
    "huge_pages": _COUNT._replace(problem=partial(_problem_of_number, least=-1)),
    "gpus": _Type(
        *(["a boolean", *_WORD, "a list"], _WORD, "numbers of GPUs", "[0, 2]", "[0, 2]"),
        _problem_of_gpus,
    ),
    "dict": _Type(["a mapping"], [], "a mapping", "{key: value}", '{"key": "value"}'),
}
# Variables of the inventory, of playbooks, and of roles that have another type than their option
# says. YAML changes the digits of whole numbers: 010 is 8, and 8:00:00 is 28800.
_OTHERS = {
    **dict.fromkeys(("scalebench_work_dir", "cluster_ssh_directory"), "ssh_folder"),
    **dict.fromkeys(("scalebench_state_dir", "framework_dir", "workload_dir"), "folder"),
    **dict.fromkeys(("framework_sources_dir", "dataset_directory"), "folder"),
    **dict.fromkeys(
        ("campaign_results_dir", "report_results_dir", "campaign_benchmarks_dir"), "place"
    ),
    **dict.fromkeys(("campaign_cpu_processes", "campaign_cpu_threads"), "positive"),
    "scalebench_data_dir": "path",
    **dict.fromkeys(("scalebench_address", "scalebench_interface", "scalebench_transport"), "path"),
    **dict.fromkeys(("scalebench_ssh_arguments", "scalebench_proxy", "scalebench_carrier"), "path"),
    **dict.fromkeys(("campaign_name", "slurm_time"), "path"),
    "campaign": "names",
    "scalebench_controller": "str",
    "scalebench_no_proxy": "texts",
    "scalebench_mirrors": "dict",
    "scalebench_gpus": "gpus",
    **dict.fromkeys(("scalebench_rdma_adapters", "campaign_rdma_adapters"), "words"),
    **dict.fromkeys(("preflight_infiniband_devices", "exclude"), "words"),
    **dict.fromkeys(("preflight", "accept_changes", "png"), "bool"),
    **dict.fromkeys(("scalebench_guest", "scalebench_take_over"), "bool"),
    **dict.fromkeys(("scalebench_first_contact", "uninstall_beneath_work_allowed"), "bool"),
    **dict.fromkeys(("ansible_port", "cluster_ssh_port", "campaign_rank_port"), "port"),
    # -1 leaves them as they are.
    "host_baseline_huge_pages": "huge_pages",
}
# An inventory may have one of these names for something else: of a playbook that knows it alone.
_OF_PLAYBOOKS = {"results": "bool"}

# Of version 0.1. Nothing reads them now, and what they ask for would not happen.
_FORMER = {
    "mlnx_ofed_peermem": "nvidia_driver_peermem",
    "preflight_container": "preflight_containers, a list",
    "stack_image_mirror": "framework_container_mirror",
}

# The default of cluster_ssh_port.
USUAL_PORT = 10000
# By name, the default of what nodes are reached by: the port is dialled from all, and one carrier
# starts the processes of a cell.
_OF_CLUSTER = {"cluster_ssh_port": str(USUAL_PORT), "scalebench_carrier": "ssh"}
_NOT_SET = (
    "is not set: copy inventory/example for servers, or give -i inventory/local before your own for"
    " more nodes on this machine"
)


def option_types(specs: Iterable[Mapping[str, Any]], known: Iterable[str] = ()) -> Dict[str, str]:
    """Return the types by name of the variables that :func:`unfit_variables` checks.

    :param specs: the ``argument_specs`` of roles; ``known`` what a playbook reads beside them.
    """
    types = {
        name: _type(option)
        for spec in specs
        for entry in spec.values()
        for name, option in entry.get("options", {}).items()
        if option.get("type") != "raw"
    }
    own = {name: _OF_PLAYBOOKS[name] for name in known if name in _OF_PLAYBOOKS}
    return {**types, **_OTHERS, **own}


def _type(option: Mapping[str, Any]) -> str:
    # Roles read a switch with a third position as text or as a boolean.
    if "true" in option.get("choices", ()):
        return "switch"
    of_texts = option.get("type") == "list" and option.get("elements") in ("str", "path")
    return "texts" if of_texts else option.get("type", "str")


def unfit_variables(nodes: Mapping[str, Mapping[str, Any]], types: Mapping[str, str]) -> List[str]:
    """Return a sentence for each variable of another type than roles take, and for no work folder.

    Others are for each option that was renamed, each server that is several nodes, each name that
    sshd does not take, and what is of the cluster and differs. They have no value in them, which
    may be secret.

    :param nodes: the variables of each node as they were given; a template counts as right.
    :param types: by the name of a variable, as :func:`option_types` returns them.
    """
    problems = [
        (name, node, _problem(name, variables[name], types[name]))
        for name in sorted(types)
        for node, variables in nodes.items()
        if name in variables
    ]
    problems += [
        (name, node, f"has another name since version 0.2: {now}")
        for name, now in _FORMER.items()
        for node, variables in nodes.items()
        if name in variables
    ]
    folder = "scalebench_work_dir"
    problems += [
        (folder, node, _NOT_SET)
        for node, variables in nodes.items()
        if node != "localhost" and folder not in variables
    ]
    problems += [
        ("its name", node, "has a blank, a quote or a backslash, which sshd does not take: give"
         " another, with ansible_host")
        for node in nodes
        if re.search(r"[\s\"'\\]", node)
    ]  # fmt: skip
    told = ((node, f"{name} {problem}") for name, node, problem in problems if problem)
    return [*by_words(told), *_one_server_twice(nodes), *_different(nodes)]


def _different(nodes: Mapping[str, Mapping[str, Any]]) -> List[str]:
    """Return a sentence for each variable of the cluster that has several values."""
    told = []
    for name, usual in _OF_CLUSTER.items():
        given = {node: str(variables.get(name, usual)) for node, variables in nodes.items()}
        if len({*given.values()}) > 1 and not any(map(_is_template, given.values())):
            own = folded(node for node, value in given.items() if value != usual)
            told.append(
                f"{name} differs between the nodes: {own} have their own; give all nodes the same"
            )
    return told


def _problem(name: str, value: Any, wanted: str) -> str:
    if value is None:
        return "has no value: give it one, or leave it out"
    if wanted not in _TYPES or _is_template(value):
        return ""
    expected, found = _TYPES[wanted], _kind(value)
    if not found:
        return ""
    if found in expected.allowed:
        within = map(_kind, value if expected.elements and found == "a list" else ())
        wrong = next((kind for kind in within if kind not in (*expected.elements, "")), "")
        if not wrong:
            return expected.problem(value)
        found = f"a list with an element that is {wrong}"
    way_out = f"write it as {expected.in_file}"
    if expected.in_json:
        way_out += f""", with -e as '{{"{name}": {expected.in_json}}}'"""
    elif expected.in_file == _PATH.in_file and found not in ("a list", "a mapping"):
        way_out += """ (on the line of a host in an INI file as '"text"')"""
    return f"is {found}, not {expected.right}: {way_out}"


def _one_server_twice(nodes: Mapping[str, Mapping[str, Any]]) -> List[str]:
    """Return a sentence for each address that several nodes have: they would share all folders."""
    names: Dict[Tuple[str, str], List[str]] = {}
    for node, variables in nodes.items():
        address = str(variables.get("ansible_host", node))
        if not _is_template(address) and "scalebench_carrier_host" not in variables:
            names.setdefault((address, str(variables.get("ansible_port", ""))), []).append(node)
    return [
        f"{folded(same)} have the same ansible_host and ansible_port: one server is one node; keep"
        " one of the names"
        for same in names.values()
        if len(same) > 1
    ]


def _is_template(value: Any) -> bool:
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def _kind(value: object) -> str:
    """Return what a value is called; empty for what only Ansible knows, such as a vault."""
    return next((word for kinds, word in _KINDS if isinstance(value, kinds)), "")
