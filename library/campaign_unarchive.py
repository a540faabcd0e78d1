"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_unarchive
short_description: Verify and unpack the archive of a campaign
description:
  - An action plugin on the controller. It holds the archive against C(<archive>.sha256) where that
    is there, and every file against C(SHA256SUMS), and unpacks it whole or not at all.
  - It takes only what M(campaign_archive) writes. Links, devices, paths that lead out of the
    folder, files that are not a campaign's, too many or too large ones are refused.
  - A folder that holds the archive's files already is verified and left as it is, whatever a report
    has written into it.
options:
  archive:
    description: The archive.
    type: path
    required: true
  directory:
    description: Folder for the campaign's files; empty for C(./result/<campaign>).
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Verifies the archive and writes nothing.
seealso:
  - module: campaign_archive
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Unpack a campaign of another machine
  campaign_unarchive:
    archive: first.tar.gz
  register: first
"""

RETURN = r"""
campaign:
  description: The campaign's name.
  returned: success
  type: str
  sample: first
directory:
  description: The folder with its files.
  returned: success
  type: str
  sample: /home/user/result/first
"""
