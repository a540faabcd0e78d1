"""Limits of sessions are raised and never lowered."""

import resource

from ansible_collections.scalebench.core.plugins.module_utils.node.session_limits import (
    limits_in_force,
    raised_limits,
    texts_of_limits,
)

from library import session_limits_info

WANTED = {"memlock": "unlimited", "stack": "", "nofile": "1048576"}
USUAL = {
    **{("soft", "memlock"): 8192.0, ("hard", "memlock"): 8192.0},
    **{("soft", "nofile"): 1024.0, ("hard", "nofile"): 524288.0},
    **{("soft", "stack"): 8192.0, ("hard", "stack"): float("inf")},
}
ALL = [
    *("* - memlock unlimited", "* - nofile 1048576"),
    *("root - memlock unlimited", "root - nofile 1048576"),
]


def test_limits_that_nobody_set_are_raised_and_stay_so():
    assert raised_limits(WANTED, [], "", USUAL) == ALL
    own = "\n".join(ALL)
    raised = {**USUAL, **{(kind, "nofile"): 1048576.0 for kind in ("soft", "hard")}}
    assert raised_limits(WANTED, [], own, raised) == ALL


def test_larger_limits_of_the_site_stay():
    site = "* - nofile 2097152\n*\thard memlock unlimited # RDMA\nroot - nofile unlimited\n"
    assert raised_limits(WANTED, [site], "\n".join(ALL), USUAL) == [
        *("* soft memlock unlimited", "root - memlock unlimited"),
    ]
    # The last one counts, and those of groups and accounts are their own.
    later = "* - nofile 4096\n@users - memlock 1\nanna - nofile 1\n* - nproc 5\n"
    assert "* - nofile 1048576" in raised_limits(WANTED, [site, later], "", USUAL)


def test_a_container_that_has_more_keeps_it():
    more = {**USUAL, ("hard", "nofile"): 1073741816.0}
    assert "* soft nofile 1048576" in raised_limits(WANTED, [], "", more)


def test_a_value_that_is_none_is_refused_with_its_name(run, tmp_path):
    own = str(tmp_path / "90-scalebench.conf")
    failed = run(session_limits_info, limits={"memlock": "64G"}, own=own)
    assert failed["msg"] == "memlock is '64G': write a number, or unlimited"
    assert run(session_limits_info, limits={"nofile": 1}, own=own)["lines"] == []


def test_the_files_are_read_in_the_order_of_pam(tmp_path):
    (tmp_path / "limits.d").mkdir()
    own = f"{tmp_path}/limits.d/90-scalebench.conf"
    for name in ("limits.d/95-b.conf", "limits.d/10-a.conf", "limits.d/old.bak", "limits.conf"):
        (tmp_path / name).write_text(name)
    assert texts_of_limits(own, str(tmp_path))[1] == ""
    (tmp_path / "limits.d/90-scalebench.conf").write_text("own")
    assert texts_of_limits(own, str(tmp_path)) == (
        ["limits.conf", "limits.d/10-a.conf", "limits.d/95-b.conf"], "own",
    )  # fmt: skip


def test_those_in_force_are_in_the_units_of_the_file():
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert limits_in_force()["soft", "nofile"] == soft
    stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
    expected = float("inf") if stack == resource.RLIM_INFINITY else stack / 1024
    assert limits_in_force()["soft", "stack"] == expected
