"""Reads C source as far as the architecture tests need it: without comments and strings, and cut into functions."""
import re

TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
NAME_BEFORE_PARENS = re.compile(r"(\w+)\s*$")
# What may stand between the parameters and the body.
ATTRIBUTE = re.compile(r"__attribute__\s*$")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def bare(text):
    """The text with comments, strings and character constants blanked; lines and columns stay."""
    return TOKEN.sub(_blank, text)


def _opening(code, close):
    """Where the parenthesis begins that ends at close."""
    depth = 0
    for i in range(close, -1, -1):
        depth += (code[i] == ")") - (code[i] == "(")
        if depth == 0:
            return i
    return 0


def _signature(code, brace):
    """(name, where it stands) of the function whose body begins at brace, or None when it is another kind of brace."""
    end = brace
    while True:
        end = len(code[:end].rstrip())
        if end == 0 or code[end - 1] != ")":
            return None
        end = _opening(code, end - 1)
        if ATTRIBUTE.search(code, 0, end):
            end = ATTRIBUTE.search(code, 0, end).start()
            continue
        name = NAME_BEFORE_PARENS.search(code[max(0, end - 200):end])
        return (name.group(1), end - len(name.group())) if name else None


def functions(text):
    """(name, first line, number of lines) of every function that is defined in a file."""
    code = DIRECTIVE.sub(_blank, bare(text))
    found, depth, open_function = [], 0, None
    for match in re.finditer(r"[{}]", code):
        if match.group() == "{":
            if depth == 0:
                open_function = _signature(code, match.start())
            depth += 1
            continue
        depth -= 1
        if depth == 0 and open_function:
            name, start = open_function
            first = code.count("\n", 0, start) + 1
            found.append((name, first, code.count("\n", 0, match.start()) + 2 - first))
    return found
