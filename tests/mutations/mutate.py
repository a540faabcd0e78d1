"""Change the code a little, in copies of the tree, and see whether a unit test notices.

A seeded sample of each package is changed, one change at a time, and only the tests that run the
changed function are started. Survivors that stand in survivors.yml are explained there; the run
names those that it does not find any more.
"""

import argparse
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from places import mutations, sample
from selection import Selection

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "collections/ansible_collections/scalebench/core/plugins"
FOLDERS = (
    f"{COLLECTION}/module_utils", f"{COLLECTION}/plugin_utils",
    "action_plugins", "library", "filter_plugins", "lookup_plugins", "workloads/launch",
)  # fmt: skip
SURVIVORS = Path(__file__).with_name("survivors.yml")
GOAL = 0.9
START_SECONDS = 60
# Statuses of pytest; any other but 0 says nothing of the tests.
FAILED, NOT_FOUND = 1, 4
SUMMARY = re.compile(rb"\d (passed|skipped|tests? collected)")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--each", type=int, default=15, help="mutations of each package")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--seconds",
        type=float,
        default=30,
        help="of tests for one mutation; for one that survives them ten times as much",
    )
    parser.add_argument("--packages", nargs="*", help="the packages to change; all by default")
    parser.add_argument("--only", default="", help="part of the place of the mutations to try")
    return parser.parse_args()


def copy_of_tree(folder):
    """Copy what git knows or would add, and link what lies beside it."""
    tree = folder / "main"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    subprocess.run(["git", "init", "-q", "."], cwd=tree, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    (tree / ".venv").symlink_to(ROOT / ".venv")
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return tree


def environment_of(tree):
    folder = tree.parent / "pytest-temporary"
    folder.mkdir(exist_ok=True)
    return {
        **os.environ, "ANSIBLE_CONFIG": str(tree / "ansible.cfg"), "TMPDIR": str(folder),
        "PYTHONPYCACHEPREFIX": str(tree.parent / "bytecode"), "COVERAGE_CORE": "ctrace",
    }  # fmt: skip


def outcome(tree, tests, seconds):
    """Run tests; return pytest's exit status, or None where they did not end in time."""
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "--hypothesis-seed=0",
        "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin",
        f"--basetemp={tree.parent / 'pytest-0'}", *tests,
    ]  # fmt: skip
    # Loading the plugins takes longer than most tests.
    environment = {**environment_of(tree), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    said = tree.parent / "said"
    with said.open("wb") as output, subprocess.Popen(
        command, cwd=tree, env=environment, start_new_session=True,
        stdout=output, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            ended = process.wait(timeout=START_SECONDS + 10 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    # With a changed fork pytest itself may end as a worker does, without a summary.
    if ended == 0 and not SUMMARY.search(said.read_bytes()):
        return FAILED
    return ended


@contextmanager
def changed(mutation, tree):
    """Have a mutation in a tree meanwhile."""
    path = tree / mutation.path
    source, status = path.read_text(), path.stat()
    path.write_text(mutation.applied_to(source))
    # Python takes bytecode for current by the file's second and size: never twice the same.
    changed.count += 1
    os.utime(path, (status.st_atime, status.st_mtime + changed.count))
    try:
        yield
    finally:
        path.write_text(source)
        os.utime(path, (status.st_atime, status.st_mtime))


changed.count = 0


def forms(tests):
    """Yield what to give pytest: tests, and where it does not find these, what still finds them."""
    yield tests
    # A table that tests are made of has changed their names.
    yield sorted({test.split("[")[0] for test in tests})
    # A file of tests cannot be imported any more.
    files = sorted({test.split("::")[0] for test in tests})
    yield ["--collect-only", "--continue-on-collection-errors", *files]


def tried(mutation, tree, selection, limit, passes):
    """Return what became of a mutation: killed, survived, not tested or an error of this tool.

    :param passes: whether tests, by what is given to pytest, pass in the unchanged tree; filled
        here, so that what fails anyway kills nothing.
    """
    tests, seconds = selection.chosen(mutation, limit)
    if not tests:
        return "not tested"
    for form in forms(tests):
        key = tuple(form)
        if key not in passes:
            passes[key] = outcome(tree, form, seconds) == 0
        if not passes[key]:
            return "error"
        with changed(mutation, tree):
            ended = outcome(tree, form, seconds)
        if ended != NOT_FOUND:
            break
    if ended in (FAILED, None):
        return "killed"
    return "survived" if ended == 0 and "--collect-only" not in form else "error"


def package_of(path):
    return Path(path).parent.name


def all_mutations():
    """Return the mutations of each package."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            found.setdefault(package_of(name), []).extend(mutations(name, path.read_text()))
    return found


def results_of(wanted, arguments):
    """Try every wanted mutation; return what became of each."""
    # As pytest names its folders, which are no part of the seeds of written logs (written_logs.py).
    with tempfile.TemporaryDirectory(prefix="pytest-mutate-") as folder:
        # Tests work there as other accounts too.
        os.chmod(folder, 0o755)
        trees = Queue()
        for number in range(arguments.workers):
            trees.put(copy_of_tree(Path(folder) / f"popen-{number}"))
        tree = trees.queue[0]
        sources = sorted(
            {str(p.relative_to(ROOT)) for f in FOLDERS for p in (ROOT / f).rglob("*.py")}
        )
        selection = Selection(tree, sources, ROOT / ".cache/mutations/tests.json")
        selection.update(environment_of(tree))
        passes = {}
        done = itertools.count(1)
        print(f"Trying {len(wanted)} mutations", flush=True)

        def attempt(mutation):
            tree = trees.get()
            try:
                result = tried(mutation, tree, selection, arguments.seconds, passes)
                if result == "survived":
                    # Few do: there is time for the tests that were left out.
                    result = tried(mutation, tree, selection, 10 * arguments.seconds, passes)
            finally:
                trees.put(tree)
            if result != "killed":
                print(f"{result}: {mutation.place}", flush=True)
            if (number := next(done)) % 10 == 0:
                print(f"{number} of {len(wanted)} tried", flush=True)
            return result

        with ThreadPoolExecutor(arguments.workers) as pool:
            return list(pool.map(attempt, wanted))


def main():
    arguments = parse_arguments()
    found = all_mutations()
    explained = {entry["place"]: entry for entry in yaml.safe_load(SURVIVORS.read_text()) or ()}
    places = {mutation.place for package in found.values() for mutation in package}
    gone = sorted(place for place in explained if place not in places)
    if unknown := sorted({*(arguments.packages or ())} - {*found}):
        sys.exit(f"No package {', '.join(unknown)}: choose from {', '.join(sorted(found))}")
    wanted = [
        mutation
        for name in arguments.packages or sorted(found)
        for mutation in sample(found[name], arguments.each, arguments.seed)
        if arguments.only in mutation.place
    ]
    if not wanted:
        sys.exit("No mutation is selected: --only and --each leave none of the packages'")
    results = results_of(wanted, arguments)
    return report(wanted, results, explained, gone)


def report(wanted, results, explained, gone):
    """Print the table of packages and what is to do; return the exit status."""
    counts, unexplained, killed, errors = {}, [], [], []
    for mutation, result in zip(wanted, results, strict=True):
        count = counts.setdefault(package_of(mutation.path), Counter())
        entry = explained.get(mutation.place)
        if result == "killed":
            count["killed"] += 1
            killed += [mutation.place] * (entry is not None)
        elif result == "error":
            errors.append(mutation.place)
        elif entry is None:
            count["left"] += 1
            unexplained.append(mutation.place)
        else:
            count["equivalent" if entry["equivalent"] else "accepted"] += 1
    counts["all"] = sum(counts.values(), Counter())
    print(
        f"\n{'package':16} {'killed':>6} {'of':>4}  {'share':>5}  equivalent  accepted  unexplained"
    )
    failed = bool(gone or killed or unexplained or errors)
    for name, count in counts.items():
        of = count["killed"] + count["accepted"] + count["left"]
        share = count["killed"] / of if of else 1.0
        failed |= share < GOAL
        print(
            f"{name:16} {count['killed']:6} {of:4}  {share:5.0%}  {count['equivalent']:10}"
            f"  {count['accepted']:8}  {count['left']:11}"
            + ("  below 90 %" if share < GOAL else "")
        )
    for title, listed in (
        ("Listed as a survivor, and killed: remove it from the list", killed),
        ("Listed as a survivor, and not in the code any more: remove it from the list", gone),
        ("Its tests fail unchanged, or could not be run: mend them", errors),
        ("Survived without an explanation: add a test, or explain it in the list", unexplained),
    ):
        for place in listed:
            print(f"{title}: {place}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
