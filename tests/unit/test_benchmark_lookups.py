"""The lookups that read benchmark files and published rows, through Ansible."""

import json
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
    - ansible.builtin.assert:
        that: images == ['nvcr.io/nvidia/tensorflow:20.03-tf1-py3', 'registry.example/tf:9']
      vars:
        benchmark: tensorflow_ngc
        recipe: upstream
        variants: variants.yml
        images: "{{ lookup('benchmark_preparations', device='gpu', folder='')
          | map(attribute='container.reference') }}"
"""


def test_no_folder_is_the_projects_own_wherever_the_play_is(tmp_path):
    (tmp_path / "list.yml").write_text("- not a benchmark\n")
    variants = {"old": None, "new": {"image": "registry.example/tf:9"}}
    (tmp_path / "variants.yml").write_text(json.dumps({"variants": variants}))
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
