"""The shipped stacks, invalid stack files, overrides and mirrors."""

import re

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks import schema
from ansible_collections.scalebench.core.plugins.module_utils.stacks.problems import stack_problems
from ansible_collections.scalebench.core.plugins.module_utils.stacks.schema import (
    check_stack,
    resolved_stack,
)
from campaign_data import ROOT
from stack_data import NAMES, node, stack


def test_the_documentation_has_the_versions_of_each_shipped_stack():
    tables = re.split(r"^## ", (ROOT / "docs/stacks.md").read_text(), flags=re.MULTILINE)[0]
    rows = {row.split("`")[1]: row for row in tables.splitlines() if row.startswith("| `")}
    assert sorted(rows) == NAMES, "the first table of docs/stacks.md has a row for each stack"
    for name, row in rows.items():
        parts = [stack(name).get(key) for key in ("driver", "cuda", "cudnn", "nccl", "ofed")]
        missing = [part["version"] for part in parts if part and part["version"] not in row]
        assert not missing, f"the row of {name} in docs/stacks.md"


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_stack_is_valid(name):
    assert check_stack(stack(name), name) == stack(name)


@pytest.mark.parametrize("name", NAMES)
def test_no_package_of_a_shipped_stack_leaves_its_version_open(name):
    for key, record in stack(name).items():
        if isinstance(record, dict) and "packages" in record:
            for packages in record["packages"].values():
                assert all(record["version"] in package for package in packages), key


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cpu"])
def test_the_wheel_of_a_shipped_stack_serves_its_gpus_and_its_driver(name):
    definition = stack(name)
    record = definition.get("frameworks", {}).get("pytorch", {})
    if "unavailable" in record:
        return
    pins = dict(pin.split("==") for pin in record["packages"])
    # PyPI has the wheel for CUDA 13.0; others have a tag, and an index of that name.
    release, _, tag = pins.get("torch", "2.13.0").partition("+")
    assert release and record.get("url", "").rpartition("/")[2] == tag
    major, minor = (tag[2:-1], tag[-1]) if tag else ("13", "0")
    definition["cuda"]["version"] = f"{major}.{minor}"
    for architecture in definition["architectures"]:
        assert stack_problems(definition, node(architecture)) == []
    assert [pin for pin in pins if pin.startswith("nvidia-dali")] == [f"nvidia-dali-cuda{major}0"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stack": "other"}, "v100-2026: stack: should be v100-2026, the name of the file"),
        ({"drivers": {}}, r"v100-2026\.drivers: no such key; there are architectures, cuda"),
        ({"architectures": ["Volta"]}, "architectures: 'Volta' is not one of kepler, maxwell"),
        ({"architectures": []}, "architectures: required in a stack with a driver"),
        ({"driver": "580"}, "driver: a mapping is needed, not str"),
        ({"driver": {"version": None}}, r"driver\.version is missing"),
        ({"driver": {"version": 580.1}}, r"driver\.version: must be a string: quote it"),
        ({"driver": {"version": "new"}}, "'new' is not a version"),
        ({"driver": {"source": "apt"}}, r"driver\.source: 'apt' is not one of repository, distrib"),
        ({"driver": {"modules": "closed"}}, r"driver\.modules: open or proprietary, not 'closed'"),
        ({"driver": {"sha256": "abc"}}, r"driver\.sha256: 64 hexadecimal digits .* 'abc'"),
        (
            {"nccl": {"packages": ["libnccl2"]}},
            r"nccl\.packages: must map families of distributions",
        ),
        ({"ofed": {"source": "doca"}}, r"ofed\.key_url is missing: the key of the repository"),
        ({"frameworks": {"pytorch": {}}}, r"frameworks\.pytorch: either packages or unavailable"),
        (
            {"frameworks": {"pytorch": {"packages": ["torch"]}}},
            r"frameworks\.pytorch\.packages: 'torch' is not <name>==<version>",
        ),
        (
            {"frameworks": {"pytorch": {"packages": ["torch==2.13.0"], "index": "x"}}},
            r"frameworks\.pytorch\.index: no such key",
        ),
        *(
            ({"driver": {key: "x" * 5000}}, f"^.{{0,50}}{said}.{{0,80}}$")
            for key, said in (
                ("version", "'x{79} is not a version"),
                ("source", r"driver\.source: 'x{79} is not one of"),
                ("modules", r"driver\.modules: open or proprietary, not 'x{79}"),
            )
        ),
        ({"repository": {"url": ""}}, r"repository\.url is missing"),
        ({"driver": {"url": 5}}, r"driver\.url: a text is needed, not 5"),
        ({"architectures": 5}, "v100-2026: architectures: a list is needed, not int"),
        *(
            ({"frameworks": odd}, f"v100-2026: frameworks: a mapping is needed, not {kind}")
            for odd, kind in ((5, "int"), ("pytorch", "str"), (["pytorch"], "list"))
        ),
        (
            {"frameworks": {"pytorch": {"packages": 5}}},
            r"frameworks\.pytorch\.packages: a list is needed, not int",
        ),
    ],
)
def test_an_error_names_its_place(change, message):
    definition = stack("v100-2026")
    for key, value in change.items():
        merge = isinstance(value, dict) and isinstance(definition.get(key), dict)
        definition[key] = {**definition[key], **value} if merge else value
    with pytest.raises(ValueError, match=message):
        check_stack(definition, "v100-2026")


def test_an_override_sets_one_key_and_leaves_the_others():
    known = "0" * 64
    found = resolved_stack(stack("v100-2020"), "v100-2020", {"driver": {"sha256": known}})
    assert found["driver"] == {**stack("v100-2020")["driver"], "sha256": known}
    assert {**found, "driver": None} == {**stack("v100-2020"), "driver": None}


def test_null_removes_a_record():
    assert "nccl" not in resolved_stack(stack("v100-2026"), "v100-2026", {"nccl": None})


def test_an_override_is_checked_as_the_file_is():
    with pytest.raises(ValueError, match=r"driver\.modules: open or proprietary"):
        resolved_stack(stack("v100-2026"), "v100-2026", {"driver": {"modules": "both"}})


def test_a_mirror_keeps_host_and_path_of_every_download():
    found = resolved_stack(stack("v100-2020"), "v100-2020", {}, "https://mirror.example/files/")
    assert found["driver"]["url"] == (
        "https://mirror.example/files/us.download.nvidia.com/tesla/440.33.01/"
        "NVIDIA-Linux-x86_64-440.33.01.run"
    )


def test_a_mirror_has_the_key_of_a_repository_too():
    found = resolved_stack(stack("hopper-2026"), "hopper-2026", {}, "https://mirror.example")
    repository = "https://mirror.example/linux.mellanox.com/public/repo/doca"
    assert found["ofed"]["url"] == f"{repository}/3.2.0/ubuntu22.04/x86_64"
    assert found["ofed"]["key_url"] == f"{repository}/GPG-KEY-Mellanox.pub"


def test_overrides_are_not_mirrored():
    given = {"driver": {"url": "https://files.example/d.run"}, "ofed": {"url": "file:///o.tgz"}}
    found = resolved_stack(stack("v100-2020"), "v100-2020", given, "https://mirror.example")
    assert found["driver"]["url"] == "https://files.example/d.run"
    assert found["ofed"]["url"] == "file:///o.tgz"


@pytest.mark.parametrize(
    ("base", "over", "merged"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({"a": 1, "d": 4}, {"a": None, "e": None}, {"d": 4}),
    ],
)
def test_a_stack_replaces_what_it_states_key_by_key(base, over, merged):
    assert schema._merged(base, over) == merged


@pytest.mark.parametrize("key", ["driver", "cuda", "nccl", "ofed"])
def test_what_is_given_needs_nothing_but_its_version(key):
    definition = stack("v100-2026")
    definition[key] = {"source": "given", "version": "1.2"}
    if key == "driver":
        definition[key]["modules"] = "proprietary"
    assert check_stack(definition, "v100-2026")[key]["source"] == "given"
