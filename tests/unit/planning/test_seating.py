"""Which GPUs of a node may be used, by the inventory."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning.seating import (
    assign_gpus,
    chosen_gpus,
)


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        (True, "all"), ("true", "all"), ("all", "all"),
        ("none", "none"), (False, "none"), ("False", "none"), ("no", "none"),
        # As Ansible reads them: a list names GPU 0.
        ("0", "none"), (1, "all"), ([0], "0"),
        ([2, 0], "2,0"), (["1", "3"], "1,3"), ("0, 2", "0,2"), ([], "none"),
    ],
)  # fmt: skip
def test_gpus_are_chosen_by_a_boolean_or_their_numbers(choice, chosen):
    assert chosen_gpus(choice) == chosen


@pytest.mark.parametrize("choice", ["some", "0,,2", [0, 0], ["GPU-1"], [-1], 3])
def test_a_choice_that_is_neither_is_refused(choice):
    with pytest.raises(ValueError, match=r"scalebench_gpus: .*such as \[0, 2\]"):
        chosen_gpus(choice)


def test_ranks_run_on_the_chosen_gpus():
    gpus = [{"index": index, "uuid": f"GPU-{index}"} for index in (4, 6)]
    nodes = {"node1": {"fingerprint": {"gpus": gpus}}}
    assert assign_gpus(["node1"], 2, nodes) == {"node1": [4, 6]}
    assert assign_gpus(["node1"], 3, nodes) is None
