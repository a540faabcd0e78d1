"""The container engine that a node has, and the settings of its daemon."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.engines import (
    daemon_settings,
    engine_found,
)

DOCKER = {"lines": ["Docker version 28.2.2, build e6534b4"]}
PODMAN = {"lines": ["podman version 4.3.1"]}
WANTED = {"log-driver": "json-file", "log-opts": {"max-size": "100m", "max-file": "3"}}
CDI = {"features": {"cdi": True}}
SITE = {"log-driver": "journald", "log-opts": {"tag": "x"}, "features": {"buildkit": True}}


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
