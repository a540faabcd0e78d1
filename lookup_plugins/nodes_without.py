"""Look up the pattern of the nodes that take part in a campaign."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nodes_without
short_description: Return the pattern of group nodes without some of them
description:
  - Returns a pattern for C(hosts) of a play, such as V(nodes,!gpu03).
  - Fails for a name that the inventory does not have, where no node is left, and for a file that is
    no diagnosis or that has a suspect which leaving out nodes does not help, as a slow switch.
options:
  _terms:
    description:
      - What to leave out, as lists or as words with commas - hosts, groups, patterns of hosts, and
        files C(*.json) that C(playbooks/diagnose.yml) wrote, which stand for their suspects.
    type: list
"""

EXAMPLES = r"""
- name: Benchmark the cluster
  hosts: "{{ lookup('nodes_without', 'gpu03,results/slow/diagnosis.json') }}"
"""

RETURN = r"""
_raw:
  description: The pattern.
  type: list
  elements: str
"""

from fnmatch import fnmatchcase
from pathlib import Path

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible_collections.scalebench.core.plugins.module_utils.diagnosis.exclusion import (
    to_exclude,
    without,
)
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.plugin_utils.files import said, user_path
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import (
    read_diagnosis,
)


class LookupModule(LookupBase):
    """Implements lookup nodes_without."""

    def run(self, terms, variables=None, **kwargs):
        """Return a list that contains the pattern."""
        groups = variables["groups"]
        words = [
            word.strip()
            for term in terms
            for text in ([term] if isinstance(term, str) else term)
            for word in str(text).split(",")
            if word.strip()
        ]
        names, known = [], dict.fromkeys([*groups, *groups["all"]])
        for word in words:
            # Whole names: to Ansible node[12] is the twelfth host that is named node.
            if word.endswith(".json"):
                names += suspects_of(Path(word))
            else:
                names += [one for one in known if fnmatchcase(one, word)] or [word]
        for name in names:
            if name not in known:
                raise AnsibleLookupError(
                    f"-e exclude: the inventory has no host or group {shown(plain(name))}"
                )
        left = {*groups.get("nodes", ())}.difference(names, *(groups.get(one, ()) for one in names))
        if groups.get("nodes") and not left:
            raise AnsibleLookupError("-e exclude: it leaves out all nodes, so nothing would run")
        # Ansible splits at commas where there are some, and at the colons of IPv6 otherwise.
        return [",!".join(["nodes", *dict.fromkeys(names)])]


def suspects_of(path: Path) -> list[str]:
    """Return the nodes to leave out for a diagnosis.

    :raises AnsibleLookupError: the file cannot be read, or leaving out nodes does not help.
    """
    try:
        diagnosis = read_diagnosis(user_path(path))
    except (OSError, ValueError) as error:
        reason = shown(plain(said(error)))
        raise AnsibleLookupError(
            f"-e exclude: {path} is no diagnosis.json of playbooks/diagnose.yml: {reason}"
        ) from None
    words = without(diagnosis, str(path))
    if words != str(path):
        such_as = f", such as -e exclude={shown(plain(words, longest=10_000))}" if words else ""
        raise AnsibleLookupError(
            f"-e exclude: {path} suspects a group, its way out or the fabric: name whom to leave"
            f" out{such_as}"
        )
    return to_exclude(diagnosis["suspects"])
