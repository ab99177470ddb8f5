#!/usr/bin/env python3
"""Makes bindings from include/abi.json alone: the declarations for LuaJIT's ffi,
or a module of Rust, both with checks of every size and offset.

usage: make_bindings.py lua|rust ABI.json > FILE
"""

import json
import re
import sys


def declare(type_, name):
    """A C declaration of `name`."""
    array = re.fullmatch(r"(.*?)\s*((?:\[\d+\])+)", type_)
    if array:
        return f"{array[1]} {name}{array[2]}"
    return f"{type_} {name}"


# --- LuaJIT -------------------------------------------------------------------

def lua_fields(fields):
    for f in fields:
        if "fields" in f:
            inner = " ".join(lua_fields(f["fields"]))
            yield f'{f["type"]} {{ {inner} }} {f["name"]};'
        else:
            yield declare(f["type"], f["name"]) + ";"


def parameters(function):
    return ", ".join(declare(p["type"], p["name"])
                     for p in function["parameters"]) or "void"


def lua_constant(constant):
    value, type_ = constant["value"], constant["type"]
    if type_.endswith("*"):
        return f"ffi.cast('{type_}', {value})"
    return f"{value}ULL" if value > 2 ** 53 else value


def lua(abi):
    print("local ffi = require 'ffi'\nffi.cdef [[\ntypedef struct FILE FILE;")
    for h in abi["handles"]:
        print(f'typedef struct {h["name"]}_handle *{h["name"]};')
    for t in abi["typedefs"]:
        print(f'typedef {t["type"]} {t["name"]};')
    for e in abi["enums"]:
        values = ", ".join(f'{v["name"]} = {v["value"]}' for v in e["values"])
        print(f'typedef enum {{ {values} }} {e["name"]};')
    for s in abi["structs"]:
        print(f'typedef struct {s["name"]} {s["name"]};')
    for c in abi["callbacks"]:
        print(f'typedef {c["result"]} (*{c["name"]})({parameters(c)});')
    for s in abi["structs"]:
        print(f'struct {s["name"]} {{ {" ".join(lua_fields(s["fields"]))} }};')
    for f in abi["functions"]:
        print(f'{f["result"]} {f["name"]}({parameters(f)});')
    print("]]")
    for s in abi["structs"]:
        print(f'assert(ffi.sizeof("{s["name"]}") == {s["size"]}, "{s["name"]}")')
        for f in s["fields"]:
            print(f'assert(ffi.offsetof("{s["name"]}", "{f["name"]}") == '
                  f'{f["offset"]}, "{s["name"]}.{f["name"]}")')
    constants = ", ".join(f'{c["name"]} = {lua_constant(c)}'
                          for c in abi["constants"])
    print(f"return {{ {constants} }}")


# --- Rust ---------------------------------------------------------------------

PLAIN = {"void": "c_void", "char": "c_char", "int": "i32", "unsigned int": "u32",
         "size_t": "usize", "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16",
         "uint16_t": "u16", "int32_t": "i32", "uint32_t": "u32",
         "int64_t": "i64", "uint64_t": "u64", "float": "f32", "double": "f64",
         "bool": "bool", "unsigned char": "u8", "FILE": "c_void",
         "struct DLManagedTensorVersioned": "c_void"}


def rust_type(type_):
    type_ = type_.strip()
    array = re.fullmatch(r"(.*?)\s*\[(\d+)\]", type_)
    if array:
        return f"[{rust_type(array[1])}; {array[2]}]"
    if "(" in type_:
        sys.exit(f"a type of functions has no name: {type_}")
    pointer = re.fullmatch(r"(.*?)\s*\*\s*(const)?", type_)
    if pointer:
        inner = pointer[1].strip()
        const = inner.startswith("const ") and not inner.endswith("*") or \
            inner.endswith("*const")
        return ("*const " if const else "*mut ") + rust_type(inner)
    type_ = re.sub(r"^const ", "", type_)
    return PLAIN.get(type_, type_)


def rust_name(name):
    return "r#" + name if name in ("type", "in", "match", "ref", "fn") else name


def rust_record(name, fields, kind):
    inner = []
    for f in fields:
        type_ = f"{name}_{f['name']}" if "fields" in f else rust_type(f["type"])
        if "fields" in f:
            rust_record(type_, f["fields"], f["type"])
        inner.append(f"    pub {rust_name(f['name'])}: {type_},")
    print("#[repr(C)]\n#[derive(Clone, Copy)]")
    print(f"pub {kind} {name} {{\n" + "\n".join(inner) + "\n}")


def rust(abi):
    print("#![allow(non_camel_case_types, dead_code)]\n"
          "use std::os::raw::{c_char, c_void};")
    for h in abi["handles"]:
        print(f'pub enum {h["name"]}_handle {{}}\n'
              f'pub type {h["name"]} = *mut {h["name"]}_handle;')
    for t in abi["typedefs"]:
        print(f'pub type {t["name"]} = {rust_type(t["type"])};')
    for e in abi["enums"]:
        print(f'pub type {e["name"]} = i32;')
        for v in e["values"]:
            print(f'pub const {v["name"]}: {e["name"]} = {v["value"]};')
    for c in abi["callbacks"] + abi["functions"]:
        c["rust"] = ", ".join(f'{rust_name(p["name"])}: {rust_type(p["type"])}'
                              for p in c["parameters"])
        if c["result"] != "void":
            c["rust_result"] = f' -> {rust_type(c["result"])}'
    for c in abi["callbacks"]:
        print(f'pub type {c["name"]} = Option<unsafe extern "C" fn({c["rust"]})'
              f'{c.get("rust_result", "")}>;')
    for s in abi["structs"]:
        rust_record(s["name"], s["fields"], "struct")
        print(f'const _: [(); {s["size"]}] = '
              f'[(); std::mem::size_of::<{s["name"]}>()];')
    for c in abi["constants"]:
        kind = "i64" if c["value"] < 2 ** 63 else "u64"
        if c["type"].endswith("*"):
            kind = rust_type(c["type"])
        print(f'pub const {c["name"]}: {kind} = {c["value"]} as {kind};')
    print('extern "C" {')
    for f in abi["functions"]:
        print(f'    pub fn {f["name"]}({f["rust"]}){f.get("rust_result", "")};')
    print("}")
    print("pub fn check_offsets() {\n    use std::mem::MaybeUninit;")
    for s in abi["structs"]:
        print(f'    let s = MaybeUninit::<{s["name"]}>::uninit();\n'
              "    let p = s.as_ptr();")
        for f in s["fields"]:
            print("    assert_eq!(unsafe { std::ptr::addr_of!((*p)."
                  f'{rust_name(f["name"])}) as usize }} - p as usize, '
                  f'{f["offset"]}, "{s["name"]}.{f["name"]}");')
    print("}")


def main(language, path):
    abi = json.load(open(path, encoding="utf-8"))
    {"lua": lua, "rust": rust}[language](abi)


main(*sys.argv[1:])
