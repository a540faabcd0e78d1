#!/usr/bin/python
"""Door to MU node.dataset_files: makes the DALI indexes that are missing or do not fit."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dali_index
short_description: Make DALI's indexes of TFRecord shards
description:
  - For each shard in C(tfrecord/) of O(data_dir), an index of the same name in C(dali_idx/), in the
    form of DALI's tool C(tfrecord2idx); only where it is missing or does not fit the shard.
options:
  data_dir:
    description: Folder of the data set.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Tells which indexes it would make.
"""

EXAMPLES = r"""
- name: Make the indexes that are missing
  dali_index:
    data_dir: /datasets/ImageNet
"""

RETURN = r"""
made:
  description: The indexes that were made, or would be.
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
    """Make what is missing."""
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
