"""What published programs need on the nodes before they can run."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import preparations
from campaign_data import benchmarks


def prepared(mirror="", device="gpu", **options):
    options.setdefault("recipe", "upstream")
    options["benchmark"] = [options["benchmark"]]
    return preparations(benchmarks(), options, mirror, device)


def test_a_trainer_of_ours_needs_nothing_beforehand():
    assert prepared(benchmark="pytorch", recipe="portable") == []


def test_a_recipe_on_hosts_needs_its_sources_alone():
    (made,) = prepared(benchmark="paddle")
    assert made["name"] == "paddle-upstream"
    assert [source["name"] for source in made["sources"]] == ["models", "DALI_extra"]
    assert "container" not in made


def test_a_recipe_in_a_container_needs_an_image_made_from_the_published_one():
    (made,) = prepared(benchmark="tensorflow_ngc")
    container = made["container"]
    assert container["name"] == "scalebench-tensorflow_ngc-upstream"
    assert container["reference"] == "nvcr.io/nvidia/tensorflow:20.03-tf1-py3"
    assert container["built"] == "scalebench/tensorflow_ngc-upstream:fed7ba99cde9"
    assert container["shm_size"] == "16g"


def test_a_node_without_gpus_needs_other_sources_and_no_container():
    (made,) = prepared(benchmark="tensorflow_ngc", device="cpu")
    assert [source["name"] for source in made["sources"]] == ["DeepLearningExamples", "dllogger"]
    assert "container" not in made
    (of_gpus,) = prepared(benchmark="tensorflow_ngc")
    assert made["sources"][0] == of_gpus["sources"][0]


def test_a_mirror_stands_for_the_registry_of_what_is_pulled():
    (made,) = prepared("mirror.example/ngc", benchmark="tensorflow_ngc")
    assert made["container"]["reference"] == "mirror.example/ngc/nvidia/tensorflow:20.03-tf1-py3"
    assert made["container"]["image"] == "nvcr.io/nvidia/tensorflow:20.03-tf1-py3"


def test_a_recipe_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="there is no recipe 'nothing'"):
        prepared(benchmark="paddle", recipe="nothing")
