"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: campaign_unarchive
short_description: Verify and unpack the archive of a campaign
description:
  - An action plugin that runs on the controller. It verifies the archive against
    C(<archive>.sha256) if that exists, and every file against C(SHA256SUMS), and unpacks it
    completely or not at all.
  - It accepts only what M(campaign_archive) writes. Links, devices, paths outside the folder, files
    that do not belong to a campaign, and too many or too large files are refused.
  - A folder that already holds the archive's files is verified and left as it is. Only what a
    report writes (results, report and plots) may differ or be there beside them.
options:
  archive:
    description: Path of the archive.
    type: path
    required: true
  directory:
    description: Folder for the campaign's files; empty for C(./result/<campaign>).
    type: path
    default: ""
  allowed_signers:
    description:
      - File with the keys of those who may have signed the archive, as of ssh-keygen(1); then
        the archive must have a valid signature. Empty verifies of a signed archive only that it is
        what was signed, not by whom.
    type: path
    default: ""
  signer:
    description: Name in that file whose signature it must be; empty for any.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Verifies the archive; writes nothing.
seealso:
  - module: campaign_archive
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Unpack a campaign from another machine
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
  description: Folder with the campaign's files.
  returned: success
  type: str
  sample: /home/user/result/first
signature:
  description: What the signature says; empty for an archive without one.
  returned: success
  type: str
  sample: Good "scalebench-acceptance" signature for vendor with ED25519 key SHA256:q87hA55OUS8FH54D
"""
