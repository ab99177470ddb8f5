// Modules and functions: kernels from source or from a binary.
//
// Source is CUDA-dialect C++, as NVRTC takes it, on every backend.
//
// Lifetime: counted. A function keeps its module, a module its context, and
//           work in flight the functions it runs.
// Threads:  safe; several threads may compile at once.
#ifndef RUNNEL_MODULE_H
#define RUNNEL_MODULE_H

#include <runnel/status.h>

// A header that the source can include by `name` without any file. On cpu that
// is a relative path without ".." and "=/", or RNL_ERROR_INVALID_ARGUMENT.
typedef struct rnl_header {
    const char *name;
    const char *source;
} rnl_header;

// Texts of a compilation that can be dumped, for people to read.
typedef enum rnl_dump_kind {
    RNL_DUMP_ASSEMBLY = 1,  // the processor's assembly; cuda: PTX
    RNL_DUMP_IR = 2,        // cpu: LLVM IR, a text for each stage
    RNL_DUMP_MACHINE = 4,   // cuda: SASS, the machine code, disassembled
} rnl_dump_kind;

// A dumped text; valid during the callback.
typedef struct rnl_dump_text {
    size_t struct_size;
    rnl_dump_kind kind;
    const char *name;  // "s", "ptx", "sass"; of IR the stage: "source.ll",
                       // "threads.ll", "vectors.ll", "finished.ll"
    const char *text;  // ends in a zero
    size_t size;       // bytes, without the zero
} rnl_dump_text;

// Receives a text; false ends the compilation. May not call Runnel.
typedef bool (*rnl_dump_fn)(const rnl_dump_text *text, void *user_data);

// Which texts, and where to: at least one of path, to_stdout and write.
typedef struct rnl_dump {
    size_t struct_size;
    uint32_t kinds;     // rnl_dump_kind bits; 0: RNL_DUMP_ASSEMBLY
    const char *path;   // a file, replaced, for one kind that is not IR; else
                        // what files of each begin with: PATH.s, PATH.source.ll
    bool to_stdout;     // print; several texts have a comment in front of each
    rnl_dump_fn write;
    void *user_data;    // given to `write`
} rnl_dump;

// Texts come once the source has compiled, IR first, on the calling thread and
// before the call returns; the caches give none, so the compiler runs each
// time. RNL_ERROR_UNSUPPORTED names the kind that cannot be had, and why: NVRTC
// shows no IR; MACHINE takes the toolkit's nvdisasm, which is looked for in
// PATH, in CUDA_PATH and CUDA_HOME, beside NVRTC and in /usr/local/cuda. On a
// cpu the assembly is the machine's. RNL_ERROR_IO when a text cannot be
// written, or `write` ends it.
#define RNL_DUMP(...) RNL_LITERAL(rnl_dump, __VA_ARGS__)

// How source is compiled. Arrays are read during the call only.
typedef struct rnl_module_options {
    size_t struct_size;
    const char *name;            // file name in diagnostics; "kernel.cu"
    // Compiler options as NVRTC takes them: -DX=1, -Idir, -std=c++17,
    // --use_fast_math, -G …; any other is RNL_ERROR_INVALID_ARGUMENT.
    const char *const *options;
    size_t option_count;
    // Texts that the source may include.
    const rnl_header *headers;
    size_t header_count;
    // C++ expressions that name kernels, "scale<float>", "&k", "a::k", or
    // variables: "&table<int>".
    const char *const *name_expressions;
    size_t name_expression_count;
    const rnl_dump *dump;        // texts to be read; NULL: none
    uint64_t timeout_ns;         // limit for the compiler; 0: 60 s
    const char *label;           // copied
    bool binary_only;            // compile, but load nothing: the module is
                                 // good for its binary and its log, and may be
                                 // for another processor (--target=…)
    bool untrusted;              // confine the compiler, see below
} rnl_module_options;

// With `untrusted`, the compiler of a cpu context reads no files but `headers`
// and those of -I folders, takes at most 1 GiB of memory and 30 s of processor
// time in each of its processes, and gains no privileges. A source that needs
// more fails with RNL_ERROR_COMPILE_FAILED, or at `timeout_ns`. If the kernel
// has no Landlock, only included files are checked, and the log has a note.
// RNL_ERROR_UNSUPPORTED on a GPU, whose compiler runs in this process. The
// option protects the compilation alone: a kernel that is launched on a cpu
// has all rights of the process (docs/security.md).

#define RNL_MODULE_OPTIONS(...) RNL_LITERAL(rnl_module_options, __VA_ARGS__)

// The kind of a kernel parameter, and of the argument that a launch must give.
typedef enum rnl_value_kind {
    RNL_VALUE_UNKNOWN = 0,  // only the size is known; no kind check
    RNL_VALUE_POINTER = 1,  // a buffer or an address
    RNL_VALUE_INTEGER = 2,  // signed or not, bool, char, enum
    RNL_VALUE_FLOAT = 3,    // float or double
    RNL_VALUE_STRUCT = 4,   // anything else, passed by value
} rnl_value_kind;

// A parameter of a kernel.
typedef struct rnl_parameter {
    rnl_value_kind kind;
    uint32_t size;       // bytes
    uint32_t alignment;  // bytes, 0 is 1; at most so many where the kind is
                         // unknown; arguments lie at multiples of 64 at most
    const char *type;    // as in the source; "" where unknown
    rnl_element element; // what a pointer points to, if that is a number or an
                         // array of numbers, and known; else UNKNOWN
} rnl_parameter;

// Properties of a function. Strings and `parameters` live as long as the
// function.
typedef struct rnl_function_info {
    size_t struct_size;
    const char *name;        // as asked for
    const char *symbol;      // in the binary
    const rnl_parameter *parameters;
    size_t parameter_count;
    uint32_t max_block_threads;
    uint32_t registers;      // per thread; 0 where unknown
    size_t shared_size;      // static shared memory, bytes per block
    size_t local_size;       // bytes per thread; 0 where unknown
    size_t constant_size;
    bool uses_barriers;      // cpu: its threads may have to wait for others
    rnl_dim3 cluster;        // __cluster_dims__, which each launch then has;
                             // zeros: as the launch says
    const char *tier;        // cpu: "B" if the threads of a warp run as lanes
                             // of vectors, "F" if they run one after another,
                             // mostly slower. NULL on GPUs and for C functions
    const char *tier_reason; // cpu: why the compiler chose "F"; "" for "B", or
                             // if the binary does not tell; NULL like `tier`
} rnl_function_info;

// Attributes of a function that can be set, by number.
typedef enum rnl_function_attribute_id {
    RNL_FUNCTION_DYNAMIC_SHARED = 1,  // bytes of dynamic shared memory that a
                                      // launch may ask for; what the device has
                                      // besides the static part unless set
    RNL_FUNCTION_CARVEOUT = 2,        // percent of the memory on the chip that
                                      // should be shared memory rather than
                                      // cache: a hint; cpu: without effect
} rnl_function_attribute_id;

#define RNL_CARVEOUT_DEFAULT (-1)  // as the device likes

// The forms of native code.
typedef enum rnl_code_kind {
    RNL_CODE_OBJECT = 1,  // cpu: an ELF shared object
    RNL_CODE_PTX = 2,     // cuda: text, for the driver to assemble
    RNL_CODE_CUBIN = 3,   // cuda: ELF, for one architecture
    RNL_CODE_FATBIN = 4,  // cuda: several of both
} rnl_code_kind;

// The compiler that makes a context's modules of source.
typedef struct rnl_compiler_info {
    size_t struct_size;
    char path[4096];    // cpu: of runnel-cc; cuda: what NVRTC is loaded by
    char version[256];  // cpu: "runnel-cc 5 … clang 19.1.7 …", as its option
                        // --identity prints it; cuda: "NVRTC 12.8"
    char target[64];    // the processor: cpu: "native (znver4)", or what
                        // RUNNEL_CPU_TARGET says; cuda: "sm_90"
} rnl_compiler_info;

// How many blocks of a shape can be resident at once.
typedef struct rnl_occupancy {
    size_t struct_size;
    uint32_t blocks;             // on each multiprocessor; 0: none ever can
    uint32_t multiprocessors;    // of the device
    uint64_t cooperative_blocks; // that a cooperative launch may have in all;
                                 // UINT64_MAX: any number
} rnl_occupancy;

RNL_BEGIN_DECLS

// --- Modules ---------------------------------------------------------------

// Compiles `source` (zero-terminated) and loads it. Takes the result from the
// disk cache when the same source, headers, options and compiler made it
// before. RNL_ERROR_COMPILE_FAILED: rnl_last_error()->log has the diagnostics
// with the user's own file, line and caret. RNL_ERROR_COMPILER_UNAVAILABLE
// lists every compiler looked for. Stands for nvrtcCompileProgram and
// cuModuleLoadData.
RNL_API rnl_status rnl_module_compile(rnl_context context, const char *source,
                                      const rnl_module_options *options,
                                      rnl_module *out_module);

// The same with the source of a file. Diagnostics have `path` as the file's
// name, unless options give another. `#include "a.h"` looks beside the file
// first, then in the -I folders; `untrusted` counts the file's folder as one of
// those. RNL_ERROR_IO when the file cannot be read, RNL_ERROR_INVALID_ARGUMENT
// for a file with bytes that are zero. The disk cache keeps only sources that
// include nothing.
RNL_API rnl_status rnl_module_compile_file(rnl_context context,
                                           const char *path,
                                           const rnl_module_options *options,
                                           rnl_module *out_module);

// Loads a finished binary from memory: cubin, PTX, fatbin, code object or cpu
// object. Checked before any of it is executed (RNL_ERROR_INVALID_BINARY).
RNL_API rnl_status rnl_module_load(rnl_context context, const void *data,
                                   size_t size, const char *label,
                                   rnl_module *out_module);

// The same from a file. RNL_ERROR_IO when it cannot be read.
RNL_API rnl_status rnl_module_load_file(rnl_context context, const char *path,
                                        rnl_module *out_module);

// Adds a reference for the caller.
RNL_API rnl_status rnl_module_retain(rnl_module module);

// Drops a reference; functions taken from the module stay usable.
RNL_API rnl_status rnl_module_release(rnl_module module);

// The binary that was loaded, to be saved and given to rnl_module_load later.
// Lives as long as the module: where another thread may release that, the
// caller keeps a reference while it reads.
RNL_API rnl_status rnl_module_binary(rnl_module module, const void **out_data,
                                     size_t *out_size);

// The vendor's own code in the binary, for tools that know nothing of Runnel:
// what cuModuleLoadData, cuobjdump or objdump take. A module holds one kind;
// for others RNL_ERROR_UNSUPPORTED says which, and how to get the one wanted.
// PTX comes without its ending zero. Lives as long as the module.
RNL_API rnl_status rnl_module_native_code(rnl_module module,
                                          rnl_code_kind kind,
                                          const void **out_data,
                                          size_t *out_size);

// The compiler's log, warnings included; "" for a binary that was loaded or
// came from the cache. Lives as long as the module, like the binary.
RNL_API rnl_status rnl_module_log(rnl_module module, const char **out_log);

// The kernel called `name`: an extern "C" or plain name, a name expression
// given at compile time, or the mangled symbol. RNL_ERROR_NOT_FOUND lists the
// names that there are. Stands for cuModuleGetFunction.
RNL_API rnl_status rnl_module_function(rnl_module module, const char *name,
                                       rnl_function *out_function);

// The module's kernels, up to `capacity`, each with a reference for the caller;
// `*out_count` is how many there are, and rnl_function_get_info tells names,
// parameters and limits. A kernel that name expressions name is there under
// each. RNL_ERROR_UNSUPPORTED when a GPU's driver is too old to tell what a
// foreign binary has. Stands for cuModuleEnumerateFunctions.
RNL_API rnl_status rnl_module_get_functions(rnl_module module,
                                            rnl_function *out_functions,
                                            size_t capacity,
                                            size_t *out_count);

// The `__device__` or `__constant__` variable called `name`, which may be a
// name expression, as a borrowed buffer that keeps the module alive: copy to
// and from it like any other. Stands for cuModuleGetGlobal.
RNL_API rnl_status rnl_module_global(rnl_module module, const char *name,
                                     rnl_buffer *out_buffer);

// Finds the compiler and fills `*out_info`, whose struct_size the caller has
// set. cpu: starts the compiler, to ask for its version, and blocks meanwhile;
// cuda: loads it. RNL_ERROR_COMPILER_UNAVAILABLE lists every place that was
// looked at, RNL_ERROR_COMPILER_CRASHED tells that it does not answer, and
// RNL_ERROR_UNSUPPORTED that the context compiles no source.
RNL_API rnl_status rnl_compiler_get_info(rnl_context context,
                                         rnl_compiler_info *out_info);

// --- Functions -------------------------------------------------------------

// From source to function in one step, with a cache in memory: the same
// context, source, name and options give the same compiled code at once, while
// the files that the source may include are the same. Where those cannot be
// known, it is compiled each time. `name` may be a template's name expression.
RNL_API rnl_status rnl_function_compile(rnl_context context,
                                        const char *source, const char *name,
                                        const rnl_module_options *options,
                                        rnl_function *out_function);

// Adds a reference for the caller.
RNL_API rnl_status rnl_function_retain(rnl_function function);

// Drops a reference; launches in flight keep the function.
RNL_API rnl_status rnl_function_release(rnl_function function);

// Fills `*out_info`, whose struct_size the caller has set.
RNL_API rnl_status rnl_function_get_info(rnl_function function,
                                         rnl_function_info *out_info);

// Sets an attribute, for launches from now on. Launches that ask for more than
// RNL_FUNCTION_DYNAMIC_SHARED are refused; up to it, the driver's own limit is
// raised as needed. RNL_ERROR_INVALID_ARGUMENT for a value that the device
// cannot have. Stands for cuFuncSetAttribute.
RNL_API rnl_status rnl_function_set_attribute(rnl_function function,
                                              rnl_function_attribute_id id,
                                              int64_t value);

// Reads an attribute back: the value that was set, or the default.
RNL_API rnl_status rnl_function_get_attribute(rnl_function function,
                                              rnl_function_attribute_id id,
                                              int64_t *out_value);

// How many blocks of `block_threads` threads, each with `shared_size` bytes of
// dynamic shared memory, can be resident at once. Fills `*out_occupancy`, whose
// struct_size the caller has set. cpu: a core runs one block at a time.
// RNL_ERROR_INVALID_ARGUMENT for a block that no launch could have. Stands for
// cuOccupancyMaxActiveBlocksPerMultiprocessor.
RNL_API rnl_status rnl_function_get_occupancy(rnl_function function,
                                              uint32_t block_threads,
                                              size_t shared_size,
                                              rnl_occupancy *out_occupancy);

// The number of threads per block, at most `most_threads` (0: what the function
// allows), with which most threads are resident at once; of equal ones the
// largest. As many blocks as then are resident fill the device. Stands for
// cuOccupancyMaxPotentialBlockSize.
RNL_API rnl_status rnl_function_suggest_block(rnl_function function,
                                              size_t shared_size,
                                              uint32_t most_threads,
                                              uint32_t *out_threads);

RNL_END_DECLS

#endif
