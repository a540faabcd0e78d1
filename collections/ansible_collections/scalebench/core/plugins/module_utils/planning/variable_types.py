"""Values of roles' options as roles can use them.

Ansible's check of a role's arguments accepts what can be converted, ``a,b`` for a list and ``3.10``
for a text, and gives the role the value as it was: the letters of a text, or 3.1.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from ..records.node_names import by_words

__all__ = ["option_types", "unfit_variables"]

# What a value is called. Of bool and int the first counts.
_KINDS: Sequence[Tuple[Any, str]] = (
    (str, "text"),
    (bool, "a boolean"),
    (int, "a whole number"),
    (float, "a number"),
    (dict, "a mapping"),
    (list, "a list"),
)
# By type of an option: what its values are called, and how they are written in a file and in JSON.
_FORMS = {
    **dict.fromkeys(("str", "path"), ("text", "text in quotes", "")),
    "list": ("a list", "[one, two]", '["one", "two"]'),
    "dict": ("a mapping", "{key: value}", '{"key": "value"}'),
}
# Variables of the inventory. Those that are switches, or may be several things, are not checked.
_OF_INVENTORY = {
    **dict.fromkeys(("scalebench_state_dir", "scalebench_work_dir", "scalebench_data_dir"), "path"),
    **dict.fromkeys(("scalebench_address", "scalebench_interface", "scalebench_transport"), "str"),
    **dict.fromkeys(("scalebench_ssh_arguments", "scalebench_proxy", "scalebench_carrier"), "str"),
    "scalebench_controller": "str",
    "scalebench_no_proxy": "list",
    "scalebench_mirrors": "dict",
}
# Lists of names that may also be one text with commas.
_WORDS_TOO = ("campaign_rdma_adapters", "preflight_infiniband_devices", "verify_claims")


def option_types(specs: Iterable[Mapping[str, Any]]) -> Dict[str, str]:
    """Return the types by name of the variables that :func:`unfit_variables` checks.

    :param specs: the ``argument_specs`` of roles.
    """
    types = {
        name: option.get("type", "str")
        for spec in specs
        for entry in spec.values()
        for name, option in entry.get("options", {}).items()
        if name not in _WORDS_TOO
    }
    return {**types, **_OF_INVENTORY}


def unfit_variables(nodes: Mapping[str, Mapping[str, Any]], types: Mapping[str, str]) -> List[str]:
    """Return a sentence for each variable whose value has another type than roles take.

    It has no value in it, which may be secret.

    :param nodes: the variables of each node as they were given; a template counts as right.
    :param types: by the name of a variable, as :func:`option_types` returns them.
    """
    problems = [
        (name, node, _problem(name, variables[name], types[name]))
        for name in sorted(types)
        for node, variables in nodes.items()
        if name in variables
    ]
    return by_words((node, f"{name} {problem}") for name, node, problem in problems if problem)


def _problem(name: str, value: Any, wanted: str) -> str:
    if value is None:
        return "has no value: give it one, or leave it out" if wanted != "raw" else ""
    found = next((word for kinds, word in _KINDS if isinstance(value, kinds)), "")
    template = found == "text" and ("{{" in value or "{%" in value)
    if wanted not in _FORMS or not found or template:
        return ""
    right, in_file, as_json = _FORMS[wanted]
    # A whole number is the same text, unlike yes, 3.10 or 1e3.
    if found == right or (right, found) == ("text", "a whole number"):
        return ""
    way_out = f"write it as {in_file}"
    if as_json:
        way_out += f""", with -e as '{{"{name}": {as_json}}}'"""
    return f"is {found}, not {right}: {way_out}"
