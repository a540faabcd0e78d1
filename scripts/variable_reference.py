#!/usr/bin/env python3
"""Print docs/variables.md: its own part, up to the mark, and what the roles' argument_specs say.

Usage: variable_reference.py > variables.md.new && mv variables.md.new docs/variables.md
"""

import json
import re
from pathlib import Path

import yaml

# Ansible leaves such a text as it is, where it would resolve its templates for each node.
yaml.SafeLoader.add_constructor("!unsafe", yaml.SafeLoader.construct_yaml_str)
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/variables.md"
MARK = "<!-- From here on written by scripts/variable_reference.py. -->\n"
# What Ansible's documentation marks: C(code), V(value), O(option), M(module).
MARKED = re.compile(r"\b[CVOM]\(([^)]*)\)")


def reference():
    """Return the page with a table for each role."""
    own, mark, _ = PAGE.read_text().partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE}: put back the line {MARK.strip()!r}, below which tables stand")
    parts = [own + MARK]
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml")):
        options, summary = {}, ""
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            summary = summary or entry["short_description"]
            options = {**entry.get("options", {}), **options}
        if options:
            parts.append(f"\n## Role {path.parts[-3]}\n\n{summary}.\n\n{table(options)}")
    return "".join(parts)


def table(options):
    """Return the rows of a role's options, and of the keys of those that are maps."""
    lines = ["| variable | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, option in options.items():
        lines.append(row(f"`{name}`", option))
        lines += [row(f"its `{key}`", inner) for key, inner in option.get("options", {}).items()]
    return "\n".join(lines) + "\n"


def row(name, option):
    """Return one option as a line of a table."""
    kind = option.get("type", "str")
    if "elements" in option:
        kind += f" of {option['elements']}"
    if "choices" in option:
        kind += ": " + ", ".join(f"`{choice}`" for choice in option["choices"])
    if option.get("required"):
        default = "required"
    elif "default" not in option:
        default = ""
    else:
        value = option["default"]
        text = value if isinstance(value, str) and value else json.dumps(value)
        default = f"`{' '.join(text.split())}`"
    description = option["description"]
    text = description if isinstance(description, str) else " ".join(description)
    meaning = MARKED.sub(r"`\1`", " ".join(text.split()))
    cells = (kind, default, meaning)
    return f"| {name} | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    print(reference(), end="")
