"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: scaling_report
short_description: Write the report on a campaign or on any tree of training logs
description:
  - An action plugin on the controller. It reads C(plan.json), every C(*.run.json) and the logs of a
    campaign, or any tree of logs, computes the results, and writes C(results.json),
    C(results.csv), C(junit.xml), C(scalebench.prom), C(report.html), C(report.md) and the plots,
    where they differ.
  - A failed repeat is a result with its reason. A file that cannot be read is named in the results
    and does not affect the others.
  - "Of a tree of logs it takes benchmark, precision, batch size, variant, topology and repeat from
    the paths: folders C([<benchmark>/][bz<batch>[-<variant>]/]<N>n<G>g/), at any depth, with names
    C(<model>_b<batch>_<precision>_<i>.log); or names alone, as in
    C(<model>_bs<batch>_<precision>_<mode>_N<nodes>C<cards>_log), with the cards of all nodes, and
    C(<name>_gpu<cards>_<precision>_bs<batch>.txt). It reads every log in the format it has, and
    also writes C(<last component of log_dir>_result.json) as the reference efforts did."
  - The page loads no external resources, and its content security policy forbids it to. Every value
    is escaped, control characters and long texts are cut, and known forms of secrets in log lines
    are replaced.
  - In the plots every repeat is a dot and every median a marker with its interval, hollow where the
    repeats oversubscribed their machine. The colours are distinguishable to the colour-blind.
  - The same input gives the same bytes, so that a second run changes nothing.
options:
  campaign_dir:
    description:
      - The folder of a campaign, into which the files are written. Either this or O(log_dir) is
        needed.
    type: path
    default: ""
  archive:
    description:
      - The archive from which O(campaign_dir) was unpacked. The results that the logs give are
        compared with those in it.
    type: path
    default: ""
  log_dir:
    description: A tree of logs.
    type: path
    default: ""
  output_dir:
    description: Where to write the report on a tree of logs.
    type: path
    default: ./result
  templates:
    description: The folder of C(report.html.j2), C(page.html.j2), C(report.css) and C(report.js).
    type: list
    elements: path
    required: true
  conditions:
    description:
      - Conditions of a tree of logs that its paths and logs do not state, such as C(gpu)
        (V100-SXM2-16GB), C(data) (real or synthetic), C(data_backend) (native or dali),
        C(image_size), C(xla), C(model) and C(framework). They are stored and named in the report.
      - What path and format of a log state takes precedence, except for the model.
    type: dict
    default: {}
  target_accuracy:
    description:
      - Top-1 accuracy in percent to which the time is wanted, for a tree of logs. In a campaign it
        is that of the plan.
    type: float
  published:
    description:
      - Folder of documents with published results to compare with, see P(published#lookup); empty
        for no comparison.
    type: path
    default: ""
  plots:
    description:
      - Whether to draw C(throughput.svg), C(speedup.svg), C(efficiency.svg) and where they apply
        C(step_time.svg), C(busbw.svg) and C(step_parts.svg). Needs matplotlib on the controller.
    type: bool
    default: true
  png:
    description:
      - Whether to write a PNG of 144 dots per inch beside each SVG.
      - If not, PNGs of these names in the folder are removed, as they may show other figures.
    type: bool
    default: false
  predict:
    description:
      - Topologies with commas, such as C(16n8g,64n8g), whose throughput is predicted from what was
        measured on smaller ones, where the campaign has all-reduces of its model's gradients.
    type: str
    default: ""
  acceptance:
    description:
      - What was promised, a file or the name of a file in O(acceptances_dir). Empty for what the
        campaign was begun with (C(acceptance.json) in its folder), if anything.
    type: str
    default: ""
  acceptances_dir:
    description: Folder of such files.
    type: path
    default: acceptance
extends_documentation_fragment:
  - scalebench.core.verdicts
attributes:
  check_mode:
    support: full
    description: Reads, computes and draws; writes nothing. A missing campaign folder is skipped.
  diff_mode:
    support: full
    description: Shows what changes in the files.
seealso:
  - module: training_log_facts
author:
  - Scalebench contributors
"""

EXAMPLES = r"""
- name: Write the report on a campaign
  scaling_report:
    campaign_dir: results/first
    templates: [roles/report/templates]
  register: first

- name: Verify the speed-up of two nodes
  ansible.builtin.assert:
    that: first.facts.pytorch.fp32.bz4.r50["2n1g"].speedup > 1.5

- name: Write the report on an old tree by the time stamps of its logs
  scaling_report:
    log_dir: logs/ngc/tensorflow/resnet50
    output_dir: result
    templates: [roles/report/templates]
    strategy: wall_clock
"""

RETURN = r"""
facts:
  description:
    - The reference facts, nested by benchmark, precision and variant.
    - A missing value is null; the reason stands in C(results.json), in the cell.
  returned: success
  type: dict
  sample:
    pytorch:
      fp32:
        bz4:
          r50:
            1n1g: {average_speed: 24.1, batch_size_per_device: 4, median_speed: 24.2, speedup: 1.0}
            2n1g: {average_speed: 44.0, batch_size_per_device: 4, median_speed: 44.1, speedup: 1.82}
table:
  description: The speed-up table with its remarks, for a terminal of 100 columns.
  returned: success
  type: str
text:
  description:
    - What to print, that is the table and the paths of the report; of a tree of logs first what the
      scripts of the reference efforts print.
  returned: success
  type: str
folder:
  description: Where the files are.
  returned: success
  type: str
  sample: results/first
paths:
  description: The files that were written, or would be.
  returned: success
  type: list
  elements: str
removed:
  description: The PNGs that were removed, or would be.
  returned: success
  type: list
  elements: str
  sample: []
counts:
  description:
    - Number of cells, of repeats planned, ok, failed, unavailable, skipped and not_run, and of
      files unmatched.
  returned: success
  type: dict
  sample: {cells: 3, planned: 9, ok: 8, failed: 1, unavailable: 0, skipped: 0, not_run: 0}
failures:
  description:
    - The repeats that failed or were unavailable, and searches without an answer, each with C(log),
      C(ending) and C(reason). Skipped repeats are not failures.
  returned: success
  type: list
  elements: dict
  sample: []
acceptance:
  description:
    - V(accepted), V(not accepted) or V(undecided) in C(verdict), and the lines in C(text). Empty
      where nothing was promised.
  returned: success
  type: dict
  sample: {}
gate:
  description:
    - Verdict on the gate with C(broken_rules), a line each, C(unshown_rules), those that are
      undecided and fail it, C(undecided_rules), those that do not fail it, and C(failures), the
      failed repeats that no rule of it allows.
    - Without a gate no rule is broken, and all failed repeats are listed.
  returned: success
  type: dict
  sample: {broken_rules: [], unshown_rules: [], undecided_rules: [], failures: []}
"""
