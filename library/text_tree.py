#!/usr/bin/python
"""Writes a small folder of text files in one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: text_tree
short_description: Copy a small folder of text files in one call
description:
  - M(ansible.builtin.copy) takes two connections a file; a folder of trainers on many nodes is
    copied in one here. Files that are not in the source are left alone.
  - Files that are written for the node come as O(texts), where M(ansible.builtin.template) would
    take three connections each.
options:
  source:
    description: Folder on the controller; the action plugin of the same name reads it.
    type: path
  pattern:
    description: Which files, as a glob below O(source).
    type: str
    default: "**/*.py"
  destination:
    description: Folder on the node; made where it is missing.
    type: path
    required: true
  texts:
    description: The files' texts by relative path; the action plugin adds those of O(source).
    type: dict
    default: {}
  mode:
    description: Permissions of the files, in octal digits; by default whatever they have or get.
    type: str
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

- name: Write two private files
  text_tree:
    texts:
      authorized_keys: "{{ lookup('ansible.builtin.template', 'authorized_keys.j2') }}"
      known_hosts: "{{ lookup('ansible.builtin.template', 'known_hosts.j2') }}"
    destination: /opt/scalebench/sshd
    mode: "0600"
"""

RETURN = r"""
written:
  description: The files that were written, relative to the destination.
  type: list
  elements: str
  returned: always
  sample: [resnet50/train_pytorch.py]
"""

import contextlib
import os
from typing import Optional

from ansible.module_utils.basic import AnsibleModule


def read(path: str) -> str:
    """Return the file's text; empty where there is none yet."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write(path: str, text: str, mode: Optional[int]) -> None:
    """Write the file whole or not at all, and never open to more than it will be."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = path + ".part"
    with contextlib.suppress(FileNotFoundError):
        os.remove(part)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with open(os.open(part, flags, 0o666 if mode is None else mode), "w", encoding="utf-8") as file:
        file.write(text)
    if mode is not None:
        os.chmod(part, mode)
    os.replace(part, path)


def is_as(path: str, text: str, mode: Optional[int]) -> bool:
    """Return whether the file has the text and the permissions."""
    if not os.path.exists(path) or read(path) != text:
        return False
    return mode is None or os.stat(path).st_mode & 0o7777 == mode


def main() -> None:
    """Write what differs."""
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "path"},
            "pattern": {"type": "str", "default": "**/*.py"},
            "destination": {"type": "path", "required": True},
            "texts": {"type": "dict", "default": {}},
            "mode": {"type": "str"},
        },
        supports_check_mode=True,
    )
    mode = int(module.params["mode"], 8) if module.params["mode"] else None
    written, diff = [], []
    for name, text in sorted(module.params["texts"].items()):
        path = os.path.join(module.params["destination"], name)
        if is_as(path, text, mode):
            continue
        before = read(path)
        written.append(name)
        diff.append({"before": before, "after": text, "before_header": path, "after_header": path})
        if not module.check_mode:
            try:
                write(path, text, mode)
            except OSError as error:
                module.fail_json(msg=f"{path}: {error.strerror}", written=written)
    module.exit_json(changed=bool(written), written=written, diff=diff)


if __name__ == "__main__":
    main()
