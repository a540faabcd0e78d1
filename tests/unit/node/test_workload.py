"""The digests of the trainers on a node."""

from ansible_collections.scalebench.core.plugins.module_utils.node.workload import digests


def test_each_file_has_a_digest_and_caches_have_none(tmp_path):
    (tmp_path / "common/__pycache__").mkdir(parents=True)
    (tmp_path / "common/__pycache__/job.cpython-311.pyc").write_bytes(b"\0")
    (tmp_path / "common/job.py").write_text("")
    (tmp_path / "train.py").write_text("first")
    (tmp_path / "dangling.py").symlink_to("nowhere")
    before = digests(str(tmp_path))
    # The beginning of `sha256sum /dev/null`.
    assert before["common/job.py"] == "e3b0c44298fc1c14"
    assert [*before] == ["common/job.py", "train.py"]
    (tmp_path / "train.py").write_text("second")
    after = digests(str(tmp_path))
    assert [path for path in after if after[path] != before[path]] == ["train.py"]
    assert digests(str(tmp_path / "nowhere")) == {}
