"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: json_file
short_description: Write a JSON file on the controller
description:
  - An action plugin that runs on the controller, in less time than M(ansible.builtin.copy) to
    C(localhost) takes. The file is whole and on the disk before the task ends.
  - Secrets of known forms are replaced, and commands to a terminal are escaped.
options:
  path:
    description: The file; its folder is created if it is missing.
    type: path
    required: true
  content:
    description: What the file says.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Says whether the file would change.
  diff_mode:
    support: full
    description: The change of the file.
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Write the verdicts
  json_file:
    path: results/first/preflight.json
    content: "{{ verdicts }}"
"""

RETURN = r"""
paths:
  description: The file, if it was or would be written.
  type: list
  elements: str
  returned: success
  sample: [results/first/preflight.json]
"""
