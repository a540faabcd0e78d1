"""What a site has set on its servers, as roles find it and leave it."""

from pathlib import Path

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).resolve().parents[2]


def evaluated(text, **variables):
    """Return what Ansible makes of a text in a role or playbook."""
    return Templar(loader=DataLoader(), variables=variables).template(trust_as_template(text))


def test_needrestart_only_lists_services_whichever_play_installs():
    plays = yaml.safe_load((ROOT / "playbooks/provision.yml").read_text())
    installing = [play for play in plays if {"host_baseline", "framework"} & roles(play)]
    assert len(installing) == 2
    for play in installing:
        assert evaluated(play["environment"], **play["vars"])["NEEDRESTART_MODE"] == "l"


def roles(play):
    return {role["role"] for role in play.get("roles", [])}
