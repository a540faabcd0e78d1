"""What overrides and mirrors make of a stack."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.resolve import resolved_stack
from stack_data import stack


def test_an_override_sets_one_key_and_leaves_the_others():
    known = "0" * 64
    found = resolved_stack(stack("v100-2020"), "v100-2020", {"driver": {"sha256": known}})
    assert found["driver"] == {**stack("v100-2020")["driver"], "sha256": known}
    assert {**found, "driver": None} == {**stack("v100-2020"), "driver": None}


def test_null_takes_a_record_away():
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
    assert found["code"]["tensorflow_ngc"]["url"] == (
        "https://mirror.example/files/github.com/NVIDIA/DeepLearningExamples"
    )


def test_a_mirror_has_the_key_of_a_repository_too():
    found = resolved_stack(stack("hopper-2026"), "hopper-2026", {}, "https://mirror.example")
    repository = "https://mirror.example/linux.mellanox.com/public/repo/doca"
    assert found["ofed"]["url"] == f"{repository}/3.2.0/ubuntu22.04/x86_64"
    assert found["ofed"]["key_url"] == f"{repository}/GPG-KEY-Mellanox.pub"


def test_what_the_user_gives_is_not_mirrored():
    given = {"driver": {"url": "https://files.example/d.run"}, "ofed": {"url": "file:///o.tgz"}}
    found = resolved_stack(stack("v100-2020"), "v100-2020", given, "https://mirror.example")
    assert found["driver"]["url"] == "https://files.example/d.run"
    assert found["ofed"]["url"] == "file:///o.tgz"


def test_a_registry_takes_the_place_of_the_images_own():
    found = resolved_stack(stack("v100-2020"), "v100-2020", {}, "", "registry.example:5000")
    assert found["images"]["mxnet_ngc"]["image"] == "registry.example:5000/nvidia/mxnet"
    assert found["driver"] == stack("v100-2020")["driver"]
