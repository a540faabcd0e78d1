"""Which driver is found, on folders that look like a node's."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.nvidia_driver import driver


@pytest.fixture
def node(tmp_path):
    """Return a function that looks at the folders, after it put files there."""

    def look(libraries=(), loaded=None, nouveau=False):
        folder, sysfs = tmp_path / "lib", tmp_path / "sys"
        folder.mkdir(exist_ok=True)
        for name in libraries:
            (folder / name).touch()
        if loaded:
            (sysfs / "module/nvidia").mkdir(parents=True)
            (sysfs / "module/nvidia/version").write_text(f"{loaded}\n")
        if nouveau:
            (sysfs / "module/nouveau").mkdir(parents=True)
        return driver(str(sysfs), [str(tmp_path / "none"), str(folder)])

    return look


def test_a_bare_node_has_none(node):
    nothing = {"driver_installed": None, "driver_loaded": None, "nouveau_loaded": False}
    assert node() == nothing


def test_what_is_installed_and_what_runs_are_told_apart(node):
    found = node(["libnvidia-ml.so.1", "libnvidia-ml.so.580.159.04"], loaded="570.133.20")
    assert found["driver_installed"] == "580.159.04"
    assert found["driver_loaded"] == "570.133.20"


def test_a_link_alone_is_no_driver(node):
    assert node(["libnvidia-ml.so.1"])["driver_installed"] is None


def test_nouveau_is_seen(node):
    assert node(nouveau=True)["nouveau_loaded"] is True
