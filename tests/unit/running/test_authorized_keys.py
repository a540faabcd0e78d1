"""authorized_keys: renewed, kept for members, dropped for everyone else."""

from ansible_collections.scalebench.core.plugins.module_utils.running.cluster_nodes import (
    authorized_keys_lines,
)

OLD = """# Ansible managed
ssh-ed25519 AAA node1
ssh-ed25519 BBB node2
ssh-ed25519 MMM mallory
"""


def test_given_keys_replace_their_owners_and_those_of_other_members_stay():
    given = {"node1": ["ssh-ed25519 NEW someone@somewhere\n"]}
    assert authorized_keys_lines(OLD, given, ["node1", "node2"]) == [
        "ssh-ed25519 BBB node2",
        "ssh-ed25519 NEW node1",
    ]


def test_who_is_no_member_has_no_key():
    assert authorized_keys_lines(OLD, {}, ["node2"]) == ["ssh-ed25519 BBB node2"]
    assert authorized_keys_lines("", {"mallory": ["ssh-ed25519 MMM"]}, ["node2"]) == []


def test_a_member_whose_key_is_not_made_yet_keeps_its_old_one():
    assert authorized_keys_lines(OLD, {"node1": [""]}, ["node1"]) == ["ssh-ed25519 AAA node1"]


def test_the_same_keys_give_the_same_lines():
    given = {"node1": ["ssh-ed25519 AAA node1", "ssh-rsa RRR node1"]}
    once = authorized_keys_lines("", given, ["node1"])
    assert authorized_keys_lines("\n".join(once), given, ["node1"]) == once
    assert len(once) == 2
