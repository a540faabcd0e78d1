#!/usr/bin/python
"""Writes a small folder of text files in one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: text_tree
short_description: Copy a small folder of text files in one call
description:
  - M(ansible.builtin.copy) takes two connections a file; a folder of trainers on many nodes is
    copied in one here. Files that are not in the source are left alone.
options:
  source:
    description: Folder on the controller; the action plugin of the same name reads it.
    type: path
    required: true
  pattern:
    description: Which files, as a glob below O(source).
    type: str
    default: "**/*.py"
  destination:
    description: Folder on the node; made where it is missing.
    type: path
    required: true
  texts:
    description: The files' texts by relative path; filled in by the action plugin.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Tells which files it would write.
  diff_mode:
    support: full
    description: Shows the change of every file.
"""

EXAMPLES = r"""
- name: Copy the trainers
  text_tree:
    source: workloads
    destination: /opt/scalebench/workloads
"""

RETURN = r"""
written:
  description: The files that were written, relative to the destination.
  type: list
  elements: str
  returned: always
  sample: [resnet50/train_pytorch.py]
"""

import os

from ansible.module_utils.basic import AnsibleModule


def read(path: str) -> str:
    """Return the file's text; empty where there is none yet."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write(path: str, text: str) -> None:
    """Write the file whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def main() -> None:
    """Write what differs."""
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "path", "required": True},
            "pattern": {"type": "str", "default": "**/*.py"},
            "destination": {"type": "path", "required": True},
            "texts": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    written, diff = [], []
    for name, text in sorted(module.params["texts"].items()):
        path = os.path.join(module.params["destination"], name)
        before = read(path)
        if before == text and os.path.exists(path):
            continue
        written.append(name)
        diff.append({"before": before, "after": text, "before_header": path, "after_header": path})
        if not module.check_mode:
            try:
                write(path, text)
            except OSError as error:
                module.fail_json(msg=f"{path}: {error.strerror}", written=written)
    module.exit_json(changed=bool(written), written=written, diff=diff)


if __name__ == "__main__":
    main()
