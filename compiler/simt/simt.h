// The SIMT compiler, tier B: makes the threads of a warp the lanes of vectors.
//
// A part of runnel-cc, on LLVM's C interface. LLVM IR of the kernel source,
// compiled with the prelude and RNL_SIMT defined, goes in; a relocatable object
// of the same translation unit comes out, in which
//
//   rnl_blocks_<n>   is defined for every kernel n that can be vectorised (its
//                    one thread is rnl_thread_<n>), and stays an undefined weak
//                    symbol for the others;
//   rnl_entry<...>   (tier F) is kept for the others only; the field
//                    run_threads of the table rnl_kernels is then NULL;
//   rnl_name_<n>     stays, with the function behind the pointer and its name;
//   functions        have a section of their own each (object/elf.c reads the
//                    relocations between sections), .text.rnl_waits excepted.
//
// The prelude promises these `extern "C"` functions with internal linkage. The
// compiler knows them by name; their bodies are tier F's:
//
//   rnl_thread_x/y/z, rnl_block_x/y/z, rnl_block_size_x/y/z,
//   rnl_grid_size_x/y/z   unsigned (void), the built-in variables
//   rnl_sync         int (int kind, int predicate, int line): a block barrier
//   rnl_warp         u64 (int kind, u32 mask, u64 value, u32 argument,
//                    int width)
//   rnl_spin, rnl_yield   void (void): another thread may have to act first
//   rnl_sync_grid    void (void): a barrier of the whole grid
//   rnl_cluster_size_x/y/z   unsigned (void), rnl_cluster_memory and
//                    rnl_cluster_stride   u64 (void): fields of rnl_cpu_block
//   rnl_cluster_meet void (void): waits for other blocks, for all of its own,
//                    between two barriers
//   rnl_trap         ends the launch; does not return
//   rnl_enter        void (rnl_cpu_block *): sets rnl_state for a block
//   rnl_scratch      void *(rnl_cpu_block *, u64 size): memory until the end of
//                    this call of rnl_blocks_<n>
//   rnl_state        the variable whose first 12 bytes are the thread's index
#ifndef RUNNEL_SIMT_H
#define RUNNEL_SIMT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct simt_job {
    const char *object;    // path of the output
    const char *target;    // processor as -march= names it, or "native"
    const char *dump;      // path prefix of IR dumps, or NULL
    bool scalar_only;      // no kernel has lanes; RNL_SIMT is not defined
    bool force_vectors;    // lanes also where threads would be faster
    // Called for each kernel that is left to tier F: its number n and why.
    void (*refused)(void *user, unsigned kernel, const char *why);
    void *user;
    const char *assembly;  // path of the assembly, too, or NULL
    // Called for each kernel that is not left to tier F, with its flags in the
    // object (RNL_CPU_KERNEL_…), which its machine code does not show any more.
    void (*vectorised)(void *user, unsigned kernel, unsigned flags);
    // Blocks of this size get code of their own beside that for all sizes;
    // block_size[0] is 0 when none is wished.
    unsigned block_size[3];
    bool only;             // nothing but this kernel for that block size: the
    unsigned kernel;       // others lose their code
    bool alone;            // no other process may work on a large module
    const char *const *skipped;  // names of passes that do not run
    size_t skipped_count;
    const char *dump_after;  // the only pass to dump, or NULL: stages
};

// A pass, as users see it.
struct simt_pass {
    const char *name;
    const char *when;        // the condition
    const char *needed;      // why it cannot be skipped, or NULL
    const char *purpose;
};

// Pass number i in the order of the passes; NULL after the last.
const struct simt_pass *simt_pass_at(size_t i);

// Compiles `module`, an LLVMModuleRef, which is used up. Returns the number of
// objects, or -1 with a sentence in `message`. A single object is at
// job->object; several objects have .0, .1 and so on behind that path.
int simt_compile(const struct simt_job *job, void *module, char *message,
                 size_t message_size);

// Closes standard output and error, so that a reader need not wait, and reaps
// the processes that simt_compile has started, which takes milliseconds.
void simt_reap(void);

// The version of the compiled code, for cache keys: "simt 1 llvm 19.1.7".
const char *simt_version(void);

// How objects are linked: the words of the linker's command line.
#define SIMT_LINK_WORDS \
    "-shared", "--hash-style=gnu", "-z", "noexecstack", "-Bsymbolic", \
    "--gc-sections", "-init=rnl_no_init", "-fini=rnl_no_fini"
#define SIMT_LINKED "kernel.so"

#ifdef __cplusplus
}
#endif

#endif
