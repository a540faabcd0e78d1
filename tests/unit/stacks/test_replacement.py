"""What a node has already stays, unless its replacement is allowed by name and disturbs nobody."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.replacement import (
    clock_kept,
    daemon_settings,
    engine_found,
    replacement,
)

BUSY = ["process 4242 (python train.py) on a GPU"]
DOCKER = {"lines": ["Docker version 28.2.2, build e6534b4"]}
PODMAN = {"lines": ["podman version 4.3.1"]}
WANTED = {"log-driver": "json-file", "log-opts": {"max-size": "100m", "max-file": "3"}}
CDI = {"features": {"cdi": True}}
SITE = {"log-driver": "journald", "log-opts": {"tag": "x"}, "features": {"buildkit": True}}


@pytest.mark.parametrize("found", [[None, None], ["580.159.04", None], ["580.159.04-1", ""], []])
@pytest.mark.parametrize("allowed", [False, True])
def test_nothing_is_replaced_where_there_is_none_or_the_wanted_version(found, allowed):
    decided = replacement("580.159.04", "driver", found, allowed, BUSY)
    assert decided == {"change": "", "refused": ""}


@pytest.mark.parametrize("found", [["550.127.08", "550.127.08"], [None, "550.127.08"]])
def test_another_version_stays_and_the_message_says_how_to_keep_and_to_replace_it(found):
    decided = replacement("580.159.04", "driver", found, False, BUSY)
    assert decided["change"] == "driver 550.127.08 -> 580.159.04"
    assert decided["refused"] == (
        "driver 550.127.08 is there, 580.159.04 is asked for, and what is there stays. To use it:"
        ' stack_overrides: {driver: {source: given, version: "550.127.08"}}. To replace it: -e'
        " nvidia_driver_replace_allowed=true"
    )


def test_nothing_is_replaced_beneath_running_work_even_if_it_is_allowed():
    decided = replacement("580.159.04", "driver", ["550.127.08"], True, BUSY)
    assert decided["refused"] == (
        "driver 550.127.08 -> 580.159.04 must wait for what runs there: process 4242 (python"
        " train.py) on a GPU. End it, or wait"
    )
    idle = replacement("580.159.04", "driver", ["550.127.08"], True)
    assert idle == {"change": decided["change"], "refused": ""}


@pytest.mark.parametrize("software", ["driver", "CUDA", "NCCL", "OFED"])
def test_what_a_message_tells_to_write_is_yaml_with_the_version_as_text(software):
    yaml = pytest.importorskip("yaml")
    refused = replacement("2.28.9", software, ["1.10"], False)["refused"]
    line = refused.split("To use it: ")[1].split(". To replace")[0]
    assert "'version': '1.10'" in str(yaml.safe_load(line))
    assert "'source': 'given'" in str(yaml.safe_load(line))


def test_a_version_that_begins_alike_is_another_one():
    assert replacement("580.15", "driver", ["580.159.04"], False)["change"]


@pytest.mark.parametrize("keeper", ["systemd-timesyncd", "ntpd", "phc2sys"])
def test_a_daemon_that_keeps_the_clock_stays_and_the_message_says_whether_it_is_in_sync(keeper):
    kept = clock_kept({"keeper": keeper, "synchronised": True}, False)
    assert kept == (
        f"the clock, which {keeper} keeps, is in sync. That stays; chrony takes its place with"
        " -e host_baseline_clock_replace_allowed=true"
    )
    assert "is NOT in sync" in clock_kept({"keeper": keeper, "synchronised": False}, False)
    assert clock_kept({"keeper": keeper, "synchronised": True}, True) == ""


def test_a_clock_in_sync_stays_with_whatever_daemon_keeps_it():
    clock = {"keeper": "", "synchronised": True}
    assert clock_kept(clock, False).startswith(
        "the clock, which a daemon unknown here keeps, is in sync. That stays;"
    )
    assert clock_kept(clock, True) == ""


@pytest.mark.parametrize(("keeper", "in_sync"), [("", False), ("chronyd", True)])
def test_chrony_is_configured_where_nobody_or_chrony_keeps_the_clock(keeper, in_sync):
    assert clock_kept({"keeper": keeper, "synchronised": in_sync}, False) == ""


@pytest.mark.parametrize(
    ("programs", "engine", "version"),
    [
        ({"docker": DOCKER, "dockerd": DOCKER}, "docker", "28.2.2"),
        ({"docker": DOCKER, "dockerd": {"lines": []}}, "docker", ""),
        ({"docker": PODMAN, "dockerd": {"lines": []}}, "docker", ""),
        ({"docker": PODMAN, "dockerd": PODMAN}, "docker", ""),
        ({"podman": PODMAN}, "podman", "4.3.1"),
        ({}, "podman", ""),
        (
            {
                "docker": {"lines": ["Docker version 26.1.5+dfsg1, build a72d7cd"]},
                "dockerd": DOCKER,
            },
            "docker",
            "28.2.2",
        ),
    ],
)
def test_an_engine_is_there_if_all_its_programs_are(programs, engine, version):
    assert engine_found(programs, engine) == version


def test_an_engine_that_was_there_gets_only_what_it_needs_and_keeps_its_values():
    assert daemon_settings(SITE, WANTED, CDI, kept=True, allowed=False) == {
        **SITE,
        "features": {"buildkit": True, "cdi": True},
    }
    switched_off = {"features": {"cdi": False}}
    assert daemon_settings(switched_off, WANTED, CDI, kept=True, allowed=False) == switched_off


def test_a_new_engine_gets_all_settings_that_the_file_does_not_have():
    assert daemon_settings(SITE, WANTED, CDI, kept=False, allowed=False) == {
        "log-driver": "journald",
        "log-opts": {"max-size": "100m", "max-file": "3", "tag": "x"},
        "features": {"buildkit": True, "cdi": True},
    }


def test_values_that_are_there_are_replaced_only_if_that_is_allowed():
    merged = daemon_settings(SITE, WANTED, CDI, kept=True, allowed=True)
    assert merged["log-driver"] == "json-file"
    assert merged["log-opts"] == {"max-size": "100m", "max-file": "3", "tag": "x"}


def test_a_second_run_changes_nothing():
    once = daemon_settings(SITE, WANTED, CDI, kept=False, allowed=False)
    assert daemon_settings(once, WANTED, CDI, kept=True, allowed=False) == once
