"""The lookups that read benchmark files and published rows, through Ansible."""

import os
import subprocess
import sys
from pathlib import Path

from campaign_data import ROOT

PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.assert:
        that:
          - lookup('benchmark_frameworks', device='cpu', folder='') == ['pytorch']
          - lookup('benchmark_preparations', device='cpu', folder='') == []
          - rows | map(attribute='framework') | unique == ['NGC TensorFlow']
          - (lookup('published') | length) > (rows | length)
      vars:
        rows: "{{ lookup('published', 'reference_000_tensorflow_ngc') }}"
"""


def test_no_folder_is_the_projects_own_wherever_the_play_is(tmp_path):
    (tmp_path / "list.yml").write_text("- not a benchmark\n")
    (tmp_path / "play.yml").write_text(PLAY)
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "play.yml"],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
