#!/usr/bin/env python3
"""Describes the C interface of the public headers as data, for generators of
bindings: include/runnel/*.h become one JSON file, read by libclang.

usage: make_abi.py INCLUDE_FOLDER            prints the JSON
       make_abi.py --check INCLUDE_FOLDER FILE [LIBRARY]
                                             compares FILE with the headers, and
                                             its functions with LIBRARY's symbols

Needs libclang's Python module (Debian: python3-clang-19); ends with 77 without.

The file has: "version", "pointer_size"; "handles" (opaque pointers), "typedefs",
"callbacks" (types of functions), "enums" with their values, "structs" with size,
alignment and the offset of each field, "constants" (macros that are numbers), and
"functions" with parameters and result. Each has "doc", the comment above it.
Sizes and offsets are bytes on x86-64.
"""

import json
import pathlib
import re
import subprocess
import sys

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
        text = "".join(f"#include <runnel/{f.name}>\n" for f in self.files)
        try:
            index = cindex.Index.create()
        except cindex.LibclangError:
            cindex.Config.set_library_file("libclang-19.so.1")
            index = cindex.Index.create()
        self.unit = index.parse(
            "abi.c", args=ARGUMENTS + ["-I", include],
            unsaved_files=[("abi.c", text)],
            options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        errors = [str(d) for d in self.unit.diagnostics if d.severity >= 3]
        if errors:
            sys.exit("\n".join(errors))
        self.names = {str(f): f.name for f in self.files}
        self.sources = {f.name: f.read_text().splitlines() for f in self.files}

    def header(self, cursor):
        file = cursor.location.file
        return self.names.get(file.name) if file else None

    def doc(self, cursor, lines=None):
        """The comment above, also above a run of declarations, or behind."""
        source = self.sources[self.header(cursor)]
        at = cursor.extent.start.line - 2
        while at >= 0 and source[at].strip() and \
                not source[at].lstrip().startswith("//"):
            if re.search(r"[{}]\s*$", source[at]) or source[at][0] == "#":
                return ""
            at -= 1
        last = at
        while at >= 0 and source[at].lstrip().startswith("//"):
            at -= 1
        return words("\n".join(source[at + 1:last + 1]))

    def behind(self, cursor):
        """The comment of a field or of a value of an enum: behind it, and on
        the lines below that have nothing else; else above."""
        source = self.sources[self.header(cursor)]
        at = cursor.extent.end.line - 1
        match = re.search(r"//(.*)", source[at])
        found = [match[1].strip()] if match else []
        if not found:
            above = cursor.extent.start.line - 2
            while source[above].lstrip().startswith("//"):
                found.insert(0, words(source[above]))
                above -= 1
            return " ".join(found)
        column = source[at].index("//")
        for line in source[at + 1:]:
            if not line.lstrip().startswith("//") or \
                    len(line) - len(line.lstrip()) < column - 2:
                break
            found.append(words(line))
        return " ".join(found)

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
            entry |= {"size": canonical.get_size(), "values": [
                {"name": v.spelling, "value": v.enum_value,
                 "doc": self.behind(v)} for v in declaration.get_children()]}
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
        """Macros that are numbers, with their values as the compiler has
        them."""
        macros = [c for c in self.unit.cursor.get_children()
                  if c.kind == KIND.MACRO_DEFINITION and self.header(c) and
                  re.match(r"RNL_[A-Z]", c.spelling)]
        texts = {}
        for macro in macros:
            tokens = [t.spelling for t in macro.get_tokens()]
            body = " ".join(tokens[1:])
            start = macro.extent.start
            source = self.sources[self.header(macro)][start.line - 1]
            is_call = re.search(re.escape(macro.spelling) + r"\(", source)
            if tokens[1:] and not is_call and re.fullmatch(
                    r"[\w\s()+*-]+", body) and not re.search("void|rnl_", body):
                texts[macro.spelling] = macro
        text = "".join(f"#include <runnel/{f.name}>\n" for f in self.files)
        text += "".join(f"enum {{ value_{n} = (int)({n} == 0) }};\n"
                        f"static const unsigned long long big_{n} = {n};\n"
                        for n in texts)
        unit = cindex.Index.create().parse(
            "values.c", args=ARGUMENTS + ["-I", str(self.files[0].parents[1])],
            unsaved_files=[("values.c", text)])
        values = {}
        for cursor in unit.cursor.get_children():
            if cursor.kind == KIND.VAR_DECL and \
                    cursor.spelling.startswith("big_"):
                values[cursor.spelling[4:]] = self.evaluate(cursor)
        for name, macro in texts.items():
            if values.get(name) is not None:
                out["constants"].append(
                    {"name": name, "header": self.header(macro),
                     "value": values[name], "doc": self.behind(macro) or
                     self.doc(macro)})

    def evaluate(self, cursor):
        library = cindex.conf.lib
        library.clang_Cursor_Evaluate.restype = cindex.c_object_p
        library.clang_EvalResult_getAsUnsigned.restype = \
            __import__("ctypes").c_ulonglong
        result = library.clang_Cursor_Evaluate(cursor)
        if not result:
            return None
        value = library.clang_EvalResult_getAsUnsigned(result)
        library.clang_EvalResult_dispose(result)
        return value - (1 << 64) if value > (1 << 64) - 1000 and \
            "MAX" not in self.text(cursor.spelling[4:]) else value

    def text(self, name):
        for lines in self.sources.values():
            for line in lines:
                if re.match(rf"#define {name}\b", line):
                    return line
        return ""

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


def as_text(include):
    found = Reader(include).read()
    numbers = {c["name"]: c["value"] for c in found["constants"]}
    version = ".".join(str(numbers[f"RNL_VERSION_{part}"])
                       for part in ("MAJOR", "MINOR", "PATCH"))
    lines = ["{", f' "version": "{version}",', ' "pointer_size": 8,']
    # A line for each item, so that changes of the interface read well.
    for key, items in found.items():
        rows = ",\n  ".join(json.dumps(i, ensure_ascii=False) for i in items)
        lines.append(f' "{key}": [\n  {rows}\n ],')
    return "\n".join(lines)[:-1] + "\n}\n"


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                          capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()
            if line.split()[-2] == "T"}


def check(include, file, library=None):
    text = pathlib.Path(file).read_text()
    made = as_text(include)
    problems = []
    if text != made:
        old, new = text.splitlines(), made.splitlines()
        for line in [l for l in new if l not in old][:5]:
            problems.append(f"not in {file}: {line.strip()[:160]}")
        problems.append(f"{file} is not what the headers say. Make it anew: "
                        f"tools/make_abi.py include > include/abi.json")
    if library:
        names = {f["name"] for f in json.loads(text)["functions"]}
        have = exported(library)
        problems += [f"{n} is described and not exported"
                     for n in sorted(names - have)]
        problems += [f"{n} is exported and not described"
                     for n in sorted(have - names)]
    print("\n".join(problems) or f"{file} is what the headers say")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) in (4, 5) and sys.argv[1] == "--check":
        sys.exit(check(*sys.argv[2:]))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(as_text(sys.argv[1]))
