"""Options of the modules that compare results with a baseline or check them against a gate."""


class ModuleDocFragment:
    """Documents ``ARGUMENTS`` of ``plugin_utils/verdicts.py``."""

    DOCUMENTATION = r"""
options:
  baseline:
    description:
      - Baseline to compare with - the name of a campaign in O(results_dir), or the path of a
        campaign's folder, of its archive, of a C(results.json) or of a tree of logs. Empty for no
        comparison.
      - Several of them with commas, a pattern of names (V(nightly-*)), or V(last:4), the last four
        campaigns in O(results_dir) of the same hardware and plan. With campaigns of several days
        the comparison contains how much days differ.
      - The change of every cell, and what differs between the two, become C(comparison) in
        C(results.json).
    type: str
    default: ''
  equivalence_margin:
    description: Change of the throughput that does not matter, as a fraction.
    type: float
    default: 0.02
  gate:
    description:
      - Rules that the results must satisfy, as a file or the name of a file in O(gates_dir); empty
        for no gate.
      - The verdicts become C(gate) in C(results.json). A broken rule does not fail this module.
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
  strategy:
    description:
      - Rule that computes the throughput of a log from its observations.
      - V(auto) is the rule of the cell's benchmark, or else the default rule of the log's format.
    type: str
    default: auto
  parameters:
    description: Parameters of the strategy; by default those of the cell or of the strategy.
    type: dict
    default: {}
"""
