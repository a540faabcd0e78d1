#!/usr/bin/python
"""Verify an image data set on this node; see node.dataset_files in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dataset_info
short_description: Verify an image data set on this node, in each form
description:
  - Counts the files and bytes of each form, compares indexes with the files that they index, and
    computes a digest for comparing nodes.
  - Forms are folders of O(data_dir), C(images), C(tfrecord), C(dali_idx), C(recordio) and
    C(ofrecord), and C(image_lists), files in C(images); see C(docs/data.md). Images may also be
    in C(train) and C(val) of O(data_dir) itself.
options:
  data_dir:
    description: Folder of the data set.
    type: path
    required: true
  kind:
    description: The set, which determines how many files are complete.
    type: str
    choices: [imagenet, small]
    required: true
  index_dir:
    description: Folder of the indexes, if it is not C(dali_idx) and exists.
    type: path
    default: ""
  every_record:
    description:
      - Read the length of every record, which finds truncated files.
      - Takes minutes for all of ImageNet.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Verify ImageNet
  dataset_info:
    data_dir: /datasets/ImageNet
    kind: imagenet
  register: dataset
"""

RETURN = r"""
forms:
  description:
    - By form C(state) (complete, incomplete, absent), C(problems) as sentences, C(files), C(bytes)
      and C(digest), SHA-256 of names and sizes, and of both ends of a sample of the files.
  type: dict
  returned: success
  sample:
    tfrecord:
      state: incomplete
      problems: ["1 of 1024 files is missing: train-00007-of-01024"]
      files: 1151
      bytes: 150000000000
      digest: 9f2c
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.dataset.layouts import KINDS, LAYOUTS
from ansible_collections.scalebench.core.plugins.module_utils.node.dataset_files import look


def main() -> None:
    """Verify every form."""
    module = AnsibleModule(
        argument_spec={
            "data_dir": {"type": "path", "required": True},
            "kind": {"type": "str", "choices": list(KINDS), "required": True},
            "index_dir": {"type": "path", "default": ""},
            "every_record": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    given = module.params
    index_dir = given["index_dir"] if os.path.isdir(given["index_dir"]) else ""
    try:
        forms = {
            form: look(given["data_dir"], given["kind"], form, given["every_record"], index_dir)
            for form in LAYOUTS
        }
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
    module.exit_json(changed=False, forms=forms)


if __name__ == "__main__":
    main()
