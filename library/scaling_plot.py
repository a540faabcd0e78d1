"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: scaling_plot
short_description: Draw throughput, speed-up and efficiency as SVG or PNG
description:
  - An action plugin that runs on the controller, which needs matplotlib.
  - Writes C(throughput.svg), C(speedup.svg) and C(efficiency.svg) with the line of ideal scaling.
    Every repeat is a dot and every median a marker with its interval; the marker is hollow if the
    repeats oversubscribed their machine. The colours are safe for colour-blind readers.
  - The same input gives the same bytes.
options:
  series:
    description:
      - The lines of the plots, as returned by M(campaign_results).
      - Each has C(label), C(unit), C(base) (median of 1n1g, or null) and C(points) with
        C(topology), C(devices), C(repeats), C(median), C(speedup), C(oversubscribed) and optionally
        C(interval), the bounds of the interval of the median.
    type: list
    elements: dict
    required: true
  folder:
    description: Folder for the plots.
    type: path
    required: true
  png:
    description:
      - Whether to write a PNG of 144 dots per inch beside each SVG.
      - If false, existing PNGs of these names are removed, because they may show other data.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Draws; writes nothing.
  diff_mode:
    support: full
    description: Shows the change of the SVG files.
seealso:
  - module: campaign_results
  - module: log_tree_results
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Draw measurements of your own
  scaling_plot:
    folder: result
    series:
      - label: fp32
        unit: images/s
        base: 352.72
        points:
          - {topology: 1n1g, devices: 1, repeats: [352.1, 352.72, 353.0], median: 352.72,
             speedup: 1.0, oversubscribed: false}
          - {topology: 1n8g, devices: 8, repeats: [2612.0, 2625.38, 2636.7], median: 2625.38,
             speedup: 7.44, oversubscribed: false}
"""

RETURN = r"""
paths:
  description: Files that were written, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: [results/first/throughput.svg, results/first/speedup.svg, results/first/efficiency.svg]
removed:
  description: PNGs that were removed, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: []
described:
  description: Text alternatives by plot, as Markdown.
  returned: always
  type: dict
  sample: {speedup: "Speed-up by topology. fp32, times 1n1g: 1n1g 1.00, 1n8g 7.44."}
"""
