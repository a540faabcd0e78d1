"""Finds every external command that the code runs or renders, as words, by reading the code.

A part of a word that is known at run time only is ``{}``.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from library.program_info import ARGUMENTS

ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = "{}"
# Where Python runs on controller and nodes; files of tests are not looked at.
CODE = (
    *("library", "action_plugins", "filter_plugins", "lookup_plugins"),
    *("playbooks/callback_plugins", "collections", "workloads"),
)
_STARTERS = {"run", "Popen", "call", "check_call", "check_output"}
_EXECUTING = {"execv", "execve", "execvp", "execvpe", "system", "popen", "spawn"}
_BUILTINS = set(
    re.findall(
        r"\S+",
        """
        if then else elif fi for do done while until case esac in function select { } ! [ [[ : set
        export trap echo exit return shift true false cd read test break continue local printf
        unset eval umask wait kill type pwd
        """,
    )
)
_PREFIXES = {"exec", "command", "then", "else", "elif", "do", "if", "while", "until", "!", "{"}


class Command(NamedTuple):
    """A command's words, the first of which is the program's name, and the file it is in."""

    place: str
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """Return the name without folder and version, ``{}`` where it is not known."""
        name = self.words[0].rstrip("/").rpartition("/")[2]
        return re.sub(r"^python[\d.]*$", "python3", name)


def of_shell(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands of a shell script; what only the shell knows is left out."""
    text = re.sub(r"\{\{.*?\}\}", UNKNOWN, text).replace("\\\n", " ")
    text = re.sub(r"(?m)(^|\s)#.*$", "", text)
    text = re.sub(r"\d*>&\d|\d*[<>]+\s*/dev/null", "", re.sub(r"\$\{[^}]*\}", "$x", text))
    own = set(re.findall(r"(?m)^\s*(\w+)\(\)", text))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    part: list[str] = []
    for word in [*lexer, "\n"]:
        if word and not set(word) - set(";|&()\n"):
            yield from (words for words in _command(part) if words[0] not in own)
            part = []
        else:
            part.append(word)


def _command(part: list[str]) -> Iterator[tuple[str, ...]]:
    words = list(part)
    while words and (words[0] in _PREFIXES or re.match(r"\w+=", words[0])):
        if words.pop(0) == "command" and words[:1] == ["-v"]:
            return
    # A function's definition, a variable and what the shell does itself are no program.
    if words and words[0] not in _BUILTINS and re.match(r"[\w/.-]", words[0]):
        yield tuple(word for word in words if not re.match(r"\d*[<>]", word))


def of_tasks() -> Iterator[Command]:
    """Yield the commands of tasks and handlers: command, shell, raw, program_info, validate."""
    for path in sorted([*ROOT.glob("roles/*/*/*.yml"), *ROOT.glob("playbooks/*.yml")]):
        if path.parent.name not in ("tasks", "handlers", "playbooks"):
            continue
        place = str(path.relative_to(ROOT))
        for task in _tasks(yaml.safe_load(path.read_text())):
            for words in _of_task(task, path.parents[1]):
                yield Command(place, words)


def _tasks(content: Any) -> Iterator[dict[str, Any]]:
    for item in content if isinstance(content, list) else []:
        if isinstance(item, dict):
            yield item
            for value in item.values():
                yield from _tasks(value)


def _of_task(task: dict[str, Any], role: Path) -> Iterator[tuple[str, ...]]:
    for key, given in task.items():
        module = key.rpartition(".")[2]
        if module in ("command", "shell", "raw", "script"):
            argv = given.get("argv", given.get("cmd")) if isinstance(given, dict) else given
            yield from _of_argument(argv, role)
        elif module == "program_info":
            names = given["names"]
            given_words = given.get("arguments", {})
            for name in names if isinstance(names, list) else [UNKNOWN]:
                yield (_templated(name), *given_words.get(name, version_words(name)))
        elif module == "text_tree":
            for text in re.findall(r"'(/[^']+%s)'", str(given.get("validate", ""))):
                yield tuple(text.split())


def version_words(name: str) -> list[str]:
    """Return with what module program_info asks a program for its version."""
    return ARGUMENTS.get(name, ["--version"])


def _of_argument(argv: Any, role: Path) -> Iterator[tuple[str, ...]]:
    if isinstance(argv, list):
        yield tuple(_templated(str(word)) for word in argv)
        return
    variable = re.fullmatch(r"\{\{ (\w+) \}\}", argv.strip())
    if variable:
        found = [made for made in _variables(role) if variable.group(1) in made]
        for made in found:
            yield from _of_argument(made[variable.group(1)], role)
        if not found:
            yield (UNKNOWN,)
    elif argv.startswith("{{"):
        # A list that is put together: its literal words, after the program.
        first = re.match(r"\{\{ \[(?:'([^']+)'|(\w+))\]", argv)
        named = [text for made in _variables(role) for text in _lists(argv, made)]
        yield (first.group(1) or UNKNOWN if first else UNKNOWN, *named)
    else:
        yield from of_shell(argv)


def _variables(role: Path) -> Iterator[dict[str, Any]]:
    for path in [*role.glob("vars/*.yml"), *role.glob("defaults/*.yml")]:
        content = yaml.safe_load(path.read_text())
        if isinstance(content, dict):
            yield content


def _lists(argv: str, made: dict[str, Any]) -> Iterator[str]:
    for name in re.findall(r"\b(__\w+)\b", argv):
        for text in re.findall(r"'(-[^']*)'", str(made.get(name, ""))):
            yield text + UNKNOWN if text.endswith("=") else text


def _templated(word: str) -> str:
    return re.sub(r"\{\{.*?\}\}", UNKNOWN, word)


def of_templates() -> Iterator[Command]:
    """Yield the programs of systemd units."""
    for path in sorted(ROOT.glob("roles/**/*.service*.j2")):
        for line in re.findall(r"(?m)^Exec\w+=[-+!@:]*(.+)$", path.read_text()):
            yield Command(str(path.relative_to(ROOT)), tuple(shlex.split(_templated(line))))


def of_scripts() -> Iterator[Command]:
    """Yield the commands of the shell programs in scripts/."""
    for path in sorted((ROOT / "scripts").iterdir()):
        text = path.read_text() if path.is_file() else ""
        if re.match(r"#!/bin/(ba)?sh", text):
            for words in of_shell(text):
                yield Command(str(path.relative_to(ROOT)), words)


def of_code() -> Iterator[Command]:
    """Yield the commands that Python starts; ``{}`` is the program where the code computes it."""
    files = [path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]
    scripts = [path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file()]
    files += [path for path in scripts if re.match(r"#!.*python", path.read_text())]
    for path in files:
        text = path.read_text()
        if any(word in text for word in ("subprocess", "run_command", "run_program", "os.exec")):
            place = str(path.relative_to(ROOT))
            yield from (Command(place, words) for words in _File(ast.parse(text)).commands())


class _File:
    """The calls in one file that start a program, also through functions that pass words on."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.functions = [
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]

    def commands(self) -> Iterator[tuple[str, ...]]:
        passing: dict[str, int] = {}
        known = -1
        while known < len(passing):
            known, found = len(passing), []
            for function in self.functions:
                names = [argument.arg for argument in function.args.args]
                for call in self._own_calls(function):
                    given = self._started(call, names) or self._passed(call, passing)
                    if isinstance(given, ast.Name) and given.id in names:
                        passing[function.name] = names.index(given.id) - (names[:1] == ["self"])
                    elif given is not None:
                        found += self._words(given, function)
        yield from found

    def _passed(self, call: ast.Call, passing: dict[str, int]) -> ast.expr | None:
        """Return what a call gives to a function that starts it."""
        place = passing.get(_name(call.func), len(call.args))
        return call.args[place] if place < len(call.args) else None

    def _own_calls(self, function: ast.AST) -> Iterator[ast.Call]:
        """Yield the calls of a function, not those of functions in it."""
        waiting = list(ast.iter_child_nodes(function))
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Call):
                yield node
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                waiting.extend(ast.iter_child_nodes(node))

    def _started(self, call: ast.Call, names: list[str]) -> ast.expr | None:
        """Return what a call starts, if it starts a program."""
        function = call.func
        of_module = isinstance(function, ast.Attribute) and _name(function.value)
        starts = (
            (of_module == "subprocess" and _name(function) in _STARTERS)
            or (of_module == "os" and _name(function) in _EXECUTING)
            or _name(function) in ("run_command", "run_program")
            # A method run_command that was given to the function.
            or (isinstance(function, ast.Name) and function.id == "run" and "run" in names)
        )
        return call.args[0] if starts and call.args else None

    def _words(self, given: ast.expr, function: ast.AST) -> Iterator[tuple[str, ...]]:
        found = [words for words in self._lists(given, function) if words]
        yield from map(tuple, found or [[UNKNOWN]])

    def _lists(self, node: ast.expr, function: ast.AST) -> list[list[str]]:
        """Return the lists of words that an expression may be."""
        if isinstance(node, (ast.List, ast.Tuple)):
            made: list[list[str]] = [[]]
            for element in node.elts:
                inner = element.value if isinstance(element, ast.Starred) else None
                parts = self._lists(inner, function) if inner else [[_text(element)]]
                made = [[*start, *part] for start in made for part in parts or [[UNKNOWN]]]
            return made
        if isinstance(node, ast.BinOp):
            both = [self._lists(side, function) or [[UNKNOWN]] for side in (node.left, node.right)]
            return [[*first, *second] for first in both[0] for second in both[1]]
        if isinstance(node, ast.IfExp):
            return [*self._lists(node.body, function), *self._lists(node.orelse, function)]
        if isinstance(node, ast.Name):
            values = [*_assigned(function, node.id), *_assigned(self.tree, node.id)]
            return [words for value in values[:4] for words in self._lists(value, function)]
        return []


def _assigned(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield what a name is assigned in a scope, or goes through in a loop."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and [_name(one) for one in node.targets] == [name]:
            yield node.value
        elif isinstance(node, ast.For) and _name(node.target) == name:
            yield from node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple)) else ()


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) for value in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else UNKNOWN


def option_words(place: str) -> set[str]:
    """Return the words in a Python file that look like options."""
    nodes = list(ast.walk(ast.parse((ROOT / place).read_text())))
    whole = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    inner = {id(part) for node in whole for part in node.values}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in inner]
    words = {_text(node) for node in [*whole, *constants]}
    shaped = (re.match(r"(--?[A-Za-z][\w-]*)(=|\{|$)", word) for word in words)
    return {match.group(1) for match in shaped if match}


def options(words: Iterable[str]) -> list[str]:
    """Return the options among a command's words, without their values."""
    return [
        word.partition("=")[0].removesuffix(UNKNOWN)
        for word in words
        if re.match(r"--?[A-Za-z]", word)
    ]
