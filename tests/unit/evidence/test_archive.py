"""The contents of an archive, and what is refused."""

import json

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.evidence.archive import (
    MOST_BYTES,
    MOST_FILES,
    belongs,
    check_size,
    checksums_text,
    is_log,
    manifest_text,
    parse_checksums,
    refusal,
    split_member,
    written_by_report,
)

OWN = (
    "plan.json",
    "results.json",
    "results.csv",
    "report.md",
    "throughput.svg",
    "scaling.html",
    "logs/pytorch/bz4/2n1g/r50_b4_fp32_1.log",
    "logs/pytorch/bz4/2n1g/r50_b4_fp32_1.node2.out",
    "logs/pytorch/bz4/2n1g/r50_b4_fp32_1.run.json",
    "logs/pytorch/bz4/2n1g/r50_b4_fp32_1.attempt1.out",
    *("diagnosis.json", "diagnosis.md", "diagnosis.prom", "diagnosis.html"),
)
OTHERS = (
    "id_ed25519",
    ".env",
    "notes.txt",
    "sub/plan.json",
    "logs/.r50.log.42.part",
    "logs/r50.run.json.part",
    "logs/a/../../../etc/x.log",
    "logs//x.log",
    "logs/a\nb.log",
    "logs/a\\b.log",
    "/logs/x.log",
    # Ends of a line for Python, a C1 control that terminals obey, what turns text around, no UTF-8.
    *(f"logs/a{sign}b.log" for sign in "\x0b\x1c\x7f\x85\x9b\u2028\u2029\u202e\u2066\ufeff\udcff"),
    "SHA256SUMS",
)


@pytest.mark.parametrize("path", OWN)
def test_the_campaigns_own_files_belong_to_it(path):
    assert belongs(path)
    assert split_member(f"first/{path}") == ("first", path)


@pytest.mark.parametrize("path", OTHERS)
def test_other_files_do_not(path):
    assert not belongs(path)


@pytest.mark.parametrize(
    "name",
    [
        *(f"first/{path}" for path in OTHERS if path != "SHA256SUMS"),
        "/etc/passwd",
        "../first/plan.json",
        "./plan.json",
        "plan.json",
        "first/",
        "",
    ],
)
def test_a_member_that_does_not_belong_to_a_campaign_is_refused(name):
    with pytest.raises(ValueError, match=r"is not a (file|path) "):
        split_member(name)


def test_checksums_are_written_and_read_as_sha256sum_does():
    sums = {"plan.json": "b" * 64, "logs/a.log": "a" * 64}
    text = checksums_text(sums)
    assert text == f"{'a' * 64}  logs/a.log\n{'b' * 64}  plan.json\n"
    assert parse_checksums(text) == sums


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "line 1 is not a checksum"),
        (f"{'a' * 64}  x\n{'a' * 63}  y\n", "line 2 is not a checksum"),
        (f"{'a' * 64}  x\n{'b' * 64}  x\n", "x is there twice"),
        (f"{'a' * 64}  logs/a\x85{'b' * 64}  b.log\n", "line 1 is not a checksum"),
        (f"{'a' * 64}  x\n\n", "line 2 is not a checksum"),
    ],
)
def test_broken_checksums_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_checksums(text)


def test_only_output_of_programs_is_a_log():
    logs = [path for path in OWN if is_log(path)]
    assert [path.rpartition(".")[2] for path in logs] == ["log", "out", "out"]


def test_a_report_may_rewrite_all_but_the_measurements():
    assert [path for path in OWN if written_by_report(path)] == [*OWN[1:5]]


def test_the_manifest_has_the_places_of_secrets_and_not_the_secrets():
    manifest = json.loads(manifest_text("first", {"logs/a.log": {"NGC key": (3, 2)}}))
    assert manifest == {
        "schema": 1,
        "campaign": "first",
        "redactions": [{"path": "logs/a.log", "kind": "NGC key", "line": 3, "count": 2}],
    }
    assert [*manifest] == sorted(manifest), "the same bytes whatever the order of the code"


def test_secrets_in_records_are_refused_with_their_place():
    assert refusal({"plan.json": {}}) == ""
    found = {f"{number:02}.json": {"NGC key": (number, 1)} for number in range(1, 13)}
    message = refusal(found)
    assert "01.json line 1: NGC key; 02.json line 2: NGC key" in message
    assert "; 2 more" in message
    assert "11.json" not in message
    ten = refusal(dict(list(found.items())[:10]))
    assert "10.json line 10: NGC key. Remove" in ten


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((MOST_FILES + 1, 0), "more than 100000 files"),
        ((1, MOST_BYTES + 1), "more than 64 GiB"),
        ((1, 3 << 20, 2 << 20), "more than the 2 MiB that are free"),
    ],
)
def test_excessive_sizes_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        check_size(*given)


def test_the_size_of_a_campaign_is_accepted():
    check_size(MOST_FILES, MOST_BYTES, MOST_BYTES)


def test_secrets_are_named_in_the_order_of_files_and_kinds():
    found = {"b": {"token": (3, ""), "key": (1, "")}, "a": {"token": (2, "")}}
    assert "a line 2: token; b line 1: key; b line 3: token. Remove" in refusal(found)
