"""The file of -e variants=: which benchmarks get it, what is refused, what a plan keeps."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.plugin_utils.given_options import (
    with_given_variants,
)
from campaign_data import benchmarks, cluster

TEXT = "variants:\n  '2.19':\n  '2.21': {environment: {LD_LIBRARY_PATH: /opt/nccl}}\n"
VARIANTS = {"2.19": {}, "2.21": {"environment": {"LD_LIBRARY_PATH": "/opt/nccl"}}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "nccl.yml"
    path.write_text(TEXT)
    return path


def options(path, **more):
    return parse_options({"variants": str(path), **more})


def test_the_benchmarks_asked_for_have_the_variants_and_others_do_not(file):
    known = with_given_variants(benchmarks(), options(file, benchmark="pytorch,mxnet_ngc"))
    having = {name: one["variants"] for name, one in known.items() if "variants" in one}
    assert having == dict.fromkeys(("pytorch", "mxnet_ngc"), VARIANTS)
    assert with_given_variants(benchmarks(), {}) == benchmarks()


def test_a_campaign_that_goes_on_needs_no_file(file):
    given = options(file, topology="1n1g")
    made = plan.build(with_given_variants(benchmarks(), given), given, cluster(1), None, "seed")
    file.unlink()
    again = with_given_variants(benchmarks(), made["options"], made)
    assert again["pytorch"]["variants"] == VARIANTS
    with pytest.raises(ValueError, match=r"-e variants=\S+nccl.yml: No such file"):
        with_given_variants(benchmarks(), given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("variants: {a: {}}", "variants: a mapping of two variants or more"),
        ("a: {}\nb: {}", "a file with one key, variants, is needed"),
        ("- a", "a file with one key, variants, is needed"),
        ("variants: {a: {}, b: {args: []}}", "variants.b.args: no such key"),
        ("variants: {a: {}, a: {}}", "nccl.yml: "),
        ("variants: [", "nccl.yml: "),
        ("variants: {a: {}, upstream: {}}", "upstream is something else in the path"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(file, text, message):
    file.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        with_given_variants(benchmarks(), options(file, benchmark="tensorflow_ngc"))
    assert str(error.value).startswith(f"-e variants={file}: ")


def test_a_benchmark_with_variants_of_its_own_takes_no_others(file):
    known = with_given_variants(benchmarks(), options(file))
    with pytest.raises(ValueError, match=r"benchmark pytorch has variants of its own, 2.19, 2.21"):
        with_given_variants(known, options(file))
