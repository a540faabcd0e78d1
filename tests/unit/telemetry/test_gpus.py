"""The GPUs of a node, out of nvidia-smi's answers."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.telemetry.gpus import (
    parse_gpu_settings,
    parse_gpus,
)

PLAIN = "0, Tesla V100-SXM2-16GB, 16160, 440.33.01, GPU-1\n1, NVIDIA GH200, [N/A], 580.1, GPU-2\n"
SET = (
    "0, NVIDIA H100, 81559, 580.1, GPU-1, [Deprecated], [N/A], 1980, 2619, 650.50, Disabled, [N/A]"
)


def test_gpus_are_read_out_of_nvidia_smi():
    assert [(gpu["index"], gpu["memory_mib"], gpu["driver"]) for gpu in parse_gpus(PLAIN)] == [
        (0, 16160, "440.33.01"),
        (1, None, "580.1"),
    ]


def test_settings_do_not_get_into_what_a_campaign_compares():
    assert parse_gpus(SET) == parse_gpus(SET.replace("650.50", "350.00"))
    assert set(parse_gpus(SET)[0]) == set(parse_gpus(PLAIN)[0])


def test_what_a_gpu_does_not_tell_is_null():
    assert parse_gpu_settings(SET) == [
        {
            "index": 0,
            "application_clock_mhz": None,
            "application_memory_clock_mhz": None,
            "maximum_clock_mhz": 1980,
            "maximum_memory_clock_mhz": 2619,
            "power_limit_watts": 650.5,
            "persistence_mode": "Disabled",
            "ecc_mode": None,
        }
    ]


def test_a_driver_that_was_asked_for_no_settings_has_none():
    assert parse_gpu_settings(PLAIN) == [{"index": 0}, {"index": 1}]


@pytest.mark.parametrize("parse", [parse_gpus, parse_gpu_settings])
def test_an_error_of_nvidia_smi_is_not_a_gpu(parse):
    with pytest.raises(ValueError, match="couldn't communicate"):
        parse("NVIDIA-SMI has failed because it couldn't communicate with the driver.")
