"""Compiled templates that processes share: the same values as without, compiled once."""

from __future__ import annotations

import os

import jinja2
import pytest
from ansible._internal._datatag._tags import VaultedValue
from ansible._internal._templating import _jinja_bits as bits
from ansible._internal._templating._engine import TemplateEngine, TemplateOptions
from ansible.errors import AnsibleError
from ansible.template import trust_as_template
from ansible_collections.scalebench.core.plugins.plugin_utils import template_cache

VARIABLES = {"a": 3, "name": trust_as_template("node{{ a }}"), "many": [1, 2]}
# Backslashes are escaped in a template, and not in a condition; options stand in a first line.
TEMPLATES = [
    "{{ name }} of {{ many | length }}",
    "{{ name }}",
    "{{ many | map('string') | join('\\t') }}",
    "{{ 'x.y' | regex_replace('(.)\\.y', '\\1') }}",
    "{{ '{{ a }}' }}",
    "#jinja2: variable_start_string:'[%', variable_end_string:'%]'\n[% a %]{{ a }}",
    "#jinja2: trim_blocks:False\n{% if a %}\nx{% endif %}\n",
    "{% if a %}\nx{% endif %}\n",
    "{{ none_of_that | default('none') }}",
    "{{ a is defined and many | select('gt', 1) | list }}",
]
EXPRESSIONS = ["a", "name", "many | length > 1", "'\\t' | length", "name ~ '\\t'"]


@pytest.fixture
def compiled(monkeypatch):
    """Return the templates that Jinja has compiled; have what it calls as it was after the test."""
    made = []
    generate = jinja2.Environment._generate
    for name in ("compile", "compile_expression"):
        method = getattr(bits.AnsibleEnvironment, name)
        monkeypatch.setattr(bits.AnsibleEnvironment, name, method)

    def note(self, source, *rest, **more):
        made.append(source)
        return generate(self, source, *rest, **more)

    monkeypatch.setattr(jinja2.Environment, "_generate", note)
    return made


def values():
    """Return what a new process makes of each."""
    engine = TemplateEngine(variables=VARIABLES)
    unescaped = TemplateOptions(escape_backslashes=False)
    return [
        *(engine.template(trust_as_template(text)) for text in TEMPLATES),
        *(engine.template(trust_as_template(text), options=unescaped) for text in TEMPLATES),
        *(engine.evaluate_expression(trust_as_template(text)) for text in EXPRESSIONS),
        *(
            engine.evaluate_expression(trust_as_template(text), escape_backslashes=False)
            for text in EXPRESSIONS
        ),
    ]


def test_values_are_the_same_and_another_process_compiles_nothing(compiled, tmp_path):
    expected = values()
    assert len(set(map(str, expected))) > len(TEMPLATES)
    template_cache.prepare(tmp_path / "templates")
    child = os.fork()
    if not child:
        os._exit(values() != expected)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    compiled.clear()
    assert values() == expected
    assert values() == expected
    assert compiled == []


def test_a_wrong_template_is_told_each_time(compiled, tmp_path):
    template_cache.prepare(tmp_path / "templates")
    told = []
    for _ in range(2):
        with pytest.raises(AnsibleError) as error:
            TemplateEngine(variables=VARIABLES).template(trust_as_template("{{ a | }}"))
        told.append(str(error.value))
    assert told[0] == told[1] and "Syntax error" in told[0]
    assert list((tmp_path / "templates").iterdir()) == []


def test_what_a_vault_protects_is_not_written(compiled, tmp_path):
    template_cache.prepare(tmp_path / "templates")
    secret = VaultedValue(ciphertext="$ANSIBLE_VAULT").tag(trust_as_template("key {{ a }}"))
    assert TemplateEngine(variables=VARIABLES).template(secret) == "key 3"
    assert list((tmp_path / "templates").iterdir()) == []


def test_without_room_on_the_disk_templates_work(compiled, tmp_path):
    expected = values()
    template_cache.prepare(tmp_path / "templates")
    (tmp_path / "templates").rmdir()
    assert values() == expected


def test_another_version_of_ansible_core_compiles_as_it_does(compiled, tmp_path, monkeypatch):
    monkeypatch.delattr(bits, "_TemplateCompileContext")
    before = dict(vars(bits.AnsibleEnvironment))
    template_cache.prepare(tmp_path / "templates")
    assert dict(vars(bits.AnsibleEnvironment)) == before
