"""The fingerprint of a node, from the texts of files and tools."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.evidence.fingerprint import (
    GPU_QUERY,
    SETTINGS_QUERY,
    fingerprint,
    parse_gpu_settings,
    parse_gpus,
)


def row(line):
    """Return the fields of one line of nvidia-smi's CSV; those that are not in it are unknown."""
    fields = (*GPU_QUERY, *SETTINGS_QUERY)
    return {**dict.fromkeys(fields), **dict(zip(fields, line.split(", ")))}


def test_facts_are_parsed_from_the_files():
    facts = fingerprint(
        {
            "cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 7742\nprocessor\t: 1\n",
            "meminfo": "MemTotal:       24600000 kB\nMemFree: 1 kB\n",
            "os_release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
            "machine_id": "abc\n",
            "boot_id": "def\n",
            "loadavg": "0.42 0.1 0.0 1/99 5\n",
            "governors": "performance\npowersave\nperformance\n",
            "congestion": "cubic\n",
            "virtualisation": "none\n",
            "nvcc": "Cuda compilation tools, release 12.4, V12.4.131\nBuild cuda_12.4.r12.4\n",
            "ofed": "MLNX_OFED_LINUX-5.8-1.1.2.1:\n",
            "nccl": "libnccl.so.2.21.5",
            "cuda_driver": "12040",
        },
        [
            row(
                "0, Tesla V100, 16160, 440.33.01, GPU-1, 1290, 877, 1530, 877, 300.00, Enabled,"
                " Enabled"
            )
        ],
    )
    assert facts == {
        "cpu_model": "AMD EPYC 7742",
        "cpu_governor": "performance, powersave",
        "cpu_bfloat16": None,
        "memory_mib": 24023,
        "os": "Debian GNU/Linux 12 (bookworm)",
        "machine_id": "abc",
        "boot_id": "def",
        "load": 0.42,
        "virtualisation": "none",
        "tcp_congestion_control": "cubic",
        "ofed": "MLNX_OFED_LINUX-5.8-1.1.2.1",
        "cuda_driver": "12.4",
        "cuda_toolkit": "12.4.131",
        "nccl": "2.21.5",
        "gpus": [
            {
                "index": 0,
                "name": "Tesla V100",
                "memory_mib": 16160,
                "driver": "440.33.01",
                "uuid": "GPU-1",
            }
        ],
        "gpu_settings": [
            {
                "index": 0,
                "application_clock_mhz": 1290,
                "application_memory_clock_mhz": 877,
                "maximum_clock_mhz": 1530,
                "maximum_memory_clock_mhz": 877,
                "power_limit_watts": 300,
                "persistence_mode": "Enabled",
                "ecc_mode": "Enabled",
            }
        ],
    }


def test_missing_texts_give_unknown_facts_without_an_error():
    facts = fingerprint({})
    assert facts["cpu_model"] == "unknown"
    assert facts["gpus"] == facts["gpu_settings"] == []
    told = ("cpu_governor", "virtualisation", "ofed", "cuda_driver", "cuda_toolkit", "nccl")
    assert {name: facts[name] for name in told} == dict.fromkeys(told)


@pytest.mark.parametrize(
    ("detected", "flags", "expected"),
    [("kvm\n", "", "kvm"), ("", "fpu hypervisor sse", "hypervisor"), ("", "fpu", None)],
)
def test_a_guest_is_recognised_by_systemd_or_else_by_its_cpu(detected, flags, expected):
    facts = fingerprint({"virtualisation": detected, "cpuinfo": f"flags\t: {flags}\n"})
    assert facts["virtualisation"] == expected


@pytest.mark.parametrize(
    ("cpuinfo", "there"),
    [
        ("flags\t: fma avx2 f16c", False),
        ("flags\t: avx2 avx_vnni avx_ne_convert", False),
        ("flags\t: avx512f avx512bw avx512_vnni", False),
        ("flags\t: avx512f avx512bw avx512_bf16", True),
        ("flags\t: avx512f amx_bf16 amx_tile", True),
        ("Features\t: fp asimd", False),
        ("Features\t: fp asimd bf16", True),
        ("model name\t: x", None),
    ],
)
def test_a_cpu_has_instructions_for_bf16_or_has_none(cpuinfo, there):
    assert fingerprint({"cpuinfo": cpuinfo})["cpu_bfloat16"] is there


PLAIN = [
    row("0, Tesla V100-SXM2-16GB, 16160, 440.33.01, GPU-1"),
    row("1, NVIDIA GH200, [N/A], 580.1, GPU-2"),
]
SET = [
    row(
        "0, NVIDIA H100, 81559, 580.1, GPU-1, [Requested functionality has been deprecated], N/A,"
        " 1980, 2619, 650.50, Disabled, [N/A]"
    )
]


def test_gpus_are_parsed_from_nvidia_smi():
    assert [(gpu["index"], gpu["memory_mib"], gpu["driver"]) for gpu in parse_gpus(PLAIN)] == [
        (0, 16160, "440.33.01"),
        (1, None, "580.1"),
    ]


def test_settings_are_not_in_what_a_campaign_compares():
    assert parse_gpus(SET) == parse_gpus([{**SET[0], "power.limit": "350.00"}])
    assert set(parse_gpus(SET)[0]) == set(parse_gpus(PLAIN)[0])


def test_what_a_gpu_does_not_report_is_null():
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


@pytest.mark.parametrize("odd", ["\u00b2", "9" * 400, "1e5", "1.", "-1", "nan"])
def test_an_odd_figure_is_not_reported(odd):
    told = row(f"0, H100, {odd}, 580.1, GPU-1, N/A, N/A, 1980, 2619, {odd}, Disabled, [N/A]")
    assert parse_gpus([told])[0]["memory_mib"] is None
    assert parse_gpu_settings([told])[0]["power_limit_watts"] is None
    assert fingerprint({"meminfo": f"MemTotal: {odd} kB\n"})["memory_mib"] == 0


def test_a_total_without_a_figure_is_none_and_a_large_one_exact():
    large = "MemTotal:       4227858432 kB\n"
    for text, mib in (("MemTotal:\n", 0), (large, 4128768), (large.replace(" ", "\t"), 4128768)):
        assert fingerprint({"meminfo": text})["memory_mib"] == mib


def test_settings_that_the_driver_does_not_know_are_null():
    assert [set(gpu.values()) for gpu in parse_gpu_settings(PLAIN)] == [{0, None}, {1, None}]


def test_words_of_nvidia_smi_are_not_a_gpu():
    for words in ("Unknown words", "\u00b2, H100, 81559, 580.1, GPU-1"):
        with pytest.raises(ValueError, match=f"nvidia-smi answered '{words}', not index"):
            parse_gpus([row(words)])


def test_a_name_in_quotes_loses_them_alone_and_an_unknown_load_is_none():
    facts = fingerprint({"os_release": 'PRETTY_NAME="Linux X"\n'})
    assert (facts["os"], facts["load"]) == ("Linux X", 0.0)
