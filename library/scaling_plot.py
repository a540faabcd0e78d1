"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: scaling_plot
short_description: Draw throughput, speed-up and efficiency against the ideal line, as SVG or PNG
description:
  - An action plugin on the controller; it needs matplotlib there.
  - Writes C(throughput.svg), C(speedup.svg) and C(efficiency.svg). Every repeat is a dot and every
    median a marker with its interval, hollow where the repeats oversubscribed their machine. The
    colour-blind can tell the colours apart.
  - The same input gives the same bytes, so that nothing changes the second time.
options:
  series:
    description:
      - One element a line, as M(campaign_results) returns them.
      - Each has C(label), C(unit), C(base) (median of 1n1g, or null) and C(points) of C(topology),
        C(devices), C(repeats), C(median), C(speedup), C(oversubscribed), and C(interval), the
        ends of the interval of the median, where it is known.
    type: list
    elements: dict
    required: true
  folder:
    description: Where to write.
    type: path
    required: true
  png:
    description:
      - Whether to write a PNG of 144 dots per inch beside each SVG.
      - Where not, PNGs of these names that lie there are removed, as they may show other figures.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Draws and writes nothing.
  diff_mode:
    support: full
    description: Shows the SVG.
seealso:
  - module: campaign_results
  - module: log_tree_results
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Draw a measurement of one's own
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
  description: What was written, or would be.
  returned: always
  type: list
  elements: str
  sample: [results/first/throughput.svg, results/first/speedup.svg, results/first/efficiency.svg]
removed:
  description: The PNGs that were removed, or would be.
  returned: always
  type: list
  elements: str
  sample: []
described:
  description: The text alternatives by figure, as Markdown.
  returned: always
  type: dict
  sample: {speedup: "Speed-up by topology. fp32, times 1n1g: 1n1g 1.00, 1n8g 7.44."}
"""
