#!/usr/bin/env python3
"""Describes the C interface of the public headers as data, for generators of
bindings: include/runnel/*.h become one JSON file, read by libclang.

usage: make_abi.py INCLUDE_FOLDER            prints the JSON
       make_abi.py --self-test
       make_abi.py --check INCLUDE_FOLDER FILE
                                             compares FILE with the headers, in
                                             which all must have a comment

Needs libclang's Python module (Debian: python3-clang-19); ends with 77 without.

The file has: "version", "pointer_size"; "handles" (opaque pointers), "typedefs",
"callbacks" (types of functions), "enums" with their values, "structs" with size,
alignment and the offset of each field, "constants" (macros that are numbers or
addresses) with value and type, and "functions" with parameters and result. Each
has "doc", the comment above it.
Sizes and offsets are bytes on x86-64.
"""

import ctypes
import json
import pathlib
import re
import sys
import tempfile

try:
    from clang import cindex
except ImportError:
    print("skipped: no module clang.cindex (Debian: python3-clang-19)",
          file=sys.stderr)
    sys.exit(77)

ARGUMENTS = ["-x", "c", "-std=c11", "-target", "x86_64-linux-gnu",
             "-fparse-all-comments"]
KIND = cindex.CursorKind
TYPE = cindex.TypeKind

# Macros without parameters that stand for other things than numbers.
NO_NUMBERS = {"RNL_API", "RNL_BEGIN_DECLS", "RNL_END_DECLS", "RNL_AT_START",
              "RNL_NO_ARGS"}
# A number, or an address as one.
NUMBER = "_Generic(({0}), void *: (unsigned long long)({0}), default: ({0}))"


def words(comment):
    """A comment without its marks, or ""."""
    lines = [re.sub(r"^\s*//+ ?", "", line).rstrip()
             for line in (comment or "").splitlines()]
    return "\n".join(lines).strip("\n")


class Reader:
    def __init__(self, include):
        folder = pathlib.Path(include)
        self.files = sorted((folder / "runnel").glob("*.h"))
        # Compiled kernels are no part of the interface, and RNL_ARGS is C only.
        self.files = [f for f in self.files if f.name != "cpu_object.h"]
        self.include = include
        self.text = "".join(f"#include <runnel/{f.name}>\n" for f in self.files)
        self.unit = self.parse("abi.c", self.text)
        self.names = {str(f): f.name for f in self.files}
        self.sources = {f.name: f.read_text().splitlines() for f in self.files}

    def parse(self, name, text):
        try:
            index = cindex.Index.create()
        except cindex.LibclangError:
            cindex.Config.set_library_file("libclang-19.so.1")
            index = cindex.Index.create()
        unit = index.parse(
            name, args=ARGUMENTS + ["-I", self.include],
            unsaved_files=[(name, text)],
            options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        errors = [str(d) for d in unit.diagnostics if d.severity >= 3]
        if errors:
            sys.exit("\n".join(errors))
        return unit

    def header(self, cursor):
        file = cursor.location.file
        return self.names.get(file.name) if file else None

    def doc(self, cursor):
        """The comment above, also above a run of declarations."""
        source = self.sources[self.header(cursor)]
        at = cursor.extent.start.line - 2
        while source[at].strip() and not self.is_comment(source[at]):
            if re.search(r"[{}]\s*$", source[at]) or \
                    source[at].startswith(("#if", "#e")):
                return ""
            at -= 1
        return self.comment_to(source, at)

    @staticmethod
    def is_comment(line):
        return line.lstrip().startswith("//")

    def comment_to(self, source, at):
        """The comment whose last line is at `at`, with lines of this depth."""
        last, depth = at, len(source[at]) - len(source[at].lstrip())
        while self.is_comment(source[at]) and \
                len(source[at]) - len(source[at].lstrip()) == depth:
            at -= 1
        return words("\n".join(source[at + 1:last + 1]))

    def behind(self, cursor):
        """The comment of a field or of a value of an enum: behind it and below
        that, further to the right than fields; else above it or above a run of
        fields that have none behind."""
        source = self.sources[self.header(cursor)]
        at = cursor.extent.end.line - 1
        match = re.search(r"//(.*)", source[at])
        if not match:
            at = cursor.extent.start.line - 1
            depth = re.match(" *", source[at])[0]
            while at > 0 and re.match(depth + r"[^ /{}#][^/]*$", source[at]):
                at -= 1
            above = re.match(depth + "//", source[at])
            return self.comment_to(source, at).replace("\n", " ") if above \
                else ""
        found = [match[1].strip()]
        column = source[at].index("//")
        for line in source[at + 1:]:
            if not self.is_comment(line) or \
                    len(line) - len(line.lstrip()) < column - 2:
                break
            found.append(words(line))
        return " ".join(found)

    def sentences(self):
        """Of the statuses, which one macro has with their names."""
        text = "\n".join(self.sources.get("status.h", [])).replace("\\\n", " ")
        rows = re.findall(r'X\((\w+), \d+,\s*((?:"[^"]*"\s*)+)\)', text)
        return {"RNL_" + name: "".join(re.findall('"([^"]*)"', texts))
                for name, texts in rows}

    def type_name(self, type_):
        return re.sub(r"\b(struct|enum|union) (rnl_\w+)\b(?!_handle)", r"\2",
                      type_.spelling).replace("_Bool", "bool")

    def fields(self, type_):
        found = []
        for field in type_.get_fields():
            inner = field.type.get_canonical()
            entry = {"name": field.spelling, "type": self.type_name(field.type),
                     "offset": field.get_field_offsetof() // 8,
                     "size": field.type.get_size(), "doc": self.behind(field)}
            declaration = inner.get_declaration()
            if declaration.is_anonymous() or \
                    "unnamed" in field.type.spelling:
                entry["type"] = "union" \
                    if declaration.kind == KIND.UNION_DECL else "struct"
                entry["fields"] = self.fields(inner)
            found.append(entry)
        return found

    def parameters(self, cursor):
        return [{"name": p.spelling, "type": self.type_name(p.type)}
                for p in cursor.get_children() if p.kind == KIND.PARM_DECL]

    def read_typedef(self, cursor, out):
        name, under = cursor.spelling, cursor.underlying_typedef_type
        entry = {"name": name, "header": self.header(cursor)}
        canonical = under.get_canonical()
        declaration = canonical.get_declaration()
        entry["doc"] = self.doc(cursor)
        if canonical.kind == TYPE.RECORD:
            entry["doc"] = self.doc(declaration)
            entry |= {"size": canonical.get_size(),
                      "alignment": canonical.get_align(),
                      "fields": self.fields(canonical)}
            out["structs"].append(entry)
        elif canonical.kind == TYPE.ENUM:
            entry["doc"] = self.doc(declaration)
            sentences = self.sentences()
            entry |= {"size": canonical.get_size(), "values": [
                {"name": v.spelling, "value": v.enum_value,
                 "doc": sentences.get(v.spelling) or self.behind(v)}
                for v in declaration.get_children()]}
            out["enums"].append(entry)
        elif canonical.kind == TYPE.POINTER and \
                canonical.get_pointee().kind == TYPE.FUNCTIONPROTO:
            result = canonical.get_pointee().get_result()
            entry |= {"result": self.type_name(result),
                      "parameters": self.parameters(cursor)}
            out["callbacks"].append(entry)
        elif canonical.kind == TYPE.POINTER:
            entry["doc"] = self.behind(cursor)
            out["handles"].append(entry)
        else:
            entry["type"] = self.type_name(under)
            out["typedefs"].append(entry)

    def read_constants(self, out):
        """Macros without parameters, with their values as the compiler has them:
        all must be numbers or addresses, except NO_NUMBERS."""
        macros = {c.spelling: c for c in self.unit.cursor.get_children()
                  if c.kind == KIND.MACRO_DEFINITION and self.header(c) and
                  c.spelling.startswith("RNL_") and
                  c.spelling not in NO_NUMBERS and
                  f"{c.spelling}(" not in self.line(c)}
        text = self.text + "".join(
            f"static const __typeof__({n}) type_{n};\n"
            f"static const __typeof__({NUMBER.format(n)}) "
            f"value_{n} = {NUMBER.format(n)};\n" for n in macros)
        unit = self.parse("values.c", text)
        cursors = {c.spelling: c for c in unit.cursor.get_children()
                   if c.kind == KIND.VAR_DECL}
        for name, macro in macros.items():
            type_ = cursors[f"type_{name}"].type.get_canonical().spelling
            out["constants"].append({
                "name": name, "header": self.header(macro),
                "value": self.evaluate(cursors[f"value_{name}"]),
                "type": re.sub(r"^const |\s*const$", "", type_),
                "doc": self.behind(macro) or self.doc(macro)})

    def line(self, cursor):
        return self.sources[self.header(cursor)][cursor.extent.start.line - 1]

    def evaluate(self, cursor):
        library = cindex.conf.lib
        library.clang_Cursor_Evaluate.restype = cindex.c_object_p
        library.clang_EvalResult_getAsUnsigned.restype = ctypes.c_ulonglong
        library.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
        result = library.clang_Cursor_Evaluate(cursor)
        if not result or library.clang_EvalResult_getKind(result) != 1:
            sys.exit(f"{cursor.spelling[len('value_'):]} is no number: name it in "
                     "NO_NUMBERS of tools/make_abi.py if that is right")
        is_unsigned = library.clang_EvalResult_isUnsignedInt(result)
        value = library.clang_EvalResult_getAsUnsigned(result) if is_unsigned \
            else library.clang_EvalResult_getAsLongLong(result)
        library.clang_EvalResult_dispose(result)
        return value

    def read(self):
        out = {key: [] for key in ("handles", "typedefs", "callbacks", "enums",
                                   "structs", "constants", "functions")}
        for cursor in self.unit.cursor.get_children():
            if not self.header(cursor):
                continue
            if cursor.kind == KIND.TYPEDEF_DECL:
                self.read_typedef(cursor, out)
            elif cursor.kind == KIND.FUNCTION_DECL and \
                    cursor.storage_class != cindex.StorageClass.STATIC:
                out["functions"].append({
                    "name": cursor.spelling, "header": self.header(cursor),
                    "result": self.type_name(cursor.result_type),
                    "parameters": self.parameters(cursor),
                    "doc": self.doc(cursor)})
        self.read_constants(out)
        return out


def as_text(found):
    numbers = {c["name"]: c["value"] for c in found["constants"]}
    version = ".".join(str(numbers[f"RNL_VERSION_{part}"])
                       for part in ("MAJOR", "MINOR", "PATCH"))
    lines = ["{", f' "version": "{version}",', ' "pointer_size": 8,']
    # A line for each item, so that changes of the interface read well.
    for key, items in found.items():
        rows = ",\n  ".join(json.dumps(i, ensure_ascii=False) for i in items)
        lines.append(f' "{key}": [\n  {rows}\n ],')
    return "\n".join(lines)[:-1] + "\n}\n"


def without_doc(found):
    return [f"{i['header']}: {i['name']} has no comment"
            for items in found.values() for i in items if not i["doc"]]


def check(include, file):
    text = pathlib.Path(file).read_text()
    found = Reader(include).read()
    made = as_text(found)
    problems = without_doc(found)
    if text != made:
        old, new = text.splitlines(), made.splitlines()
        for line in [l for l in new if l not in old][:5]:
            problems.append(f"not in {file}: {line.strip()[:160]}")
        problems.append(f"{file} is not what the headers say. Make it anew: "
                        f"tools/make_abi.py include > include/abi.json")
    print("\n".join(problems) or f"{file} is what the headers say")
    return 1 if problems else 0


HEADER = """\
// Bits.
typedef unsigned a_bits;

// Of both names.
#define RNL_LOW (1u << 3)
#define RNL_BOTH (RNL_LOW | ~0xfu)
#define RNL_LESS -1  // fewer
#define RNL_MOST (~0ull)
#define RNL_ADDRESS ((void *)2)
#define RNL_CALL(x) x

// Some numbers.
typedef struct rnl_a {
    int first;   // behind
                 // and below
    int second;
    // Above both.
    int third;
    int fourth;
    int fifth;   // behind
} rnl_a;

typedef struct rnl_b {
    int x;
} rnl_b;
"""
VALUES = {"RNL_LOW": 8, "RNL_BOTH": 0xfffffff8, "RNL_LESS": -1,
          "RNL_MOST": 2 ** 64 - 1, "RNL_ADDRESS": 2}
DOCS = {"first": "behind and below", "second": "", "third": "Above both.",
        "fourth": "Above both.", "fifth": "behind"}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        header = pathlib.Path(folder, "runnel/a.h")
        header.parent.mkdir()
        header.write_text(HEADER)
        found = Reader(folder).read()
        values = {c["name"]: c["value"] for c in found["constants"]}
        docs = {f["name"]: f["doc"] for f in found["structs"][0]["fields"]}
        problems = [f"{have}, not {want}" for have, want in
                    ((values, VALUES), (docs, DOCS)) if have != want]
        problems += [] if "rnl_b has no comment" in str(without_doc(found)) \
            else ["a struct without a comment is not named"]
        header.write_text('#define RNL_TEXT "text"\n')
        try:
            Reader(folder).read()
            problems.append("a text was taken for a number")
        except SystemExit as stop:
            if "RNL_TEXT is no number" not in str(stop):
                problems.append(str(stop))
    print("\n".join(problems) or "make_abi self-test: fine")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if len(sys.argv) == 4 and sys.argv[1] == "--check":
        sys.exit(check(*sys.argv[2:]))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(as_text(Reader(sys.argv[1]).read()))
