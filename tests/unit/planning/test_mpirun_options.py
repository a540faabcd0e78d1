"""Every option of mpirun that a cell renders, held against the mpirun that reads it.

Names of NVIDIA's images: ../shared/data/vocabulary, from Open MPI's sources at the image's version.
Hosts: the mpirun that is installed, which lists its options and parameters.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from rendered_cells import rendered_cells

ROOT = Path(__file__).resolve().parents[3]
VOCABULARY = Path(os.environ.get("SCALEBENCH_SHARED", ROOT.parent / "shared")) / "data/vocabulary"
# Open MPI in the images, by ../shared/data/README.md; that of 19.07 and 20.06 is taken to be the
# same, no image was at hand to ask.
IN_IMAGE = {
    "nvcr.io/nvidia/mxnet:19.07-py3": "v3.1.4",
    # DLPerf's report says so.
    "nvcr.io/nvidia/mxnet:20.03-py3": "v3.1.4",
    "nvcr.io/nvidia/tensorflow:20.03-tf1-py3": "v3.1.4",
    "nvcr.io/nvidia/tensorflow:20.06-tf1-py3": "v3.1.4",
}
# Options that are not in the table of schizo_ompi.c, where the vocabulary is from:
# opal/mca/base/mca_base_cmd_line.c adds these two in 3.1.4 and 4.0.0.
OF_ALL = {"mca", "gmca"}
WITH_VALUE = {"bind-to": 1, "map-by": 1, "mca": 2, "gmca": 2, "np": 1, "host": 1, "wdir": 1}
# File of Open MPI 3.1.4 that registers a parameter.
PARAMETERS = {
    "pml": "ompi/mca/pml/base/pml_base_frame.c",
    "btl": "opal/mca/btl/base/btl_base_frame.c",
    "btl_tcp_if_include": "opal/mca/btl/tcp/btl_tcp_component.c",
    "oob_tcp_if_include": "orte/mca/oob/tcp/oob_tcp_component.c",
    "plm_rsh_no_tree_spawn": "orte/mca/plm/rsh/plm_rsh_component.c",
    "mpi_yield_when_idle": "ompi/runtime/ompi_mpi_params.c",
}


def mpirun_cells():
    """Return every rendered cell that mpirun starts, with mpirun's words."""
    found = []
    for rendered in rendered_cells():
        leading = rendered.cell["node_names"][0]
        argv = rendered.cell["commands"][leading]["argv"]
        if "mpirun" in argv:
            found.append((rendered, argv[argv.index("mpirun") + 1 :]))
    return found


def options_of(words):
    """Return the names of mpirun's options, without those of the programs that it starts."""
    names, parameters, place = [], [], 0
    while place < len(words):
        word = words[place]
        if not word.startswith("-"):
            # The program of this part; the next part begins after a lone colon.
            rest = words[place:]
            place += rest.index(":") + 1 if ":" in rest else len(rest)
            continue
        name = word.lstrip("-")
        names.append(name)
        if name in ("mca", "gmca"):
            parameters.append(words[place + 1])
        place += 1 + WITH_VALUE.get(name, 0)
    return names, parameters


def known_names(version):
    path = VOCABULARY / f"openmpi-mpirun-{version}.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    return {*path.read_text().split(), *OF_ALL}


def test_the_options_are_split_as_mpirun_splits_them():
    words = ["--gmca", "btl", "^openib", "-np", "1", "a", "-x", ":", "-np", "2", "b", "--c"]
    assert options_of(words) == (["gmca", "np", "np"], ["btl"])


def test_many_cells_are_looked_at():
    assert len(mpirun_cells()) > 40


@pytest.mark.parametrize("image", IN_IMAGE)
def test_the_mpirun_of_the_image_knows_every_option(image):
    known = known_names(IN_IMAGE[image])
    for rendered, words in mpirun_cells():
        if rendered.recipe.get("container", {}).get("image") == image:
            names, parameters = options_of(words)
            assert set(names) <= known, rendered.where
            assert set(parameters) <= set(PARAMETERS), rendered.where
            # 3.1.4 reads no variable that allows root; containers run as root.
            assert "allow-run-as-root" in names, rendered.where


def test_the_version_of_every_image_is_known():
    images = {rendered.recipe.get("container", {}).get("image") for rendered, _ in mpirun_cells()}
    assert images - {None} == set(IN_IMAGE)


def test_the_installed_mpirun_knows_every_option_and_parameter():
    if not (shutil.which("mpirun") and shutil.which("ompi_info")):
        pytest.skip("Open MPI is not installed")
    given = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    text = _output("mpirun", *given, "--help", "all")
    known = set(re.findall(r"--?([A-Za-z][\w-]*)", text))
    listed = _output("ompi_info", "--all", "--parsable")
    parameters = set(re.findall(r":param:(\w+):value:", listed))
    for rendered, words in mpirun_cells():
        names, used = options_of(words)
        assert set(names) <= known, rendered.where
        assert set(used) <= parameters, rendered.where


def _output(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout
