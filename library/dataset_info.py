#!/usr/bin/python
"""Door to MU node.dataset_files: looks at a data set, changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dataset_info
short_description: Tell what there is of an image data set on this node, in each form
description:
  - Counts and sizes the files of each form, holds indexes against what they index, walks through
    records where asked to, and makes a digest by which nodes can be compared.
  - Forms are folders below O(data_dir), see C(docs/data.md).
options:
  data_dir:
    description: Folder of the data set.
    type: path
    required: true
  kind:
    description: What makes it complete, ImageNet's numbers of files or those of the small set.
    type: str
    choices: [imagenet, small]
    required: true
  forms:
    description: The forms to look at.
    type: list
    elements: str
    choices: [images, tfrecord, dali_idx, recordio, ofrecord]
    default: [images, tfrecord, dali_idx, recordio, ofrecord]
  every_record:
    description:
      - Walk through every record file from length to length, which finds what was cut off.
      - Reads a few bytes a record; minutes for all of ImageNet.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Reads, and changes nothing in any mode.
"""

EXAMPLES = r"""
- name: Look at the TFRecord shards
  dataset_info:
    data_dir: /datasets/ImageNet
    kind: imagenet
    forms: [tfrecord, dali_idx]
  register: dataset
"""

RETURN = r"""
forms:
  description:
    - By form, C(state) (complete, incomplete, absent), C(problems) in words, C(files), C(bytes) and
      C(digest), SHA-256 of names, sizes and both ends of a sample of the files.
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

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.dataset.layouts import KINDS, LAYOUTS
from ansible_collections.scalebench.core.plugins.module_utils.node.dataset_files import look


def main() -> None:
    """Look and tell."""
    module = AnsibleModule(
        argument_spec={
            "data_dir": {"type": "path", "required": True},
            "kind": {"type": "str", "choices": list(KINDS), "required": True},
            "forms": {
                "type": "list",
                "elements": "str",
                "choices": list(LAYOUTS),
                "default": list(LAYOUTS),
            },
            "every_record": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        forms = {
            form: look(given["data_dir"], given["kind"], form, given["every_record"])
            for form in given["forms"]
        }
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
    module.exit_json(changed=False, forms=forms)


if __name__ == "__main__":
    main()
