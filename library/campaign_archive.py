"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_archive
short_description: Pack a campaign into one file with checksums
description:
  - An action plugin on the controller. It writes a C(.tar.gz) with the campaign's own files (plan,
    logs, run records, results, report, plots), C(SHA256SUMS) and C(MANIFEST.json), and beside it
    C(<archive>.sha256). The same campaign gives the same bytes.
  - Every text file is searched for private keys, tokens of known forms, ssh keys, passwords in URLs
    and the values of variables whose names say that they are secret, those of its own environment
    included. In a log the value is replaced by a mark with its kind and told in C(MANIFEST.json);
    in any other file it is an error that names file, line and kind.
  - It is written whole or not at all. The campaign's folder is not changed.
options:
  directory:
    description: The campaign's folder.
    type: path
    required: true
  path:
    description:
      - The archive, or a folder for it; empty for C(<campaign>.tar.gz) beside the campaign.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Reads, searches and tells whether it would write.
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
  description: Where the archive is.
  returned: success
  type: str
  sample: results/first.tar.gz
files:
  description: Number of the campaign's files in it.
  returned: success
  type: int
  sample: 41
redactions:
  description: Number of values that were replaced in logs.
  returned: success
  type: int
  sample: 0
left_out:
  description: Paths in the campaign's folder that are not the campaign's own.
  returned: success
  type: list
  elements: str
  sample: []
"""
