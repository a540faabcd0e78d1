"""known_hosts: renewed, kept, sorted."""

from ansible_collections.scalebench.core.plugins.module_utils.running.cluster_nodes import (
    known_hosts_lines,
)

OLD = """# Ansible managed
[127.0.0.3]:10000 ssh-ed25519 BBB
[127.0.0.2]:10000 ssh-ed25519 AAA
"""


def test_a_new_key_replaces_the_old_one_and_the_others_stay():
    assert known_hosts_lines(OLD, {"127.0.0.2": ["ssh-ed25519 NEW node1\n"]}, 10000) == [
        "[127.0.0.2]:10000 ssh-ed25519 NEW",
        "[127.0.0.3]:10000 ssh-ed25519 BBB",
    ]


def test_the_same_keys_give_the_same_lines():
    keys = {"127.0.0.2": ["ssh-ed25519 AAA"], "127.0.0.3": ["ssh-ed25519 BBB"]}
    assert known_hosts_lines(OLD, keys, 10000) == known_hosts_lines("", keys, 10000)


def test_a_node_without_a_key_yet_has_no_line():
    assert known_hosts_lines("", {"127.0.0.2": [""]}, 10000) == []


def test_a_kind_of_key_that_the_host_has_no_more_is_dropped():
    old = "[127.0.0.2]:10000 ssh-rsa AAA\n[127.0.0.2]:22 ssh-rsa AAA\n"
    assert known_hosts_lines(old, {"127.0.0.2": ["ssh-ed25519 BBB"]}, 10000) == [
        "[127.0.0.2]:10000 ssh-ed25519 BBB",
        "[127.0.0.2]:22 ssh-rsa AAA",
    ]
