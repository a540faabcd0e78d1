"""Paths of logs: both naming schemes, every variant kept apart, nothing left out."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.facts.lognames import parse_log_path
from ansible_collections.scalebench.core.plugins.module_utils.facts.logtree import group_logs


def cell(path: str, root: str = "") -> tuple:
    (log,) = parse_log_path(path, root)
    return tuple(
        log[key] for key in ("benchmark", "variant", "topology", "model", "precision", "repeat")
    )


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        (
            "pytorch/bz4/2n1g/r50_b4_fp32_1.log",
            "results/x/logs",
            ("pytorch", "bz4", "2n1g", "r50", "fp32", 1),
        ),
        (
            "ngc/tensorflow/resnet50/bz224-xla-dali/16n8g/r50_b224_amp_12.log",
            "logs",
            ("ngc/tensorflow/resnet50", "bz224-xla-dali", "16n8g", "r50", "amp", 12),
        ),
        # The folder given is the bz level, as in the command of the reference efforts.
        (
            "4n8g/r50_b128_fp32_1.log",
            "logs/paddle/resnet50/bz128/",
            ("resnet50", "bz128", "4n8g", "r50", "fp32", 1),
        ),
        # Older layout, no bz level.
        ("1n1g/rn50_b96_fp16_6.log", "resnet50", ("resnet50", "bz96", "1n1g", "rn50", "fp16", 6)),
        (
            "rn50_b96_fp16_6.log",
            "a/resnet50/bz96-xla/10n8g",
            ("resnet50", "bz96-xla", "10n8g", "rn50", "fp16", 6),
        ),
        # Variants in the name.
        (
            "1n1g/bert_base_b128_pure_fp16_xla_3.log",
            "t",
            ("t", "bz128-xla", "1n1g", "bert_base", "pure_fp16", 3),
        ),
        # The Perf schemes: cards are counted over all nodes.
        (
            "PaddleClas_ResNet50_bs256_pure_fp16_DP_N1C8_log",
            "Perf",
            ("Perf", "bz256", "1n8g", "PaddleClas_ResNet50", "pure_fp16", 1),
        ),
        (
            "logs/PaddleClas_ResNet50_bs256_fp32_MultiP_DP_N4C32_log",
            "Perf",
            ("Perf", "bz256", "4n8g", "PaddleClas_ResNet50", "fp32", 1),
        ),
        (
            "PyTorch/logs/pytorch_gpu32_amp_bs256.txt",
            "Perf",
            ("PyTorch", "bz256", "4n8g", "pytorch", "amp", 1),
        ),
    ],
)
def test_path_names_the_cell(path, root, expected):
    assert cell(path, root) == expected


def test_variant_gives_its_factors():
    (log,) = parse_log_path("t/bz64-xla-dali-real-160px/1n2g/r50_b64_amp_1.log")
    assert log["xla"] is True
    assert log["data_backend"] == "dali"
    assert log["data"] == "real"
    assert log["image_size"] == 160
    assert (log["nodes"], log["devices_per_node"], log["batch_size_per_device"]) == (1, 2, 64)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("README.md", "its name is neither"),
        ("bz64/r50_b64_fp32_1.log", "no folder above it is a topology"),
        ("bz64/0n1g/r50_b64_fp32_1.log", "no folder above it is a topology"),
        ("bz64/1n1g/r50_b128_fp32_1.log", "differ in the batch size"),
        ("m_bs8_fp32_DP_N3C8_log", "8 cards in all do not divide over 3 nodes"),
        ("m_bs8_fp32_DP_N1C9999999999_log", "is not a topology"),
        ("bz64/9n1000000000g/r50_b64_fp32_1.log", "is not a topology"),
        ("m_bs8_fp32_DP_N0C8_log", "do not divide over 0 nodes"),
    ],
)
def test_path_without_a_place_has_a_reason(path, reason):
    with pytest.raises(ValueError, match=reason):
        parse_log_path(path)


def test_a_file_of_two_runs_is_two_logs():
    found = group_logs(["mx/mxnet_gpu1_gpu8_amp_bs128.txt"])["logs"]
    assert [(log["topology"], log["run"], log["model"]) for log in found] == [
        ("1n1g", 1, "mxnet"),
        ("1n8g", 2, "mxnet"),
    ]


def test_mixed_precision_variants_and_topologies_stay_apart():
    paths = [
        f"tf/{variant}/{topology}/r50_b{variant[2:].split('-')[0]}_{precision}_{repeat}.log"
        for variant in ("bz128", "bz128-xla", "bz64")
        for topology in ("1n1g", "16n8g", "2n8g")
        for precision in ("fp32", "amp")
        for repeat in range(1, 12)
    ]
    found = group_logs(reversed(paths), "logs")
    logs = found["logs"]
    assert sorted(log["path"] for log in logs) == sorted(paths)
    assert not found["unmatched"]
    groups = {(log["precision"], log["variant"]) for log in logs}
    assert len(groups) == 6
    first = [log for log in logs if (log["precision"], log["variant"]) == ("fp32", "bz64")]
    assert logs[:33] == first, "groups are together, fp32 and smaller batches first"
    assert [log["topology"] for log in first[::11]] == ["1n1g", "2n8g", "16n8g"]
    assert [log["repeat"] for log in first[:11]] == list(range(1, 12))


def test_every_path_is_accounted_for():
    paths = [
        "b/bz4/1n1g/r50_b4_fp32.log",
        "b/bz4/1n1g/r50_b4_fp32_1.log",
        "b/bz4/1n1g/r50_b4_fp32_1.node2.txt",
        "b/bz4/1n1g/r50_b4_fp32_1.run.json",
        "b/bz4/1n1g/r50_b4_fp32_1.txt",
        "b/bz4/1n1g/r50_b4_fp32_9.run.json",
        "notes.txt",
        "results.json",
    ]
    found = group_logs(paths)
    assert [log["path"] for log in found["logs"]] == [paths[1]]
    assert found["companions"] == [paths[2], paths[3], paths[7]]
    assert {item["path"]: item["reason"][:20] for item in found["unmatched"]} == {
        paths[0]: "it is the same repea",
        paths[4]: "it is the same repea",
        paths[5]: "its name is neither ",
        paths[6]: "its name is neither ",
    }


def test_companions_of_a_model_whose_name_has_dots():
    stem = "v1.2/bz4/1n1g/resnet50_v1.5_b4_fp32_1"
    paths = [f"{stem}.log", f"{stem}.node1.out", f"{stem}.run.json", f"{stem[:-1]}2.run.json"]
    found = group_logs(paths)
    assert found["companions"] == paths[1:3]
    assert [item["path"] for item in found["unmatched"]] == paths[3:]


def test_a_folder_named_like_a_log_is_no_companion():
    paths = ["bz4/1n1g/r50_b4_fp32_1.log", "bz4/1n1g/r50_b4_fp32_1.old/notes.txt"]
    assert [item["path"] for item in group_logs(paths)["unmatched"]] == paths[1:]


def test_empty_tree():
    assert group_logs([]) == {"logs": [], "companions": [], "unmatched": []}
