"""ssh files of the nodes: renewed, kept, dropped, sorted; and why a node cannot be used."""

from ansible_collections.scalebench.core.plugins.module_utils.running.cluster_nodes import (
    authorized_keys_lines,
    known_hosts_lines,
    node_problems,
    other_controllers,
    with_public_keys,
)

KNOWN = """# Ansible managed
[127.0.0.3]:10000 ssh-ed25519 BBB
[127.0.0.2]:10000 ssh-ed25519 AAA
"""


def test_a_new_key_replaces_the_old_one_and_the_others_stay():
    assert known_hosts_lines(KNOWN, {"127.0.0.2": ["ssh-ed25519 NEW node1\n"]}, 10000) == [
        "[127.0.0.2]:10000 ssh-ed25519 NEW",
        "[127.0.0.3]:10000 ssh-ed25519 BBB",
    ]


def test_the_same_host_keys_give_the_same_lines():
    keys = {"127.0.0.2": ["ssh-ed25519 AAA"], "127.0.0.3": ["ssh-ed25519 BBB"]}
    assert known_hosts_lines(KNOWN, keys, 10000) == known_hosts_lines("", keys, 10000)


def test_a_node_without_a_key_yet_has_no_line():
    assert known_hosts_lines("", {"127.0.0.2": [""]}, 10000) == []


def test_a_key_type_that_the_host_no_longer_has_is_dropped():
    old = "[127.0.0.2]:10000 ssh-rsa AAA\n[127.0.0.2]:22 ssh-rsa AAA\n"
    assert known_hosts_lines(old, {"127.0.0.2": ["ssh-ed25519 BBB"]}, 10000) == [
        "[127.0.0.2]:10000 ssh-ed25519 BBB",
        "[127.0.0.2]:22 ssh-rsa AAA",
    ]


KEYS = """# Ansible managed
ssh-ed25519 AAA node1
ssh-ed25519 BBB node2
ssh-ed25519 MMM mallory
"""


def test_given_keys_replace_their_owners_and_those_of_other_members_stay():
    given = {"node1": ["ssh-ed25519 NEW someone@somewhere\n"]}
    assert authorized_keys_lines(KEYS, given, ["node1", "node2"]) == [
        "ssh-ed25519 BBB node2",
        "ssh-ed25519 NEW node1",
    ]


def test_only_members_have_a_key():
    assert authorized_keys_lines(KEYS, {}, ["node2"]) == ["ssh-ed25519 BBB node2"]
    assert authorized_keys_lines("", {"mallory": ["ssh-ed25519 MMM"]}, ["node2"]) == []


def test_a_member_without_a_new_key_keeps_its_old_key():
    assert authorized_keys_lines(KEYS, {"node1": [""]}, ["node1"]) == ["ssh-ed25519 AAA node1"]


def test_the_same_public_keys_give_the_same_lines():
    given = {"node1": ["ssh-ed25519 AAA node1", "ssh-rsa RRR node1"]}
    once = authorized_keys_lines("", given, ["node1"])
    assert authorized_keys_lines("\n".join(once), given, ["node1"]) == once
    assert len(once) == 2


TRAINER = "resnet50/train_pytorch.py"
WELL = {"unusable": {}, "fingerprint": {"disk_free_mib": 900}, "workload": {TRAINER: "83f3"}}
PYTHONS = {"pytorch": "/no/python", "mxnet": "/venv/bin/python"}


def problems(probe, pythons=PYTHONS, copied=True):
    needed = (500, pythons, {TRAINER: {"named_by": "x.yml: recipes.y.workload", "copied": copied}})
    return node_problems(probe, "10.0.0.2 port 10000", "/var/tmp/scalebench", *needed)


def test_a_usable_node_has_no_problems():
    assert problems(WELL) == []


def test_each_problem_says_what_to_do():
    (unreachable,) = problems({"unreachable": True, "msg": "timed out"})
    assert unreachable.startswith("10.0.0.2 port 10000 cannot be reached: timed out. Run ansible-")
    closed = "kex_exchange_identification: Connection closed by UNKNOWN port 65535"
    (behind,) = problems({"unreachable": True, "msg": closed})
    assert "try ssh to the jump host by hand" in behind and "provision.yml" not in behind
    (full,) = problems({**WELL, "fingerprint": {"disk_free_mib": 3}})
    assert full.startswith("3 MiB are free at /var/tmp/scalebench, 500 are needed")


def test_a_node_that_was_never_provisioned_is_told_by_what_it_lacks():
    (bare,) = problems({**WELL, "workload": {"launch/other.py": "1234"}})
    assert bare.startswith(f"the trainer {TRAINER} is not there. Run ansible-playbook playbooks/")
    assert problems(WELL, copied=False) == [], "a trainer of the user's own that is there"


def test_a_trainer_that_nothing_copies_is_told_with_the_key_that_names_it():
    (nowhere,) = problems({**WELL, "workload": {}}, copied=False)
    assert nowhere.startswith(f"the trainer {TRAINER} is not there, nor in workloads/, which")
    assert "Correct x.yml: recipes.y.workload, or give" in nowhere


def test_a_missing_framework_matters_only_when_no_other_is_there():
    one = {**WELL, "unusable": {"pytorch": "there is no such file"}}
    assert problems(one) == []
    (none,) = problems(one, {"pytorch": "/no/python"})
    assert none.startswith("the interpreter of pytorch, /no/python: there is no such file.")
    # Without it provision.yml would install another framework.
    assert "playbooks/provision.yml with this inventory and the same -e benchmark=, or" in none
    # What no provisioning repairs makes cells unavailable.
    absent = {**WELL, "unusable": {"pytorch": "no package index has torch==0.1: …"}}
    assert problems(absent, {"pytorch": "/no/python"}) == []


def test_every_node_gets_the_keys_of_its_own_files():
    names = {node: [f"/{node}_host/h2", f"/{node}_host/h1", f"/{node}/u"] for node in ("n1", "n2")}
    nodes = [
        {"name": node, "pairs": {"folder": f"/{node}", "names": names[node]}} for node in names
    ]
    one, two = with_public_keys(
        nodes, {path: f"of {path}" for paths in names.values() for path in paths}
    )
    assert (one["name"], one["host_keys"]) == ("n1", ["of /n1_host/h2", "of /n1_host/h1"])
    assert (one["user_keys"], two["user_keys"]) == (["of /n1/u"], ["of /n2/u"])


def test_other_controllers_keep_their_access():
    """Until version 0.2 every controller was named the same, and one locked out the other."""
    existing = KEYS + (
        "ssh-ed25519 CCC controller:anna@one:/srv/a\nssh-ed25519 DDD controller\n"
        "ssh-ed25519 EEE controller:me@two:/srv/b\n#ssh-ed25519 FFF controller\n"
        "ssh-ed25519 GGG notcontroller\nssh-ed25519 HHH controllers\n"
    )
    assert other_controllers(existing, ["ssh-ed25519 EEE me@two\n"], "controller:me@two") == [
        "ssh-ed25519 CCC controller:anna@one:/srv/a",
        "ssh-ed25519 DDD controller",
    ]
    # After an upgrade the line with the old name is this controller's own.
    assert other_controllers("ssh-ed25519 DDD controller\n", ["ssh-ed25519 DDD x"], "") == []
    # A key that this controller had before is not another's.
    assert other_controllers("ssh-ed25519 OLD controller:me\n", [], "controller:me") == []
    assert other_controllers("", [], "controller:me") == []
