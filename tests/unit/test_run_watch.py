"""When the watch of a run ends it, by a clock that the test sets."""

import pytest
from ansible_collections.scalebench.core.plugins.plugin_utils import run_watch


class Done:
    """Stands in for the event: lets the watch look until it has ended the run or time is over."""

    def __init__(self, looks):
        self.looks, self.is_set = looks, False

    def wait(self, _seconds):
        self.looks -= 1
        return self.is_set or self.looks < 0

    def set(self):
        self.is_set = True


@pytest.fixture
def watched(monkeypatch):
    """Return a function that lets a watch look once a second; it gives why and when it ended."""

    def watch(limit, failed=None, at=None, grace="", looks=100):
        now = [1000.0]
        ended = []

        def clock():
            now[0] += 1
            if failed is not None and at is not None and now[0] - 1001 >= at:
                failed.write_text(grace)
            return now[0]

        monkeypatch.setattr(run_watch.time, "monotonic", clock)
        monkeypatch.setattr(run_watch, "end_processes", lambda of: ended.append(now[0] - 1001))
        one = run_watch.RunWatch(limit, failed)
        one._done = Done(looks)
        one._watch()
        return one.ended, ended

    return watch


def test_a_run_is_ended_after_its_limit_and_without_one_never(watched):
    assert watched(10) == ("timeout", [11])
    assert watched(0) == ("", [])
    assert watched(100) == ("", [])


def test_a_run_is_ended_after_the_grace_of_the_peer_that_failed(watched, tmp_path):
    failed = tmp_path / "failed"
    assert watched(0, failed) == ("", [])
    assert watched(0, failed, at=5, grace="3.0\n") == ("cancelled", [9])
    failed.unlink()
    assert watched(0, failed, at=5, grace="0\n") == ("cancelled", [6])
    failed.unlink()
    assert watched(7, failed, at=5, grace="30\n") == ("timeout", [8])
    # Empty for a moment after its creation.
    assert watched(0, failed, at=0, grace="") == ("", [])


def test_the_first_that_fails_tells_its_peers_how_long_they_have(tmp_path):
    failed = tmp_path / "runs" / "failed"
    watch = run_watch.RunWatch(0, failed)
    watch.fail()
    assert float(failed.read_text()) == run_watch.PEER_GRACE
    watch.fail(0)
    assert float(failed.read_text()) == 0
    run_watch.RunWatch(0, None).fail()
