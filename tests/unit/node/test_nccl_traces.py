"""The files that NCCL's ranks write on a node."""

from ansible_collections.scalebench.core.plugins.module_utils.node.nccl_traces import (
    transports_in,
    with_trace,
)


def test_ranks_that_tell_do_so_in_a_file_of_their_own(tmp_path):
    assert with_trace({"A": "b"}, "/run.files") == {"A": "b"}
    made = with_trace({"NCCL_DEBUG": "INFO"}, "/100%/run.files")
    assert made["NCCL_DEBUG_FILE"] == "/100%%/run.files/nccl.%h.%p.log"
    chosen = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": "/tmp/x"}
    assert with_trace(chosen, "/run.files") == chosen


def test_all_ranks_of_the_node_are_read(tmp_path):
    folder = tmp_path / "r50 [1].files"
    folder.mkdir()
    assert transports_in(str(folder)) == []
    start = "v1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] "
    (folder / "nccl.v1.1.log").write_text(f"{start}[send] via NET/IB/0/GDRDMA\n")
    (folder / "nccl.v1.2.log").write_bytes(f"{start}via P2P/IPC\n\xff".encode("latin-1"))
    (folder / "other.log").write_text(f"{start}via NET/Socket/0\n")
    assert transports_in(str(folder)) == ["NET/IB/GDRDMA", "P2P/IPC"]
