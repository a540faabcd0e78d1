"""The matrix: defaults by device, restriction, seating, refusal."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.matrix import expand
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.planning.recipes import (
    declared_factors,
    frameworks,
)
from campaign_data import benchmarks, cluster


def cells(nodes, **options):
    known = benchmarks()
    return expand(known, parse_options(options, own=declared_factors(known)), nodes)


def test_cpu_nodes_get_the_small_default():
    made = cells(cluster(4))
    assert [cell["topology"] for cell in made] == ["1n1g", "2n1g", "4n1g"]
    method = {(cell["repeats"], cell["warmup"], cell["iterations"]) for cell in made}
    assert method == {(3, 10, 50)}
    assert {cell["precision"] for cell in made} == {"fp32"}
    assert made[2]["node_names"] == ["node1", "node2", "node3", "node4"]


def test_gpu_nodes_get_the_reference_efforts_topologies():
    made = cells(cluster(4, gpus=8), precision="fp32", batch_size_per_device=128)
    assert [cell["topology"] for cell in made] == ["1n1g", "1n8g", "2n8g", "4n8g"]
    assert {cell["own_factors"]["image_size"] for cell in made} == {224}
    assert {(cell["warmup"], cell["iterations"]) for cell in made} == {(20, 100)}


def test_nodes_with_and_without_gpus_have_the_defaults_of_cpus():
    mixed = {**cluster(2, gpus=8), "node3": cluster(3)["node3"]}
    made = cells(mixed, topology="1n1g")
    assert {(cell["device"], cell["warmup"], cell["iterations"]) for cell in made} == {
        ("cpu", 10, 50)
    }


@pytest.mark.parametrize("name", ["pytorch", "tensorflow_ngc", "mxnet_ngc", "paddle"])
def test_cpu_nodes_measure_half_of_the_method_and_all_of_it_on_request(name):
    (made,) = cells(cluster(1), benchmark=name, topology="1n1g")
    assert (made["warmup"], made["iterations"]) == (10, 50)
    (asked,) = cells(cluster(1), benchmark=name, topology="1n1g", warmup=20, iterations=100)
    assert (asked["warmup"], asked["iterations"]) == (20, 100)
    on_gpus = cells(cluster(1, gpus=8), benchmark=name, topology="1n1g")
    assert {(cell["warmup"], cell["iterations"]) for cell in on_gpus} == {(20, 100)}


def test_default_topologies_that_cannot_be_seated_are_left_out():
    assert [cell["topology"] for cell in cells(cluster(3))] == ["1n1g", "2n1g"]


def test_nodes_of_one_machine_do_not_share_a_gpu():
    one_machine = cluster(4, gpus=1, machine="same")
    assert {cell["topology"] for cell in cells(one_machine)} == {"1n1g"}
    with pytest.raises(ValueError, match="topology=2n1g: it needs 2 node"):
        cells(one_machine, topology="2n1g")


def test_options_vary_and_restrict():
    made = cells(cluster(4), precision="fp32,amp", topology="2n1g", repeats=7)
    assert [(cell["precision"], cell["topology"], cell["repeats"]) for cell in made] == [
        ("fp32", "2n1g", 7),
        ("amp", "2n1g", 7),
    ]


def test_smaller_topologies_come_first_in_whatever_order_they_are_asked_for():
    made = cells(cluster(4), topology="4n1g,1n1g,2n1g")
    assert [cell["topology"] for cell in made] == ["1n1g", "2n1g", "4n1g"]


def test_every_varied_factor_is_in_the_log_path():
    made = cells(
        cluster(4), precision="fp32,amp", batch_size_per_device="4,8", data="synthetic,real",
        image_size="32,64", topology="1n1g,2n1g",
    )  # fmt: skip
    assert len(made) == 32
    assert len({(cell["directory"], cell["name"]) for cell in made}) == 32
    assert made[0]["directory"] == "pytorch/bz4/1n1g"
    assert any(cell["directory"] == "pytorch/bz8-real-64px/2n1g" for cell in made)


def test_two_cells_with_the_same_logs_are_refused():
    known = benchmarks()
    known["pytorch"]["recipes"]["portable"]["choices"]["mode"] = ["train", "real"]
    options = parse_options({"mode": "train,real", "data": "synthetic,real", "topology": "1n1g"})
    words = "bz2-real/1n1g/.* data=synthetic, mode=real and of data=real, mode=train would lie "
    with pytest.raises(ValueError, match=words):
        expand({"pytorch": known["pytorch"]}, options, cluster(1))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": "fp8"}, "-e precision=fp8: there is no precision 'fp8'; the choices are"),
        ({"benchmark": "tf"}, "-e benchmark=tf: there is no benchmark 'tf'; the choices are"),
        ({"recipe": "mine"}, "-e recipe=mine: there is no recipe 'mine'"),
        ({"topology": "8n1g"}, "needs 8 node(s) with 1 device(s) each; the inventory has 4"),
        ({"topology": "1n2g"}, "From 1n1g to 4n1g can be seated"),
        ({"xla": "true"}, "the choices are false"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_choices(options, said):
    with pytest.raises(ValueError) as error:
        cells(cluster(4), **options)
    assert said in str(error.value)


def test_star_means_every_device_of_a_node():
    made = cells(cluster(2, gpus=4), topology="2n*g", precision="amp", batch_size_per_device=8)
    assert [cell["topology"] for cell in made] == ["2n4g"]


def test_star_of_unlike_nodes_is_what_each_of_them_has():
    unlike = {**cluster(2, gpus=4), "node2": cluster(2, gpus=2)["node2"]}
    made = cells(unlike, topology="2n*g", precision="amp", batch_size_per_device=8)
    assert [cell["topology"] for cell in made] == ["2n2g"]


def test_frameworks_are_known_before_the_nodes():
    assert frameworks(benchmarks(), {"benchmark": ["pytorch"]}) == ["pytorch"]
