"""Loading a library and asking it as NCCL; the libraries are small ones that we compile."""

import shutil
import subprocess

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.node.nccl import version_code

CC = shutil.which("cc")


@pytest.fixture
def library(tmp_path):
    """Return a function that compiles a library and gives its path."""
    if CC is None:
        pytest.skip("no C compiler here")

    def compiled(source):
        path = tmp_path / "library.so"
        command = [CC, "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-o", str(path)]
        subprocess.run(command, input=source, text=True, check=True)
        return str(path)

    return compiled


def test_the_version_is_the_librarys_own(library):
    path = library("int ncclGetVersion(int *version) { *version = 22203; return 0; }")
    assert version_code(path) == 22203


def test_a_call_that_fails_is_an_error(library):
    with pytest.raises(ValueError, match="failed with ncclResult_t 3"):
        version_code(library("int ncclGetVersion(int *version) { return 3; }"))


def test_another_library_is_no_nccl(library):
    with pytest.raises(ValueError, match="it is no NCCL"):
        version_code(library("int other(void) { return 0; }"))


def test_a_library_that_is_not_there_is_named():
    with pytest.raises(OSError, match=r"libnothing\.so\.9"):
        version_code("libnothing.so.9")
