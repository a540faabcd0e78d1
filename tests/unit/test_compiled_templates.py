"""What Ansible compiles of templates, once, and what of it is kept on the disk."""

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible import constants
from ansible._internal._datatag._tags import Origin, VaultedValue
from ansible._internal._templating._jinja_bits import AnsibleEnvironment
from ansible._internal._templating._jinja_plugins import JinjaPluginIntercept
from ansible.errors import AnsibleError
from ansible.template import Templar, trust_as_template
from ansible_collections.scalebench.core.plugins.plugin_utils import (
    compiled_templates,
    module_payload,
)
from ansible_collections.scalebench.core.plugins.plugin_utils.compiled_templates import (
    CompiledTemplates,
)
from jinja2 import TemplateSyntaxError, environment, nodes, pass_context
from jinja2.ext import Extension

VARIABLES = {"word": "node1", "number": 3, "path": r"a\1b"}
TEXTS = [
    "{{ word | upper }} of {{ number }}",
    "[[ word ]] {{ word }}",
    "'{{ word }}' == word",
    "{{ number in [1, 3] and word is match('node') }}",
    r"{{ path | regex_replace('a(.)', 'x\\1') }}" + "\n\n",
    "{% for one in range(number) %}\n{{ one }}\n{% endfor %}",
    "{{ lookup('vars', 'word') }}",
]
# Ansible cuts the header off, and with it the place where the rest was written.
HEADER = "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n[[ word ]] {{ word }}"
CONDITIONS = [
    "'{{ word }}' == word",
    "number == 3",
    r"path is search('\\\\1')",
    "word is defined and not number",
    "unknown",
]
WRONG = ["{{ word", "{{ word | no_such_filter }}", "{{ unknown }}", "{{ number / 0 }}"]


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """Make a project of its own, with a role, whose templates are kept."""
    for module in (compiled_templates, module_payload):
        monkeypatch.setattr(module, "PROJECT", tmp_path)
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles/main.yml").write_text("# of a role\n")
    monkeypatch.setattr(AnsibleEnvironment, "compile", AnsibleEnvironment.compile)
    method = AnsibleEnvironment.compile_expression
    monkeypatch.setattr(AnsibleEnvironment, "compile_expression", method)
    return tmp_path


@pytest.fixture
def begin(project, monkeypatch):
    """Return what begins another playbook, as a process of its own would."""
    methods = AnsibleEnvironment.compile, AnsibleEnvironment.compile_expression
    original = AnsibleEnvironment._compile
    counted = []

    def counting(self, source, filename):
        counted.append(source)
        return original(self, source, filename)

    monkeypatch.setattr(AnsibleEnvironment, "_compile", counting)

    def begun():
        AnsibleEnvironment.compile, AnsibleEnvironment.compile_expression = methods
        folder = project / f"tmp{len(list(project.glob('tmp*')))}"
        folder.mkdir()
        monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(folder))
        counted.clear()
        templates = CompiledTemplates(project / "state")
        templates.use()
        return templates, counted

    return begun


class Own(Extension):
    """What a site may have in its Ansible configuration."""


def of(file, text):
    return Origin(path=str(file), line_num=1, col_num=1).tag(trust_as_template(text))


def answers(project, *more):
    """Return what all texts and conditions give, or the error that they end with."""
    templar = Templar(variables=VARIABLES)

    def answer(asked, text, **options):
        try:
            return asked(of(project / "roles/main.yml", text), **options)
        except AnsibleError as error:
            return str(error)

    found = [answer(templar.evaluate_conditional, condition) for condition in CONDITIONS]
    for escape in (True, False):
        for text in (*TEXTS, *WRONG, *more):
            found.append(answer(templar.template, text, escape_backslashes=escape))
    return found


def kept(project):
    return b"".join(path.read_bytes() for path in project.glob("state/templates/*/compiled"))


def test_what_was_compiled_once_gives_the_same_and_is_not_compiled_again(project, begin):
    expected = answers(project)
    with_header = answers(project, HEADER)
    assert "NODE1 of 3" in expected and "node1 {{ word }}" in with_header
    assert any("no_such_filter" in str(one) for one in expected)
    templates, compiled = begin()
    assert answers(project, HEADER) == with_header and compiled
    compiled.clear()
    assert answers(project, HEADER) == with_header
    assert len(compiled) == 2 and all("{{ word }}" in code for code in compiled)
    templates.keep()
    more = "{{ number * 7 }}"
    templates, compiled = begin()
    assert answers(project, more)[-1] == 21 and len(compiled) == 2
    templates.keep()
    templates, compiled = begin()
    assert answers(project) == expected and answers(project, more)[-1] == 21 and not compiled
    (file,) = project.glob("state/templates/*/compiled")
    written = file.stat()
    templates.keep()
    assert file.stat() == written


def test_what_a_forked_process_compiles_is_kept(project, begin):
    expected = answers(project)
    templates, _ = begin()
    forked = multiprocessing.get_context("fork").Process(target=answers, args=(project,))
    forked.start()
    forked.join()
    assert forked.exitcode == 0
    templates.keep()
    _, compiled = begin()
    assert answers(project) == expected and not compiled


def test_what_an_ended_process_did_not_write_to_the_end_costs_only_itself(project, begin):
    expected = answers(project)
    templates, _ = begin()
    answers(project)
    file, *others = Path(constants.DEFAULT_LOCAL_TMP, "templates").iterdir()
    assert len(others) > 10
    file.write_bytes(file.read_bytes()[:-5])
    templates.keep()
    _, compiled = begin()
    assert answers(project) == expected and len(compiled) == 1


def test_of_a_file_that_is_changed_or_gone_nothing_stays(project, begin):
    expected = answers(project)
    (project / "roles/other.yml").touch()
    for text in ("{{ word }}first", "{{ word }}second", None):
        templates, _ = begin()
        answers(project)
        templar = Templar(variables=VARIABLES)
        if text:
            (project / "roles/other.yml").write_text(text)
            assert templar.template(of(project / "roles/other.yml", text)).startswith("node1")
        else:
            (project / "roles/other.yml").unlink()
            assert templar.template(of(project / "roles/main.yml", "{{ word }}third"))
        templates.keep()
        assert bool(text) == (str(text).encode() in kept(project))
    assert b"first" not in kept(project) and b"second" not in kept(project)
    _, compiled = begin()
    assert answers(project) == expected and not compiled


@pytest.mark.parametrize("kind", ["filters", "tests"])
def test_what_is_declared_otherwise_or_gone_is_compiled_anew(project, begin, monkeypatch, kind):
    def plain(value):
        return f"plain {value}"

    @pass_context
    def with_context(context, value):
        return f"context {value}"

    text = "{{ word | mine }}" if kind == "filters" else "{{ word is mine }}"
    asked = of(project / "roles/main.yml", text)

    def answer(found):
        monkeypatch.setattr(JinjaPluginIntercept, "__getitem__", lambda self, name: found[name])
        templates, compiled = begin()
        try:
            return Templar(variables=VARIABLES).template(asked), len(compiled)
        except AnsibleError as error:
            return str(error), len(compiled)
        finally:
            templates.keep()

    assert answer({"mine": plain}) == ("plain node1", 1)
    assert answer({"mine": plain}) == ("plain node1", 0)
    assert answer({"mine": with_context}) == ("context node1", 1)
    assert answer({"mine": with_context}) == ("context node1", 0)
    assert answer({})[0].startswith("Syntax error in template: No ")


@pytest.mark.parametrize("damage", [lambda all_of: all_of[:-1], lambda all_of: all_of[:-1] + b"?"])
def test_a_file_that_is_not_whole_is_not_read_and_written_anew(project, begin, damage):
    templates, _ = begin()
    expected = answers(project)
    templates.keep()
    (file,) = project.glob("state/templates/*/compiled")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    templates, compiled = begin()
    assert answers(project) == expected and compiled
    templates.keep()
    assert len(file.read_bytes()) == len(whole)


def test_nothing_is_kept_that_could_be_a_secret(project, begin):
    (project / "roles/vault.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n00\n")
    elsewhere = ("inventory/hosts.yml", "roles_of_others/main.yml", "playbooks/group_vars/all.yml")
    for name in elsewhere:
        (project / name).parent.mkdir(parents=True)
        (project / name).touch()
    templates, _ = begin()
    templar = Templar(variables=VARIABLES)
    secrets = [
        *(of(project / name, "{{ word }}secret") for name in elsewhere),
        of(project / "roles/vault.yml", "{{ word }}secret2"),
        of(project / "roles/lost.yml", "{{ word }}secret3"),
        VaultedValue(ciphertext="x").tag(of(project / "roles/main.yml", "{{ word }}secret4")),
        trust_as_template("{{ word }}secret5"),
        of(project / "roles/main.yml", "{{ word }}open"),
    ]
    assert all(templar.template(one).startswith("node1") for one in secrets)
    (written,) = Path(constants.DEFAULT_LOCAL_TMP, "templates").iterdir()
    assert b"secret" not in written.read_bytes()
    templates.keep()
    assert b"open" in kept(project) and b"secret" not in kept(project)


def test_another_version_of_ansible_core_compiles_as_it_does(project, begin, monkeypatch):
    compile_template = AnsibleEnvironment.compile
    with monkeypatch.context() as other:
        other.delattr(AnsibleEnvironment, "_debuggable_template_source")
        begin()
        assert AnsibleEnvironment.compile is compile_template
    # That debugs templates, whose code then has the text in it, or folds constants.
    with monkeypatch.context() as other:
        other.setattr(AnsibleEnvironment, "_debuggable_template_source", True)
        begin()
        assert AnsibleEnvironment.compile is compile_template
    made = AnsibleEnvironment.__init__

    def folding(self, *given, **options):
        made(self, *given, **options)
        self.optimized = True

    with monkeypatch.context() as other:
        other.setattr(AnsibleEnvironment, "__init__", folding)
        begin()
        assert AnsibleEnvironment.compile is compile_template

    def extended(self, *given, **options):
        made(self, *given, **options)
        self.add_extension(Own)

    monkeypatch.setattr(AnsibleEnvironment, "__init__", extended)
    begin()
    assert AnsibleEnvironment.compile is compile_template


def test_what_a_plugin_compiles_in_its_own_way_is_left_alone(project, begin):
    class Derived(AnsibleEnvironment):
        pass

    changed = AnsibleEnvironment()
    changed.intercepted_binops = frozenset({"+"})
    _, compiled = begin()
    for _ in range(2):
        for one in (AnsibleEnvironment(), Derived(), changed):
            one.from_string(of(project / "roles/main.yml", "{{ 1 + 1 }}"))
            one.compile_expression(of(project / "roles/main.yml", "1 + 2"))
        assert "yield" in AnsibleEnvironment().compile("{{ 1 + 1 }}", raw=True)
    assert len(compiled) == 10
    for _ in range(2):
        with pytest.raises(TemplateSyntaxError):
            AnsibleEnvironment().compile_expression(of(project / "roles/main.yml", "1 +"))
        AnsibleEnvironment().compile(nodes.Template([], lineno=1))


def test_threads_that_compile_at_once_do_not_mix_their_conditions(project, begin, monkeypatch):
    _, compiled = begin()
    both = threading.Barrier(2)

    class Parser(environment.Parser):
        def parse_expression(self):
            both.wait(10)
            return super().parse_expression()

    monkeypatch.setattr(environment, "Parser", Parser)

    def evaluate(condition):
        asked = of(project / "roles/main.yml", condition)
        return Templar(variables=VARIABLES).evaluate_conditional(asked)

    with ThreadPoolExecutor(2) as threads:
        for _ in range(2):
            assert list(threads.map(evaluate, ["number == 3", "number == 4"])) == [True, False]
    assert len(compiled) == 2


@pytest.mark.parametrize("which", [".", "templates", "templates/*"])
def test_what_another_account_may_change_is_neither_read_nor_written(project, begin, which):
    expected = answers(project)
    templates, _ = begin()
    answers(project)
    templates.keep()
    (folder,) = (project / "state").glob(which) if which != "." else [project / "state"]
    folder.chmod(0o770)
    before = kept(project)
    templates, compiled = begin()
    assert answers(project) == expected and len(compiled) > 2
    (project / "roles/main.yml").write_text("# changed\n")
    templates.keep()
    assert kept(project) == before


def test_the_state_folder_is_made_for_this_account_alone_whatever_its_umask(project, begin):
    before = os.umask(0o002)
    try:
        for _ in range(2):
            templates, compiled = begin()
            (project / "state").mkdir(exist_ok=True)
            answers(project)
            templates.keep()
    finally:
        os.umask(before)
    assert not compiled


def test_in_a_checkout_of_another_account_nothing_is_made(project, begin, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    templates, compiled = begin()
    expected = answers(project)
    compiled.clear()
    assert answers(project) == expected and not compiled
    templates.keep()
    assert not (project / "state").exists()


@pytest.mark.parametrize("broken", ["filter_plugins/.#mine.py", "state"])
def test_where_nothing_can_be_kept_all_is_compiled(project, begin, broken):
    expected = answers(project)
    (project / "filter_plugins").mkdir()
    if broken == "state":
        (project / broken).touch()
    else:
        (project / broken).symlink_to("nowhere")
    for _ in range(2):
        templates, compiled = begin()
        assert answers(project) == expected and compiled
        templates.keep()


def test_a_change_of_a_filter_is_another_version(project, begin):
    templates, _ = begin()
    expected = answers(project)
    templates.keep()
    (project / "filter_plugins").mkdir()
    (project / "filter_plugins/mine.py").touch()
    _, compiled = begin()
    assert answers(project) == expected and len(compiled) > 10


def test_a_folder_that_cannot_be_written_stops_nothing(project, begin):
    expected = answers(project)
    templates, _ = begin()
    os.rmdir(constants.DEFAULT_LOCAL_TMP)
    assert answers(project) == expected
    templates.keep()
    assert not kept(project)
