#!/usr/bin/python
"""Write a small folder of text files in one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: text_tree
short_description: Copy a small folder of text files in one call
description:
  - M(ansible.builtin.copy) needs two connections for each file and M(ansible.builtin.template)
    three; this module needs one for all files. Other files in the folder are left alone.
options:
  source:
    description: Folder on the controller; the action plugin of the same name reads it.
    type: path
  pattern:
    description: Which files, as a glob below O(source).
    type: str
    default: "**/*.py"
  destination:
    description: Folder on the node; created if it is missing. Required without O(each).
    type: path
  texts:
    description: The files' texts by relative path; the action plugin adds those of O(source).
    type: dict
    default: {}
  validate:
    description:
      - Commands by relative path that check a new file before it replaces the old one. C(%s) stands
        for its path. Not run in check mode.
    type: dict
    default: {}
  user:
    description: The account that they belong to; another than the connection's needs root.
    type: str
  backup:
    description: Keep a copy of each file that is replaced beside it, with the time in its name.
    type: bool
    default: false
  mode:
    description:
      - Permissions of the files, in octal digits. By default a file keeps its own, its owner and
        group, and one that is reached by a link is changed where it is.
    type: str
  each:
    description:
      - For several folders in one call, a mapping of O(destination) and O(texts) for each. Those of
        the task are in every one of them.
    type: list
    elements: dict
attributes:
  check_mode:
    support: full
    description: Returns the files that it would write.
  diff_mode:
    support: full
    description: The change of every file; of new files of O(source), the paths only.
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

- name: Write a file that differs into two folders, and one that is the same
  text_tree:
    texts: {known_hosts: "{{ lookup('ansible.builtin.template', 'known_hosts.j2') }}"}
    each:
      - {destination: /srv/node1/sshd, texts: {address: 127.0.0.2}}
      - {destination: /srv/node2/sshd, texts: {address: 127.0.0.3}}
"""

RETURN = r"""
written:
  description:
    - The files that were written, relative to the destination; their paths with O(each).
  type: list
  elements: str
  returned: always
  sample: [resnet50/train_pytorch.py]
"""

import contextlib
import os
import shlex
from functools import partial
from typing import Callable, Dict, Iterator, Optional, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.account import acting_as
from ansible_collections.scalebench.core.plugins.module_utils.node.durable import (
    create,
    replace,
    sync,
)

TEXTS = {"texts": {"type": "dict", "default": {}}}


def read(path: str) -> str:
    """Return the file's text; empty if the file is missing."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write(
    module: AnsibleModule,
    path: str,
    text: str,
    mode: Optional[int],
    check: Callable[[str], None],
) -> None:
    """Write the file completely or not at all, never with wider permissions than the final ones.

    :param check: raises for the path of a file that must not replace the old one.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = path + ".part"
    kept = mode is None and os.path.exists(path)
    first = mode if mode is not None else os.stat(path).st_mode & 0o777 if kept else 0o666
    with open(create(part, first), "w", encoding="utf-8") as file:
        file.write(text)
    if mode is not None:
        os.chmod(part, mode)
    try:
        check(part)
    except ValueError:
        os.remove(part)
        raise
    if kept:
        # The former keeps owner, group, permissions and their extension to more accounts.
        sync(part)
        module.atomic_move(part, path)
        sync(os.path.dirname(path))
    else:
        replace(part, path)


def is_current(path: str, text: str, mode: Optional[int]) -> bool:
    """Return whether the file has this text and these permissions."""
    if not os.path.exists(path) or read(path) != text:
        return False
    return mode is None or os.stat(path).st_mode & 0o7777 == mode


def validate(module: AnsibleModule, name: str, path: str) -> None:
    """Run the file's command; raise ValueError with its message if it fails."""
    command = module.params["validate"].get(name)
    if command:
        rc, stdout, stderr = module.run_command(command.replace("%s", shlex.quote(path)))
        if rc:
            raise ValueError(f"{command}: {(stderr or stdout).strip()}")


def files(module: AnsibleModule) -> Iterator[Tuple[str, str, str]]:
    """Yield folder, relative path and text of every file."""
    of_all = module.params["texts"]
    for tree in module.params["each"] or [module.params]:
        for name, text in sorted({**of_all, **tree["texts"]}.items()):
            yield tree["destination"], name, text


def put(
    module: AnsibleModule, path: str, name: str, before: str, text: str, mode: Optional[int]
) -> Dict[str, str]:
    """Write the file, but not in check mode; return its change.

    :param name: by which its command is known.
    :param before: what it holds.
    """
    change = {"before": before, "after": text, "before_header": path, "after_header": path}
    # What is on the controller already would hide the changes of the site's files.
    if module.params["source"] and not os.path.exists(path):
        change = {"prepared": f"new file: {path}\n"}
    if not module.check_mode:
        if module.params["backup"] and os.path.exists(path):
            module.backup_local(path)
        write(module, path, text, mode, partial(validate, module, name))
    return change


def main() -> None:
    """Write the files that differ."""
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "path"},
            "pattern": {"type": "str", "default": "**/*.py"},
            "destination": {"type": "path"},
            **TEXTS,
            "validate": {"type": "dict", "default": {}},
            "user": {"type": "str"},
            "backup": {"type": "bool", "default": False},
            "mode": {"type": "str"},
            "each": {
                "type": "list",
                "elements": "dict",
                "options": {"destination": {"type": "path", "required": True}, **TEXTS},
            },
        },
        required_one_of=[["destination", "each"]],
        mutually_exclusive=[["destination", "each"]],
        supports_check_mode=True,
    )
    mode = int(module.params["mode"], 8) if module.params["mode"] else None
    user = module.params["user"]
    written, diff, path = [], [], module.params["destination"]
    try:
        with acting_as(user) if user else contextlib.nullcontext():
            for folder, name, text in files(module):
                path = os.path.join(folder, name)
                path = os.path.realpath(path) if mode is None else path
                if not is_current(path, text, mode):
                    before = read(path)
                    written.append(path if module.params["each"] else name)
                    diff.append(put(module, path, name, before, text, mode))
    except OSError as error:
        module.fail_json(msg=f"{path}: {error.strerror}", written=written)
    except ValueError as error:
        module.fail_json(msg=f"{path} was not changed: {error}", written=written)
    module.exit_json(changed=bool(written), written=written, diff=diff)


if __name__ == "__main__":
    main()
