#!/usr/bin/python
"""Create DALI's indexes of TFRecord shards; see node.dataset_files in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dali_index
short_description: Create missing DALI indexes of TFRecord shards
description:
  - Creates for each shard in C(tfrecord/) of O(data_dir) an index of the same name in C(dali_idx/),
    in the format of DALI's tool C(tfrecord2idx), if it is missing or does not match the shard.
options:
  data_dir:
    description: Folder of the data set.
    type: path
    required: true
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
made:
  description: The indexes that were created, or would be in check mode.
  type: list
  elements: str
  returned: success
  sample: [/datasets/ImageNet/dali_idx/train-00000-of-01024]
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.scalebench.core.plugins.module_utils.node.dataset_files import (
    missing_indexes,
    write_index,
)


def main() -> None:
    """Create the missing indexes."""
    module = AnsibleModule(
        argument_spec={"data_dir": {"type": "path", "required": True}}, supports_check_mode=True
    )
    try:
        missing = missing_indexes(module.params["data_dir"])
        for shard, index in [] if module.check_mode else missing:
            write_index(shard, index)
    except ValueError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}")
    module.exit_json(changed=bool(missing), made=[index for _, index in missing])


if __name__ == "__main__":
    main()
