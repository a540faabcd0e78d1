"""What a user may ask Slurm for."""

import re
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.scalebench.core.plugins.module_utils.slurm.options import (
    DIRECTIVES,
    directives,
    gpus_asked,
    nodes_needed,
)

ROOT = Path(__file__).resolve().parents[3]
KNOWN = yaml.safe_load((ROOT / "tests/unit/known_options.yml").read_text())
# A value of each option, and the word that sbatch gets.
EXAMPLES = {
    "nodes": (4, "--nodes=4"),
    "partition": ("gpu,short", "--partition=gpu,short"),
    "account": ("ab-123", "--account=ab-123"),
    "qos": ("high", "--qos=high"),
    "constraint": ("[rack1*2&rack2*4]", "--constraint=[rack1*2&rack2*4]"),
    "gres": ("gpu:h100:8", "--gres=gpu:h100:8"),
    "gpus_per_node": (8, "--gpus-per-node=8"),
    "exclusive": (True, "--exclusive"),
    "cpus_per_task": (48, "--cpus-per-task=48"),
    "memory": (0, "--mem=0"),
    "reservation": ("monday", "--reservation=monday"),
    "nodelist": ("n[1-4,7]", "--nodelist=n[1-4,7]"),
    "exclude": ("n9", "--exclude=n9"),
    "time": ("90min", "--time=90"),
    "mail_user": ("me@example.org", "--mail-user=me@example.org"),
    "mail_type": ("END,FAIL", "--mail-type=END,FAIL"),
}


def test_each_option_becomes_a_directive():
    assert {*EXAMPLES} == {directive.name for directive in DIRECTIVES}
    given = {name: value for name, (value, _) in EXAMPLES.items()}
    assert directives(given) == [word for _, word in EXAMPLES.values()]


def test_what_is_not_set_is_not_asked_for():
    assert directives(dict.fromkeys(EXAMPLES, "")) == []
    assert directives({"exclusive": "", "nodes": None}) == []


def test_shared_nodes_need_their_number_of_cpus():
    assert directives({"exclusive": False, "cpus_per_task": 4}) == ["--cpus-per-task=4"]
    with pytest.raises(ValueError, match=r"one core of each node: .* -e slurm_cpus_per_task="):
        directives({"exclusive": False, "cpus_per_task": ""})


def test_sbatch_knows_each_option():
    assert {directive.flag[2:] for directive in DIRECTIVES} <= {*KNOWN["sbatch"]["options"]}


def test_the_role_has_each_option_with_the_words_of_the_table():
    spec = yaml.safe_load((ROOT / "roles/slurm/meta/argument_specs.yml").read_text())
    options = spec["argument_specs"]["main"]["options"]
    for directive in DIRECTIVES:
        assert options[f"slurm_{directive.name}"]["description"] == directive.about
    passed = yaml.safe_load((ROOT / "roles/slurm/vars/main.yml").read_text())["__slurm_options"]
    names = {directive.name for directive in DIRECTIVES} | {"extra"}
    assert passed.pop("exclusive") == "{{ slurm_exclusive | bool }}"
    assert passed == {name: f"{{{{ slurm_{name} }}}}" for name in names - {"exclusive"}}


@pytest.mark.parametrize(
    ("given", "word"),
    [
        *((time, f"--time={time}") for time in ("90", "1:30", "1:30:00", "2-12", "2-12:00:00")),
        *(("8h", "--time=480"), ("2d", "--time=2880"), (90, "--time=90"), ("5400", "--time=5400")),
    ],
)
def test_a_time_limit_is_given_in_a_form_of_slurm_or_with_its_unit(given, word):
    assert directives({"time": given}) == [word]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": 0}, "slurm_nodes=0: 0 is not a whole number above 0"),
        ({"nodes": True}, "slurm_nodes=True: "),
        ({"nodes": "1-4"}, "slurm_nodes=1-4: "),
        ({"time": "soon"}, "slurm_time=soon: 'soon' is not a time limit"),
        ({"time": "1.5h"}, "slurm_time=1.5h: "),
        # YAML reads 1:30:00 without quotes as 5400, and 0123 as 83.
        ({"time": 5400}, "slurm_time=5400: 5400 is what YAML makes of a time without quotes"),
        ({"account": 83}, "slurm_account=83: 83 is a number, and YAML changes"),
        ({"exclusive": "user"}, "slurm_exclusive=user: 'user' is neither true nor false"),
        ({"partition": "a b"}, "slurm_partition=a b: 'a b' is not one word"),
        ({"account": "x\n#SBATCH --uid=0"}, "slurm_account=x"),
        ({"qos": "x#y"}, "slurm_qos=x#y: "),
        ({"gres": "$(id)"}, "slurm_gres=$(id): "),
        ({"colour": "red"}, "slurm_colour: there is no such option"),
        (dict.fromkeys(["e", "d", "c", "b", "a"], "red"), "slurm_a: there is no such option"),
        ({"extra": "--licenses=a"}, "slurm_extra=--licenses=a: is not a list"),
        ({"extra": ["licenses=a"]}, "slurm_extra: 'licenses=a' is not an option of sbatch"),
        ({"extra": ["--comment=a b"]}, "slurm_extra: '--comment=a b' is not an option"),
        ({"extra": ["--comment=a\nexit"]}, "slurm_extra: "),
        ({"extra": ["--array=1-9"]}, "slurm_extra: --array is set by Scalebench"),
        ({"extra": ["--arr=1-9"]}, "slurm_extra: --arr is set by Scalebench"),
        ({"extra": ["--outp=x"]}, "slurm_extra: --outp is set by Scalebench"),
        *(
            ({"extra": [f"--{name}=1"]}, f"slurm_extra: --{name} ")
            for name in (
                "clusters",
                "dependency",
                "begin",
                "mem-per-cpu",
                "mem-per-gpu",
                "export-file",
            )
        ),
        ({"extra": ["--nodes=9"]}, "slurm_extra: --nodes is set by Scalebench"),
        ({"extra": ["--cpus-per-task=9"]}, "slurm_extra: --cpus-per-task is set by Scalebench"),
        *(
            (
                {"extra": [f"{word}=16"]},
                f"slurm_extra: {word}: give GPUs of each node, slurm_gpus_per_node",
            )
            for word in ("--gpus", "--gpus-per-task", "--gpus-per-socket")
        ),
    ],
)
def test_a_value_that_cannot_be_one_is_refused_with_its_variable(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        directives(given)


def test_more_options_follow_as_they_are():
    extra = [
        "--licenses=matlab:2",
        "--contiguous",
        "--gpu-freq=low",
        "--gres-flags=enforce-binding",
    ]
    assert directives({"nodes": 2, "extra": extra}) == ["--nodes=2", *extra]


@pytest.mark.parametrize(
    ("topology", "count"), [("1n1g,4n8g,2n8g", 4), (["1n1g", "16n*g"], 16), ("2n8g", 2)]
)
def test_the_largest_topology_says_how_many_nodes(topology, count):
    assert nodes_needed(topology) == count


@pytest.mark.parametrize("topology", ["", None, [], "all", ["1n1g", "x"]])
def test_without_topologies_the_number_is_asked_for(topology):
    with pytest.raises(ValueError, match="slurm_nodes is not set"):
        nodes_needed(topology)


@pytest.mark.parametrize(
    ("given", "count"),
    [
        *(({"gpus_per_node": 8}, 8), ({"gpus_per_node": "h100:4"}, 4), ({"gres": "gpu:a100:2"}, 2)),
        *(({"gres": "nvme:1,gpu:8"}, 8), ({"gres": "gpu"}, 1), ({"gres": "none"}, 0)),
        *(({"gpus_per_node": "a:2,b:2"}, 4), ({"gres": "gpu:2", "gpus_per_node": "2"}, 2)),
        # What asks for no GPU is no word about them.
        *(({}, None), ({"gres": ""}, None), ({"gres": "nvme:1"}, None), ({"gres": "gpu:0"}, None)),
        *(({"gpus_per_node": "0"}, None), ({"gres": "shard:4"}, None)),
    ],
)
def test_the_gpus_of_each_node_that_are_asked_for(given, count):
    assert gpus_asked(given) == count


@pytest.mark.parametrize(
    ("given", "device"),
    [
        *(({}, "auto"), ({"slurm_gpus_per_node": 8}, "gpu"), ({"slurm_gres": "gpu:h100:8"}, "gpu")),
        *(({"slurm_gres": "none"}, "auto"), ({"slurm_gres": "nvme:1"}, "auto")),
    ],
)
def test_the_login_node_installs_for_the_gpus_of_the_job(given, device):
    path = ROOT / "inventory/example_slurm/group_vars/nodes/scalebench.yml"
    text = yaml.safe_load(path.read_text())["framework_device"]
    templar = Templar(loader=DataLoader(), variables=given)
    assert templar.template(trust_as_template(text)) == device
