"""Options of every module that compares results with a baseline or holds them against a gate."""


class ModuleDocFragment:
    """What ``plugin_utils/verdicts.py`` reads."""

    DOCUMENTATION = r"""
options:
  baseline:
    description:
      - What to compare with, a campaign's name in O(results_dir), or the path of its folder, of its
        archive, of a C(results.json) or of another tree of logs; empty for nothing.
      - The change of every cell, and what changed between the two, become C(comparison) in
        C(results.json).
    type: str
    default: ''
  equivalence_margin:
    description: Change that does not matter, as a share of the throughput.
    type: float
    default: 0.02
  gate:
    description:
      - Rules that the results must keep, a file or the name of one in O(gates_dir); empty for none.
      - The verdicts become C(gate) in C(results.json). A broken rule is no failure of this module.
    type: str
    default: ''
  results_dir:
    description: Folder of all campaigns.
    type: path
    default: results
  gates_dir:
    description: Folder of the gates.
    type: path
    default: gates
"""
