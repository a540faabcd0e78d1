#!/usr/bin/python
"""Create DALI's indexes of TFRecord shards; see node.dataset_files in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dali_index
short_description: Create missing DALI indexes of TFRecord shards
description:
  - Creates for each shard in C(tfrecord/) of O(data_dir) an index of the same name, in the format
    of DALI's tool C(tfrecord2idx), if it is missing or does not match the shard.
options:
  data_dir:
    description: Folder of the data set.
    type: path
    required: true
  index_dir:
    description: Folder of the indexes; empty for C(dali_idx/) of O(data_dir), or O(own_dir).
    type: path
    default: ""
  own_dir:
    description: Folder of the indexes of a data set that is read-only or O(shared) and lacks some.
    type: path
    default: ""
  shared:
    description: Whether several nodes have the same folder as O(data_dir).
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Returns the indexes that it would create.
"""

EXAMPLES = r"""
- name: Create missing indexes
  dali_index:
    data_dir: /datasets/ImageNet
"""

RETURN = r"""
index_dir:
  description: The folder of the indexes.
  type: str
  returned: success
  sample: /datasets/ImageNet/dali_idx
made:
  description: The indexes that were created, or would be in check mode.
  type: list
  elements: str
  returned: success
  sample: [/datasets/ImageNet/dali_idx/train-00000-of-01024]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.dataset_files import (
    index_folder,
    missing_indexes,
    write_index,
)


def main() -> None:
    """Create the missing indexes."""
    module = AnsibleModule(
        argument_spec={
            "data_dir": {"type": "path", "required": True},
            "index_dir": {"type": "path", "default": ""},
            "own_dir": {"type": "path", "default": ""},
            "shared": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        folder = given["index_dir"] or index_folder(
            given["data_dir"], given["own_dir"], given["shared"]
        )
        missing = missing_indexes(given["data_dir"], folder)
        for shard, index in [] if module.check_mode else missing:
            write_index(shard, index)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
    module.exit_json(changed=bool(missing), made=[index for _, index in missing], index_dir=folder)


if __name__ == "__main__":
    main()
