"""What is not read as JSON, whatever it may become later."""

import pytest
from ansible_collections.scalebench.core.plugins.module_utils.records import shape
from ansible_collections.scalebench.core.plugins.module_utils.records.shape import parse_json


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "b": {"key": 1, "key": 1}}', "it has 'key' twice"),
        # To look for each key among all the others would take minutes.
        ("{" + ", ".join(f'"{n}": 0' for n in range(200_000)) + ', "key": 1, "key": 2}', "'key'"),
        (nested(40), "nested too deep"),
        (nested(100_000), "nested too deep"),
        ('{"a": ' * 40 + "1" + "}" * 40, "nested too deep"),
        (r'["\ud800"]', "surrogates"),
        (r'{"\udc00": 1}', "surrogates"),
        *[(f"[{word}]", "is no figure") for word in ("NaN", "Infinity", "-1e999", "1e-99", "1e61")],
        ("{", "Expecting"),
    ],
)
def test_what_is_not_plain_json_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": {"a": 1}}', {"a": 1, "b": {"a": 1}}),
        (r'"\ud83d\ude00"', "\U0001f600"),
        ("[0, 0.0, -3.5, 1e-9, null, true]", [0, 0.0, -3.5, 1e-9, None, True]),
    ],
)
def test_plain_json_is_read_as_it_stands(text, value):
    assert parse_json(text) == value
    parse_json(nested(30))


def test_a_document_that_takes_more_memory_than_there_is_is_refused(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(shape.json, "loads", full)
    with pytest.raises(ValueError, match="more memory than there is"):
        parse_json("[]")
