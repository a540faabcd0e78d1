"""What a node is, out of the texts that Linux offers."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.fingerprint import (
    fingerprint,
    parse_gpus,
)


def test_facts_are_read_out_of_the_files():
    facts = fingerprint(
        {
            "cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 7742\nprocessor\t: 1\n",
            "meminfo": "MemTotal:       24600000 kB\nMemFree: 1 kB\n",
            "os_release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
            "machine_id": "abc\n",
            "boot_id": "def\n",
            "loadavg": "0.42 0.1 0.0 1/99 5\n",
        }
    )
    assert facts == {
        "cpu_model": "AMD EPYC 7742",
        "memory_mib": 24023,
        "os": "Debian GNU/Linux 12 (bookworm)",
        "machine_id": "abc",
        "boot_id": "def",
        "load": 0.42,
        "gpus": [],
    }


def test_what_is_missing_is_unknown_and_no_error():
    assert fingerprint({})["cpu_model"] == "unknown"


def test_gpus_are_read_out_of_nvidia_smi():
    text = (
        "0, Tesla V100-SXM2-16GB, 16160, 440.33.01, GPU-1\n1, NVIDIA GH200, [N/A], 580.1, GPU-2\n"
    )
    assert [(gpu["index"], gpu["memory_mib"], gpu["driver"]) for gpu in parse_gpus(text)] == [
        (0, 16160, "440.33.01"),
        (1, None, "580.1"),
    ]


def test_an_error_of_nvidia_smi_is_not_a_gpu():
    with pytest.raises(ValueError, match="couldn't communicate"):
        parse_gpus("NVIDIA-SMI has failed because it couldn't communicate with the driver.")
