"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_archive
short_description: Pack a campaign into one file with checksums
description:
  - An action plugin that runs on the controller. It writes a C(.tar.gz) with the campaign's files
    (plan, preflight, promises, logs, run records, results, report, plots), C(SHA256SUMS) and
    C(MANIFEST.json), and
    C(<archive>.sha256) beside it. The same campaign gives the same bytes.
  - Every text file is searched for private keys, tokens of known forms, ssh keys, passwords in URLs
    and the values of variables whose names mark them as secret, including those of the environment.
    In a log the value is replaced by a placeholder with its kind and listed in C(MANIFEST.json). In
    any other file it is an error that names file, line and kind.
  - The archive is written atomically. The campaign's folder is not changed.
options:
  directory:
    description: The campaign's folder.
    type: path
    required: true
  path:
    description:
      - Path of the archive, or a folder for it; empty for C(<campaign>.tar.gz) beside the campaign.
    type: path
    default: ""
  sign_key:
    description:
      - An ssh key that signs the archive (C(ssh-keygen -Y sign), C(-n scalebench-acceptance))
        into C(<archive>.sig), whose checksum is in C(<archive>.sha256) too. The private key without
        a passphrase, or the public key of one that the ssh agent holds; empty for no signature.
    type: path
    default: ""
attributes:
  check_mode:
    support: full
    description: Reads and searches the files and reports whether it would write.
  diff_mode:
    support: full
    description: Shows the change of C(SHA256SUMS).
seealso:
  - module: campaign_unarchive
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Archive a campaign
  campaign_archive:
    directory: results/first
"""

RETURN = r"""
path:
  description: Path of the archive.
  returned: success
  type: str
  sample: results/first.tar.gz
files:
  description: Number of the campaign's files in the archive.
  returned: success
  type: int
  sample: 41
redactions:
  description: Number of secret values replaced in logs.
  returned: success
  type: int
  sample: 0
left_out:
  description: Paths in the campaign's folder that do not belong to the campaign.
  returned: success
  type: list
  elements: str
  sample: []
"""
