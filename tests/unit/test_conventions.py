"""The conventions that a machine can check: specs, documentation, headers."""

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
DOORS = sorted(
    path for folder in ("library", "lookup_plugins") for path in (ROOT / folder).glob("*.py")
)


def load(path):
    """Return the module of a plugin's file."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def registered_filters():
    """Return the functions of filter_plugins by filter name."""
    filters = {}
    for path in sorted((ROOT / "filter_plugins").glob("*.py")):
        for name, function in load(path).FilterModule().filters().items():
            assert name not in filters, f"{path.name} registers {name} a second time"
            filters[name] = function
    return filters


FILTERS = registered_filters()
FRAGMENTS = ROOT / "collections/ansible_collections/scalebench/core/plugins/doc_fragments"
PURE = sorted(
    path
    for path in (
        ROOT / "collections/ansible_collections/scalebench/core/plugins/module_utils"
    ).rglob("*.py")
    if path.parent.name != "node"
)


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_and_argument_specs_have_the_same_keys(role):
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]
    described = set(specs["main"]["options"])
    text = (role / "defaults/main.yml").read_text()
    required = set(re.findall(rf"^# ({role.name}_[a-z_]+):", text, re.MULTILINE))
    defaults = set(yaml.safe_load(text) or {})
    assert defaults | required == described
    assert {
        name for name, option in specs["main"]["options"].items() if option.get("required")
    } == required
    assert all(name.startswith(role.name) for name in described)


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_are_the_specs_defaults(role):
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text()) or {}
    described = {
        name: option["default"]
        for name, option in specs["main"]["options"].items()
        if not option.get("required")
    }
    assert defaults == described


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_no_template_in_a_spec_is_resolved(role):
    """Ansible would resolve it for each node, though nothing reads the value."""
    text = (role / "meta/argument_specs.yml").read_text()
    defaults = re.findall(r"^ +\w+: ([^\n]*(?:\n +)?\"?\{\{)", text, re.MULTILINE)
    assert [one for one in defaults if not one.startswith("!unsafe ")] == []


@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door.parent.name}/{door.stem}")
def test_every_door_is_documented(door):
    constants = constants_of(door)
    documentation = yaml.safe_load(constants["DOCUMENTATION"])
    assert documentation.get("module", documentation.get("name")) == door.stem
    assert documentation["short_description"]
    assert yaml.safe_load(constants["EXAMPLES"])
    for name, described in yaml.safe_load(constants["RETURN"]).items():
        assert described["description"] and described["type"], name


def constants_of(path):
    """Return the string constants of a plugin by name."""
    return {
        target.id: node.value.value
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


class ConstructedError(Exception):
    """A module constructs its AnsibleModule."""


def construct(argument_spec, **_):
    """Stand in for AnsibleModule."""
    raise ConstructedError(argument_spec)


def argument_spec(name):
    """Return the argument spec of an action plugin, or else of the module."""
    path = ROOT / f"action_plugins/{name}.py"
    spec = getattr(load(path).ActionModule, "ARGUMENTS", None) if path.exists() else None
    if spec is None:
        module = load(ROOT / f"library/{name}.py")
        module.AnsibleModule = construct
        with pytest.raises(ConstructedError) as constructed:
            module.main()
        spec = constructed.value.args[0]
    return spec


def without_descriptions(options):
    """Return documented options as an argument spec."""
    return {
        name: {
            **{key: option[key] for key in ("type", "elements", "choices") if key in option},
            "required": option.get("required", False),
            "default": option.get("default"),
        }
        for name, option in options.items()
    }


MODULES = [path.stem for path in sorted((ROOT / "library").glob("*.py"))]
# The action plugins of these check their arguments themselves.
UNCHECKED = {"distribution_packages", "training_runs"}


@pytest.mark.parametrize("name", [name for name in MODULES if name not in UNCHECKED])
def test_documented_options_are_the_argument_spec(name):
    documentation = yaml.safe_load(constants_of(ROOT / f"library/{name}.py")["DOCUMENTATION"])
    options = dict(documentation.get("options", {}))
    for fragment in documentation.get("extends_documentation_fragment", []):
        path = FRAGMENTS / f"{fragment.rpartition('.')[2]}.py"
        options.update(yaml.safe_load(load(path).ModuleDocFragment.DOCUMENTATION)["options"])
    assert without_descriptions(options) == without_descriptions(argument_spec(name))


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_is_documented(name):
    # ansible-doc finds no documentation in <filter>.yml where the Python file has some.
    constants = yaml.safe_load((ROOT / f"filter_plugins/{name}.yml").read_text())
    assert constants["DOCUMENTATION"]["name"] == name
    assert constants["DOCUMENTATION"]["short_description"]
    assert yaml.safe_load(constants["EXAMPLES"])
    for key, described in constants["RETURN"].items():
        assert described["description"] and described["type"], key


@pytest.mark.parametrize("name", FILTERS)
def test_every_option_of_a_filter_is_documented(name):
    document = yaml.safe_load((ROOT / f"filter_plugins/{name}.yml").read_text())["DOCUMENTATION"]
    code = FILTERS[name].__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    assert list(document["options"]) == ["_input", *parameters[1:]]
    positional = [word.strip() for word in document["positional"].split(",")]
    assert positional == ["_input", *parameters[1 : code.co_argcount]]
    defaults = dict(inspect.signature(FILTERS[name]).parameters)
    for option, described in list(document["options"].items())[1:]:
        default = defaults[option].default
        assert described.get("required", False) == (default is inspect.Parameter.empty), option
        if default is not inspect.Parameter.empty:
            assert (described.get("default") or None) == (default or None), option


def test_every_documentation_is_of_a_filter():
    documented = {path.stem for path in (ROOT / "filter_plugins").glob("*.yml")}
    assert documented == set(registered_filters())


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.stem)
def test_pure_code_touches_nothing(path):
    forbidden = {"ansible", "os", "pathlib", "subprocess", "time", "yaml", "numpy", "socket"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {(node.module or "").split(".")[0]}
        else:
            continue
        assert not names & forbidden


MODULE_UTILS = ROOT / "collections/ansible_collections/scalebench/core/plugins/module_utils"
DOTTED = "ansible_collections.scalebench.core.plugins.module_utils"


def imported_packages(path):
    """Return the packages of module_utils that a file of it imports from."""
    inside = list(path.relative_to(MODULE_UTILS).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        named = (node.module or "").split(".") if node.module else []
        if node.level:
            full = [*inside[: len(inside) - node.level + 1], *named]
        elif (node.module or "").startswith(DOTTED):
            full = named[len(DOTTED.split(".")) :]
        else:
            continue
        found |= {full[0]} if full else {alias.name for alias in node.names}
    return found - {*inside, "topology"}


def test_packages_import_only_what_stands_below_them_in_the_documentation():
    text = (ROOT / "docs/how-it-works.md").read_text()
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    floors = [re.findall(r"`(\w+)`", row) for row in rows]
    height = {name: number for number, names in enumerate(reversed(floors)) for name in names}
    folders = {path.name for path in MODULE_UTILS.iterdir() if (path / "__init__.py").exists()}
    assert set(height) == folders
    arrows = {
        (package, other)
        for package in folders
        for path in (MODULE_UTILS / package).glob("*.py")
        for other in imported_packages(path)
    }
    assert arrows
    assert [(one, other) for one, other in sorted(arrows) if height[other] >= height[one]] == []


# What has a type with its keys: records.results.Results, MeasuredCell, Repeat; records.plans.Plan.
TYPED = {"results", "cell", "repeat", "plan"}
# Those left read what comes from a file, a plan in part, or a cell of any kind. Never raise it.
UNTYPED_AT_MOST = 36


def untyped_parameters(path):
    """Return (function, parameter) of a file where a parameter of TYPED has no known keys."""
    tree = ast.parse(path.read_text())
    aliases = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and "Any" in names_in(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [
        (f"{path.relative_to(MODULE_UTILS)}:{node.lineno} {node.name}", argument.arg)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if argument.arg in TYPED
        and names_in(argument.annotation or ast.Name("Any")) & {"Any", *aliases}
    ]


def names_in(tree):
    """Return the names in an expression."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def test_few_parameters_hide_their_keys_from_mypy():
    untyped = [
        item for path in sorted(MODULE_UTILS.rglob("*.py")) for item in untyped_parameters(path)
    ]
    assert len(untyped) <= UNTYPED_AT_MOST, untyped


# Words of one model, and the files of module_utils that may know them: what others wrote is read.
OF_ONE_MODEL = re.compile(
    r'image_size|images?/s|images_per|total_images|imagenet|resnet|"unit", "images"', re.I
)
# By file: how many, and why.
MAY_KNOW = {
    "dataset/layouts.py": (4, "the files of ImageNet"),
    "facts/logtree.py": (5, "names of models in paths of foreign logs"),
    "facts/time_to_train.py": (5, "what logs of trainings to a target state"),
    "node/dataset_files.py": (1, "the files of ImageNet"),
    "planning/placeholders.py": (2, "a placeholder of benchmark files of version 0.1"),
    "published/conditions.py": (4, "names of models in published documents"),
    "published/rows.py": (1, "the unit of documents that state none"),
    "records/factors.py": (1, "campaigns of version 0.1 and logs"),
    "records/runs.py": (1, "what logs of trainings to a target state"),
    "report/columns.py": (1, "the heading of published tables"),
    "strategies/_table.py": (1, "the scripts that rules come from"),
    "running/invariants.py": (1, "the usual unit of workloads/common/report_lines.py"),
}


def test_only_what_reads_files_of_others_knows_one_model():
    found = {
        str(path.relative_to(MODULE_UTILS)): len(OF_ONE_MODEL.findall(path.read_text()))
        for path in MODULE_UTILS.rglob("*.py")
    }
    # The readers of others' logs know what these state.
    known = {name: n for name, n in found.items() if n and not name.startswith("logs/")}
    assert known == {name: number for name, (number, _) in MAY_KNOW.items()}


def test_the_code_of_nodes_runs_on_python_3_8():
    """os.pidfd_open is asked for where it may be missing."""
    done = subprocess.run(
        [Path(sys.executable).parent / "vermin", "--quiet", "--no-tips", "--violations",
         "--target=3.8-", "--exclude", "os.pidfd_open", MODULE_UTILS, ROOT / "library"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_ruff_sees_every_python_file():
    shown = subprocess.run(
        ["ruff", "check", "--show-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a checkout of git")
    paths = [ROOT / name for name in tracked.stdout.split("\0") if name]
    files = {str(path) for path in paths if path.is_file() and is_python(path)}
    assert str(ROOT / "molecule/shared/stand_ins/gpus/nvidia-smi") in files
    assert files - set(shown) == set()


def is_python(path):
    """Return whether a file is a Python program, by its name or its first line."""
    with path.open("rb") as file:
        return path.suffix == ".py" or re.match(rb"#!.*python", file.readline()) is not None


# Modules that run any command: Ansible cannot know what they change, nor check or diff it.
FREE_FORM = {"command", "shell", "raw"}
FREE_FORM_SHARE = 0.06
# First words that say nothing about what a task does.
VAGUE_VERBS = {
    *("Bring", "Give", "Go", "Keep", "Know", "Let", "Look", "Say", "See", "Take", "Tell", "Think"),
}
TASK_FILES = sorted(
    path for part in ("tasks", "handlers") for path in (ROOT / "roles").glob(f"*/{part}/**/*.yml")
)
PLAY_FILES = sorted(
    path
    for folder in ("playbooks", "molecule")
    for path in (ROOT / folder).rglob("*.yml")
    if "inventory" not in path.parts
)


def mappings(path):
    """Return every mapping of a YAML file, as (line of its first key from 0, keys and values)."""
    nodes = [yaml.compose(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            yield (
                node.start_mark.line,
                {key.value: value.value for key, value in node.value},
            )
            nodes += [value for _, value in node.value]


def tasks_of_roles():
    """Return (path, line, keys) of every task and handler of a role, without blocks."""
    return [
        (path, line, keys)
        for path in TASK_FILES
        for line, keys in mappings(path)
        if "name" in keys and "block" not in keys and is_task(keys)
    ]


def is_task(keys):
    """Return whether a mapping is a task: it has a module, of Ansible's or of library."""
    own = {path.stem for path in (ROOT / "library").glob("*.py")}
    return any(key.startswith("ansible.") or key in own for key in keys)


def test_few_tasks_of_roles_run_free_commands_and_each_has_a_reason():
    tasks = tasks_of_roles()
    free = [
        (path.relative_to(ROOT), line)
        for path, line, keys in tasks
        if {key.rpartition(".")[2] for key in keys} & FREE_FORM
    ]
    assert len(tasks) > 200
    assert len(free) <= FREE_FORM_SHARE * len(tasks), f"{len(free)} of {len(tasks)}: {free}"
    without_reason = [
        f"{path}:{line + 1}"
        for path, line in free
        if not (ROOT / path).read_text().splitlines()[line - 1].lstrip().startswith("#")
    ]
    assert without_reason == []


@pytest.mark.parametrize(
    "path", [*TASK_FILES, *PLAY_FILES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_names_of_tasks_and_plays_begin_with_a_telling_verb(path):
    names = [
        keys["name"]
        for _, keys in mappings(path)
        if "name" in keys and (is_task(keys) or {"block", "hosts", "import_playbook"} & set(keys))
    ]
    first_words = {name: name.rpartition(" | ")[2].split()[0] for name in names}
    assert {name: word for name, word in first_words.items() if word in VAGUE_VERBS} == {}


def test_apt_removes_no_package_that_is_there_for_one_of_ours():
    # Role nvidia_packages simulates first, and refuses by name what would go.
    tasks = [
        (f"{path.relative_to(ROOT)}: {task['name']}", task["ansible.builtin.apt"])
        for path in TASK_FILES
        if "nvidia_packages" not in path.parts
        for task in every_task(yaml.safe_load(path.read_text()))
        if "ansible.builtin.apt" in task
    ]
    installing = {name: given for name, given in tasks if {"name", "deb"} & set(given)}
    assert len(installing) > 3
    assert [name for name, given in installing.items() if not given.get("fail_on_autoremove")] == []


def every_task(tasks):
    """Return the tasks of a file, with those in blocks."""
    for task in tasks or []:
        yield task
        for part in ("block", "rescue", "always"):
            yield from every_task(task.get(part))
