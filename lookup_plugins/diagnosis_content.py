"""Look up the content of a diagnosis.json for the preflight."""

from __future__ import annotations

DOCUMENTATION = r"""
name: diagnosis_content
short_description: Return the content of a diagnosis.json
description:
  - Returns what C(playbooks/diagnose.yml) wrote. Of a file that cannot be used it has C(problem)
    alone, the reason, so that a verdict of the preflight can name it.
options:
  _terms:
    description: One path.
    type: list
    elements: path
"""

EXAMPLES = r"""
- name: Show the suspects
  ansible.builtin.debug:
    msg: "{{ lookup('diagnosis_content', 'results/slow/diagnosis.json').suspects }}"
"""

RETURN = r"""
_raw:
  description: The content, with C(problem) that of a file that cannot be used.
  type: list
  elements: dict
"""


from ansible.plugins.lookup import LookupBase
from ansible_collections.scalebench.core.plugins.module_utils.evidence.redaction import shown
from ansible_collections.scalebench.core.plugins.module_utils.layout.plain_text import plain
from ansible_collections.scalebench.core.plugins.plugin_utils.files import said, user_path
from ansible_collections.scalebench.core.plugins.plugin_utils.results_reading import (
    read_diagnosis,
)


class LookupModule(LookupBase):
    """Implements lookup diagnosis_content."""

    def run(self, terms, variables=None, **kwargs):
        """Return a list that contains the content."""
        try:
            return [read_diagnosis(user_path(terms[0]))]
        except (OSError, ValueError) as error:
            return [{"problem": shown(plain(said(error)))}]
