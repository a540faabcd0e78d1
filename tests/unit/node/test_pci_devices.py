import os

from ansible_collections.scalebench.core.plugins.module_utils.node.pci import pci_devices

V100 = {"vendor": "0x10de", "device": "0x1db1", "class": "0x030200"}
HCA = {"vendor": "0x15b3", "device": "0x1017", "class": "0x020700"}


def sysfs(folder, devices):
    """Write devices as sysfs shows them."""
    for slot, files in devices.items():
        path = folder / "bus/pci/devices" / slot
        path.mkdir(parents=True)
        for name, text in files.items():
            if name == "driver":
                target = folder / "bus/pci/drivers" / text
                target.mkdir(parents=True, exist_ok=True)
                os.symlink(target, path / "driver")
            else:
                (path / name).write_text(text + "\n")
    return str(folder)


def test_devices_of_a_vendor_come_in_the_order_of_the_bus(tmp_path):
    root = sysfs(
        tmp_path,
        {
            "0000:b1:00.0": V100,
            "0000:3b:00.0": {**V100, "driver": "nvidia"},
            "0000:5e:00.0": {**HCA, "driver": "mlx5_core"},
        },
    )
    assert pci_devices("10DE", root) == [
        {
            "slot": "0000:3b:00.0",
            "vendor": "10de",
            "device": "1db1",
            "device_class": "030200",
            "driver": "nvidia",
        },
        {
            "slot": "0000:b1:00.0",
            "vendor": "10de",
            "device": "1db1",
            "device_class": "030200",
            "driver": None,
        },
    ]
    assert [device["driver"] for device in pci_devices(sysfs=root)] == ["nvidia", "mlx5_core", None]


def test_a_node_without_a_pci_bus_has_no_devices(tmp_path):
    assert pci_devices("10de", str(tmp_path)) == []
