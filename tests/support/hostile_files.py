"""A whole small campaign on disk, and seeded damage to one of its files.

The campaign is written by the functions that bench.yml calls; only its logs and the results of its
nodes are made up, in the words of real ones.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import telemetry_data
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.scalebench.core.plugins.module_utils.facts.facts import (
    facts_of_text,
)
from ansible_collections.scalebench.core.plugins.module_utils.planning import plan
from ansible_collections.scalebench.core.plugins.module_utils.planning.options import parse_options
from ansible_collections.scalebench.core.plugins.module_utils.running import search
from ansible_collections.scalebench.core.plugins.module_utils.running.record import record
from ansible_collections.scalebench.core.plugins.plugin_utils import campaign_files
from campaign_data import benchmarks, cluster
from written_logs import write_log

Json = Any
HEADER = {"campaign": "mine", "session": "s1", "recorded": "2026-11-22T05:51:05.953687+00:00"}


def run_action(plugin: Any, **args: Any) -> dict[str, Any]:
    """Return the answer of an action plugin."""
    task = SimpleNamespace(args=args, action="", async_val=0, check_mode=False, diff=False)
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=""))
    templar = Templar(loader=DataLoader(), variables={})
    answer: dict[str, Any] = plugin(task, connection, None, None, templar, None).run()
    return answer


def write_whole_campaign(folder: Path) -> Path:
    """Write plan, preflight, logs and records of two cells with two repeats each, and a search.

    The repeats are adaptive, and ran beside others. The last has failed twice: it has an attempt,
    and no speed.
    """
    given = {"topology": "1n1g,2n1g", "repeats": 2, "half_width": 0.1, "packing": "nodes"}
    planned = plan.build(benchmarks(), parse_options(given), cluster(2))
    given = {"topology": "2n1g", "repeats": 1, "batch_size_per_device": "max"}
    searched = plan.build(benchmarks(), parse_options(given), cluster(2))["cells"]
    planned["cells"] += searched
    campaign_files.write(folder, folder.name, planned)
    commands = {cell["directory"]: cell["commands"] for cell in planned["cells"]}
    repeats = plan.repeats(planned["cells"][: -len(searched)])
    probe = search.next_probe(searched, {})
    assert probe
    memory = {"ending": "out_of_memory", "exit_code": 1, "reason": "CUDA out of memory"}
    nodes = {name: {**_node_run(name, {}), **memory} for name in probe["cell"]["node_names"]}
    batch = probe["cell"]["batch_size_per_device"]
    write_log(folder / probe["log"], probe["cell"]["topology"], batch=batch, iterations=2)
    _write(folder, probe, 1, nodes, {"msg": "no throughput"})
    first = repeats[0]
    alone = {**first, "log": first["log"].replace(".log", "_alone.log"), "kind": "alone"}
    for repeat in (alone, *repeats):
        log, cell = folder / repeat["log"], repeat["cell"]
        own: dict[str, Any] = {"framework": "pytorch", "parameters": 25557032}
        own |= {"threads_per_rank": 1, "batch": cell["batch_size_per_device"]}
        speed, steps = 24.0 + repeat["repeat"], cell["warmup"] + cell["iterations"]
        write_log(log, cell["topology"], speed=speed, iterations=steps, **own)
        nodes = {name: _node_run(name, run) for name, run in commands[cell["directory"]].items()}
        facts: dict[str, Any] = {
            **facts_of_text(
                log.read_text(), parameters=cell["reading"]["parameters"], expect=repeat["expect"]
            )
        }
        if repeat is repeats[-1]:
            crash = {"ending": "crashed", "exit_code": 1, "reason": "exit code 1: KeyError: 'x'"}
            nodes["node2"].update(crash)
            _write(folder, repeat, 1, nodes, facts)
            campaign_files.set_aside(folder, campaign_files.records(folder)[repeat["log"]])
            write_log(log, cell["topology"], speed=speed, iterations=20, batch=own["batch"])
            _write(folder, repeat, 2, nodes, {"msg": "no throughput"})
        else:
            _write(folder, repeat, 1, nodes, facts)
    row = {"check": "clock", "node": "node1", "verdict": "warn", "found": "3 s", "todo": "set it"}
    checks = {"verdict": "warn", "summary": "1 warning", "counts": {"warn": 1}, "rows": [row]}
    (folder / "preflight.json").write_text(json.dumps(checks))
    return folder


def _node_run(name: str, command: dict[str, Any]) -> dict[str, Any]:
    return {
        **command,
        **{"started": "2026-11-22T05:50:46Z", "node": name, "exit_code": 0, "ending": "ok"},
        **{"reason": "", "seconds": 18.795, "ended": 0, "strays": 1, "memory_mib": 700},
        **{"device_users": [], "transport": ["NET/Socket"]},
        "telemetry": telemetry_data.telemetry(),
    }


def _write(
    folder: Path, repeat: Any, attempt: int, nodes: dict[str, Any], facts: dict[str, Any]
) -> None:
    machines = {name: {"boot_id": name} for name in nodes}
    ran = {
        **repeat,
        **{"attempt": attempt, "kind": repeat.get("kind", "measured"), "why": ""},
        **{"packed_with": ["x_1.log"], "shares_machine": False, "machines": machines},
    }
    campaign_files.write_record(folder, record(HEADER, ran, nodes, facts))


# What stands where something else belongs, as JSON text.
VALUES = (
    *("null", "true", "false", "0", "-1", "1", "2.5", "1e308", "1e999", "-1e999", "NaN"),
    *("Infinity", "-Infinity", "-0.0", "1e-320", "9" * 25, "9" * 400, "9" * 5000, '""', '"x"'),
    *('"7"', '"\\ud800"', '"\\u0000"', '"\\u0085\\n"', '"../../../etc/passwd"', '"=cmd|x"'),
    *('"{0.__class__}"', '"%s%n"', '"max"', '"' + "a" * 100_000 + '"', "[]", "{}", "[[]]"),
    *("[null]", "[1]", '["x"]', "[{}]", '{"x": 1}', '{"": {}}', '{"x": null}', '{"x": [1]}'),
    *("[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 300 + "]" * 300),
)
SPLINTERS = (
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\n", b",", b"{", b"}", b"[", b'"', b":", b"NaN", b"e999"),
    *(b"\xef\xbb\xbf", b"//", b"\\u", b"-", b"9" * 30),
)
_MARK = "@here@"


def _places(value: Json, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, inner in list(pairs):
        found.append((value, key))
        _places(inner, found)
    return found


def damaged_json(choose: random.Random, text: str) -> str:
    """Return a JSON document with another value, key or member in one place."""
    data = json.loads(text)
    holder, key = choose.choice(_places(data, []))
    kind = choose.randrange(6)
    if kind == 0:
        del holder[key]
        return json.dumps(data)
    if kind == 1 and isinstance(holder, dict):
        holder[choose.choice(("", "x", "schema", "\0", "é" * 300))] = holder.pop(key)
        return json.dumps(data)
    if kind == 2:
        others = [found[inner] for found, inner in _places(data, [])]
        holder[key] = json.loads(json.dumps(choose.choice(others)))
        return json.dumps(data)
    if kind == 3 and isinstance(holder, dict):
        again = f"{json.dumps(key)}: {choose.choice(VALUES)}, {json.dumps(key)}:"
        holder[_MARK] = None
        return json.dumps(data).replace(f'"{_MARK}":', again)
    holder[key] = _MARK
    return json.dumps(data).replace(f'"{_MARK}"', choose.choice(VALUES))


def damaged_bytes(choose: random.Random, data: bytes) -> bytes:
    """Return a file's content cut off, changed, filled, emptied, or in another encoding."""
    at = choose.randrange(len(data) + 1)
    end = min(len(data), at + choose.randint(1, 40))
    return choose.choice(
        (
            data[:at],
            data[:at] + choose.choice(SPLINTERS) + data[at:],
            data[:at] + choose.choice(SPLINTERS) + data[end:],
            data[:at] + data[end:],
            data[:at] + data[at:end] * 3 + data[end:],
            choose.choice((b"", b"null", b"[]", b"{}", b"0", b'""', b"\0" * 4096, b"[" * 100_000)),
            data + data,
            data.decode("utf-8", "replace").encode("utf-16"),
        )
    )


def _folder_there(path: Path) -> None:
    path.mkdir()


def _socket_there(path: Path) -> None:
    # The path of a socket has at most 107 bytes.
    short = Path("/proc/self/fd") / str(os.open(path.parent, os.O_RDONLY))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(short / path.name))
    os.close(int(short.name))


OTHER_KINDS: tuple[Callable[[Path], None], ...] = (
    _folder_there,
    _socket_there,
    os.mkfifo,
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to("/proc/self/environ"),
)


def damage(choose: random.Random, path: Path) -> str:
    """Damage one file; return how, in a word."""
    content = path.read_bytes()
    kind = choose.random()
    if kind < 0.03:
        path.unlink()
        choose.choice(OTHER_KINDS)(path)
        return "kind"
    if kind < 0.2:
        path.write_bytes(damaged_bytes(choose, content))
        return "bytes"
    if path.suffix == ".json":
        path.write_text(damaged_json(choose, content.decode()), encoding="utf-8")
        return "json"
    lines = content.decode().split("\n")
    at = choose.choice([n for n, line in enumerate(lines) if line.startswith("[scalebench] ")])
    words, brace, rest = lines[at].partition("{")
    lines[at] = words + damaged_json(choose, brace + rest)
    path.write_text("\n".join(lines), encoding="utf-8")
    return "header"


def restore(folder: Path, original: Path) -> None:
    """Make the folder what the original is."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)


def restore_file(path: Path, original: Path) -> None:
    """Make a file what the original is, whatever stands there."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
    shutil.copyfile(original, path)
