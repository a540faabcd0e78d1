"""Proxy and mirrors as environment variables, held against the programs that read them."""

import os
import subprocess
import sys

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.stacks.way_out import (
    way_named,
    way_out,
)

PROXY = "http://proxy.example.org:3128"


def git(url, mirrors, old=False):
    """Return the address that git itself would use, with what an old git reads alone."""
    given = way_out("", [], mirrors)
    read = {name: value for name, value in given.items() if not old or "COUNT" not in name}
    done = subprocess.run(
        ["git", "ls-remote", "--get-url", url],
        env={**os.environ, **read},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_nothing_changes_what_the_nodes_have():
    assert way_out("", [], {}) == {}
    assert way_out("", [], {"images": "registry.example.org", "downloads": "file:///srv"}) == {}


def test_a_proxy_in_both_spellings():
    found = way_out(PROXY, [".example.org"], {})
    assert found["http_proxy"] == found["HTTPS_PROXY"] == PROXY
    assert found["no_proxy"] == found["NO_PROXY"] == "localhost,127.0.0.1,::1,.example.org"


@pytest.mark.parametrize("no_proxy", [".example.org,10.0.0.0/8", None, 5, [".example.org", None]])
def test_what_is_no_list_of_hosts_is_refused(no_proxy):
    with pytest.raises(ValueError, match=r"scalebench_no_proxy is .*: write a list of texts"):
        way_out(PROXY, no_proxy, {})


@pytest.mark.parametrize("mirror", ["pip", "images"])
@pytest.mark.parametrize("value", [None, 5, ["a"]])
def test_a_mirror_is_text(mirror, value):
    with pytest.raises(ValueError, match=f"scalebench_mirrors: {mirror} is .*: write text"):
        way_out("", [], {mirror: value})


def test_git_clones_from_the_mirror():
    url = "https://github.com/NVIDIA/nccl.git"
    assert git(url, {}) == url
    for mirror in ("https://git.example.org/mirror", "file:///srv/git/", "file:///srv/o'brien"):
        expected = f"{mirror.rstrip('/')}/github.com/NVIDIA/nccl.git"
        assert git(url, {"git": mirror}) == git(url, {"git": mirror}, old=True) == expected
    mirror = "https://git.example.org/?from="
    assert git(url, {"git": mirror}) == f"{mirror}/github.com/NVIDIA/nccl.git"


@pytest.mark.parametrize(
    ("mirror", "expected"),
    [
        (
            "https://pypi.example.org/simple",
            [":env:.index-url='https://pypi.example.org/simple'"],
        ),
        (
            "http://me:secret@pypi.example.org:8080/simple",
            [
                ":env:.index-url='http://me:secret@pypi.example.org:8080/simple'",
                ":env:.trusted-host='pypi.example.org:8080'",
            ],
        ),
        ("/srv/wheels", [":env:.find-links='/srv/wheels'", ":env:.no-index='1'"]),
        ("file:///srv/wheels", [":env:.find-links='file:///srv/wheels'", ":env:.no-index='1'"]),
    ],
)
def test_pip_uses_the_mirror(mirror, expected):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env={**plain, **way_out("", [], {"pip": mirror})},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [line for line in done.stdout.splitlines() if line.startswith(":env:")] == expected


@pytest.mark.parametrize(
    ("proxy", "mirrors", "problem"),
    [
        ("proxy:3128", {}, "scalebench_proxy is 'proxy:3128': write http://HOST:PORT"),
        ("", {"pypi": "x"}, "scalebench_mirrors has 'pypi': known are downloads, git, images, pip"),
        ("", {"git": "git.example.org"}, "git is 'git.example.org': begin it with http://, https"),
        ("", ["x"], "write {pip: URL}"),
    ],
)
def test_a_wrong_value_is_named(proxy, mirrors, problem):
    with pytest.raises(ValueError, match=problem.replace("{", r"\{")):
        way_out(proxy, [], mirrors)


@pytest.mark.parametrize(
    ("proxy", "mirrors", "named"),
    [
        (PROXY, {}, f"scalebench_proxy ({PROXY})"),
        ("", {"pip": "http://a/simple"}, "scalebench_mirrors.pip (http://a/simple)"),
        (
            PROXY,
            {"pip": "http://a"},
            f"scalebench_mirrors.pip (http://a) and scalebench_proxy ({PROXY})",
        ),
        (PROXY, {"pip": "/srv/wheels"}, "scalebench_mirrors.pip (/srv/wheels)"),
        ("", {"git": "http://a"}, "the node's own settings, without scalebench_mirrors or _proxy"),
    ],
)
def test_the_options_that_led_a_download_are_named(proxy, mirrors, named):
    assert way_named(proxy, mirrors, "pip") == named
