"""The examples of docs/python.md, one behind the other: what they print is what
the page says."""

import contextlib
import io
import os
import re

import pytest

pytest.importorskip("numpy")

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python.md")


def test_the_examples_print_what_the_page_says():
    with open(PAGE, encoding="utf-8") as file:
        blocks = re.findall(r"^```(python|text)\n(.*?)^```", file.read(),
                            re.MULTILINE | re.DOTALL)
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
