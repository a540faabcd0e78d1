"""Where a Python file can be changed by a little, and the file with one such change."""

import ast
import hashlib
from collections import Counter
from dataclasses import dataclass, replace

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
TEXTS = (ast.JoinedStr, ast.Constant)
UNTESTED = ("TYPE_CHECKING", "__name__ == '__main__'")


@dataclass(frozen=True)
class Mutation:
    """One change: the lines and byte columns that it replaces, and what stands there then.

    `name` is the qualified name of the function around it, at the module's level that of the
    constant, empty where there is none. `number` tells the same changes of one function apart.
    """

    path: str
    name: str
    kind: str
    before: str
    after: str
    start: tuple
    end: tuple
    number: int = 1

    @property
    def place(self):
        """What stays the same when other lines of the file change."""
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.path}:{self.name or 'module'}: {self.before} -> {self.after}{again}"

    def rank(self, seed):
        """Return a number that the seed and the place alone decide."""
        return hashlib.sha256(f"{seed} {self.place}".encode()).hexdigest()

    def applied_to(self, source):
        lines = source.encode().splitlines(keepends=True)
        (first, begin), (last, end) = self.start, self.end
        tail = lines[last - 1][end:]
        lines[first - 1 : last] = [lines[first - 1][:begin] + self.after.encode() + tail]
        return b"".join(lines).decode()


def expression(node):
    return ast.unparse(node).replace("\n", " ")


def changed_operator(node):
    """Yield the kind and the text of each change of an operator or a called function."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        ops = [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield "comparison", ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and, or", ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        # A sum of texts that turns into a difference fails wherever it is reached.
        if not isinstance(node.left, TEXTS[0]) and not is_text(node.left) | is_text(node.right):
            yield "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.IfExp):
        yield "condition", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        name = ast.Name(CALLS[node.func.id])
        keywords = node.keywords if name.id != "list" else []
        yield "call", ast.Call(name, node.args, keywords)


def is_text(node):
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def changed_constant(node):
    """Yield the change of a number, a truth value or a word; prose stays as it is."""
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield "truth value", ast.Constant(not value)
    elif isinstance(value, (int, float)):
        yield "number", ast.Constant(value + 1)
    elif isinstance(value, str) and value and not any(map(str.isspace, value)):
        yield "word", ast.Constant(value + "X")


def changed_statement(node):
    """Yield the change of a whole statement."""
    if isinstance(node, ast.Return) and not isinstance(node.value, (type(None), ast.Constant)):
        yield "return", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.If):
        yield "if", ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, (ast.Raise, ast.Continue, ast.AugAssign)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "statement", ast.Pass()


class Places(ast.NodeVisitor):
    """Collect the mutations of one file.

    What only documents or declares is left out: annotations, decorators, `__all__`, imports for
    types, documentation in YAML. So is what runs only where a file is started as a program, and
    the inside of f-strings, whose columns Python 3.11 does not know.
    """

    def __init__(self, path):
        self.path = path
        self.names = []
        self.found = []

    def add(self, kind, node, new):
        ast.fix_missing_locations(new)
        after = expression(new)
        self.found.append(
            Mutation(
                self.path, ".".join(self.names), kind, expression(node),
                f"({after})" if isinstance(new, ast.expr) and not constant(new) else after,
                (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset),
            )
        )  # fmt: skip

    def visit(self, node):
        if isinstance(node, ast.If) and expression(node.test) in UNTESTED:
            return
        for kind, new in changed_statement(node):
            self.add(kind, node.test if kind == "if" else node, new)
        for change in (changed_operator, changed_constant):
            for kind, new in change(node):
                self.add(kind, node, new)
        super().visit(node)

    def visit_JoinedStr(self, node):
        pass

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.inside(expression(node.target), [node.value])

    def visit_Assign(self, node):
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if not names & {"__all__", "DOCUMENTATION", "EXAMPLES", "RETURN"}:
            self.inside(min(names, default=""), [node.value])

    def visit_ClassDef(self, node):
        self.inside(node.name, node.body, scope=True)

    def visit_FunctionDef(self, node):
        defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
        self.inside(node.name, (*defaults, *node.body), scope=True)

    def inside(self, name, parts, scope=False):
        """Visit parts under a name: a function's or a class's, else a constant's of the module."""
        named = scope or not self.names
        self.names += [name] * named
        for part in parts:
            self.visit(part)
        del self.names[len(self.names) - named :]


def constant(node):
    return isinstance(node, ast.Constant)


def mutations(path, source):
    """Return every mutation of a file's source."""
    places = Places(path)
    places.visit(ast.parse(source))
    seen, found = Counter(), []
    for mutation in places.found:
        seen[mutation.place] += 1
        found.append(replace(mutation, number=seen[mutation.place]))
    return found


def sample(found, size, seed):
    """Return `size` mutations, each kind in its turn, the same ones as long as they are there."""
    kinds = {}
    for mutation in sorted(found, key=lambda one: one.rank(seed)):
        kinds.setdefault(mutation.kind, []).append(mutation)
    turns = [(turn, kind) for kind in sorted(kinds) for turn in range(len(kinds[kind]))]
    return [kinds[kind][turn] for turn, kind in sorted(turns)[:size]]
