"""Which unit tests run which function: measured once, and again for a test file that changed.

A test is chosen for a mutation because it runs the function around it. What stands at a module's
level runs when it is imported, so there it is the functions that name the constant, or that name
another constant made of it. What only another process runs is not seen: there it is the test
files that name the file.
"""

import ast
import hashlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

WORD = re.compile(r"\w+")
# Of what tests start in processes of their own, of which nothing is measured.
STARTED = ("action_plugins", "library", "lookup_plugins", "workloads/launch")


def named_parts(source):
    """Return the functions and constants of a source: qualified name, first and last line."""
    parts = []

    def walk(nodes, names):
        for node in nodes:
            name = None
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                name = node.name
            elif not names and isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                name = min((one.id for one in targets if isinstance(one, ast.Name)), default=None)
            if name:
                parts.append((".".join([*names, name]), node.lineno, node.end_lineno, type(node)))
            walk(ast.iter_child_nodes(node), [*names, name] if name else names)

    walk([ast.parse(source)], [])
    return parts


class Selection:
    """The tests of each function of a tree, and how long each took in seconds."""

    def __init__(self, tree, sources, cache):
        self.tree, self.cache = tree, cache
        self.parts = {path: named_parts((tree / path).read_text()) for path in sources}
        self.measured = json.loads(cache.read_text()) if cache.exists() else {}

    def update(self, environment):
        """Measure the test files that are new or changed since they were last measured."""
        files = sorted(self.tree.glob("tests/unit/**/test_*.py"))
        digests = {
            str(path.relative_to(self.tree)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        }
        changed = [
            file
            for file, digest in digests.items()
            if self.measured.get(file, {}).get("digest") != digest
        ]
        self.measured = {file: self.measured[file] for file in digests if file in self.measured}
        if changed:
            print(f"Measuring which functions the tests of {len(changed)} files run")
            self.measure(changed, digests, environment)
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            self.cache.write_text(json.dumps(self.measured))

    def measure(self, files, digests, environment):
        folders = sorted({str(Path(path).parents[-2]) for path in self.parts})
        report, data = self.tree.parent / "tests.xml", self.tree.parent / "measured"
        subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider",
                *(f"--cov={folder}" for folder in folders), "--cov-context=test",
                "--cov-report=", f"--junitxml={report}", "--tb=short",
                # Short enough for the sockets of gpg.
                f"--basetemp={self.tree.parent / 'pytest-0'}", *files,
            ],
            cwd=self.tree, env={**environment, "COVERAGE_FILE": str(data)}, check=False,
        )  # fmt: skip
        for file in files:
            self.measured[file] = {"digest": digests[file], "seconds": {}, "runs": {}}
        for case in ET.parse(report).iter("testcase"):
            file = case.get("classname").replace(".", "/") + ".py"
            if (
                file in self.measured
                and case.find("failure") is None
                and case.find("error") is None
            ):
                test = f"{file}::{case.get('name')}"
                self.measured[file]["seconds"][test] = float(case.get("time"))
        self.read_contexts(data)

    def read_contexts(self, data):
        from coverage import CoverageData  # noqa: PLC0415 - what only measuring needs

        measured = CoverageData(str(data))
        measured.read()
        for path, parts in self.parts.items():
            functions = [part for part in parts if part[3] is ast.FunctionDef]
            for line, contexts in measured.contexts_by_lineno(str(self.tree / path)).items():
                around = [part[0] for part in functions if part[1] < line <= part[2]]
                for context in filter(None, contexts if around else ()):
                    test = context.split("|")[0]
                    runs = self.measured.get(test.split("::")[0], {}).get("runs", {})
                    key = f"{path}:{around[-1]}"
                    if test not in runs.setdefault(key, []):
                        runs[key].append(test)

    def tests_of(self, keys):
        """Return the tests that run one of some functions, with their seconds."""
        return {
            test: entry["seconds"][test]
            for entry in self.measured.values()
            for key in keys
            for test in entry["runs"].get(key, ())
            if test in entry["seconds"]
        }

    def tests_that_name(self, word):
        """Return the tests of the files in which a word stands, with their seconds."""
        return {
            test: seconds
            for file, entry in self.measured.items()
            if word in WORD.findall((self.tree / file).read_text())
            for test, seconds in entry["seconds"].items()
        }

    def users(self, path, name):
        """Return the functions that use a constant or a class, by name, in any file."""
        words = defaultdict(set)
        for file, parts in self.parts.items():
            lines = (self.tree / file).read_text().splitlines()
            for part, first, last, _ in parts:
                words[file, part] = set(WORD.findall("\n".join(lines[first - 1 : last])))
        reached, new = {(path, name)}, {(path, name)}
        while new:
            names = {part.split(".")[-1] for _, part in new}
            new = {key for key, used in words.items() if used & names} - reached
            new = {key for key in new if key[0] == path or self.near(key[0], path)}
            reached |= new
            new = {key for key in new if key[1].isupper()}
        return {f"{file}:{part}" for file, part in reached}

    def near(self, user, path):
        """Tell whether a file imports another by its name."""
        return re.search(rf"\b{Path(path).stem}\b", (self.tree / user).read_text()) is not None

    def chosen(self, mutation, seconds):
        """Return the tests to run for a mutation: those that run it first."""
        path = Path(mutation.path)
        own, folder = path.stem.strip("_"), str(path.parent)
        running = self.tests_of([f"{mutation.path}:{mutation.name}"])
        found = dict(running)
        # Tables that tests are made of are read when their files are imported, by no test.
        if not running or folder == "filter_plugins":
            found |= self.tests_of(self.users(mutation.path, mutation.name.split(".")[0]))
            for word in {own, folder} & {own, "filter_plugins", *STARTED}:
                found |= self.tests_that_name(word)
        elif folder in STARTED:
            found |= self.tests_that_name(own)
        order = sorted(
            found,
            key=lambda test: (test not in running, own not in test.split("::")[0], found[test]),
        )
        chosen, spent = [], 0.0
        for test in order:
            spent += found[test]
            if chosen and spent > seconds:
                break
            chosen.append(test)
        return chosen, sum(found[test] for test in chosen)
