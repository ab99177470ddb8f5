"""The examples of docs/python.md, one behind the other: what they print is what
the page says."""

import contextlib
import io
import os
import re

import pytest

pytest.importorskip("numpy")

TREE = os.path.join(os.path.dirname(__file__), "..", "..")


def blocks_of(page, languages):
    with open(os.path.join(TREE, page), encoding="utf-8") as file:
        return re.findall(rf"^```({languages})\n(.*?)^```", file.read(),
                          re.MULTILINE | re.DOTALL)


def test_the_examples_print_what_the_page_says():
    blocks = blocks_of("docs/python.md", "python|text")
    assert len(blocks) >= 10
    names, printed = {}, ""
    for kind, text in blocks:
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, "docs/python.md", "exec"), names)
            printed = out.getvalue()
        else:
            assert printed.strip() == text.strip()


def test_the_example_of_the_readme_adds_a_scalar():
    """Its kernel is the one that the page shows in C."""
    (_, c), (_, python) = blocks_of("README.md", "c|python")[:2]
    lines = re.findall(r'^    "(.*)\\n"', c, re.MULTILINE)
    names = {"source": "\n".join(lines).replace('\\"', '"')}
    exec(compile(python, "README.md", "exec"), names)
    assert (names["vector"] == 20).all()
