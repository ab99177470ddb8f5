// Room analysis: how values differ between lanes (divergence analysis), how
// they change along loops, which calls have vector forms, and what code costs.
// An analysis changes nothing.
#pragma once

#include "simt/kernel/kernel.h"

// --- shape.c: divergence analysis --------------------------------------------

// How a value differs between the lanes of a gang.
enum shape_kind { SHAPE_UNKNOWN, SHAPE_UNIFORM, SHAPE_AFFINE, SHAPE_VARYING };
struct shape {
    enum shape_kind kind;
    int64_t stride;      // affine: lane i has lane 0's value + i * stride
    int64_t guess;       // varying: likely affine with this stride
    bool monotonic;      // affine, or growing by less between some lanes
    bool far;            // varying: lanes likely have a matrix row each
    unsigned alignment;  // lane 0's value is a multiple of 2^alignment
};

// Lanes of a row are threads along x, threads along y, or blocks along x. For
// blocks, each block has one thread in x.
enum lanes_along { LANES_X, LANES_Y, LANES_BLOCKS };

// A mapping of a block's threads to gangs of `width` lanes.
struct variant {
    unsigned width;
    bool rows;           // gangs run along x, y or blocks; else along the
                         // linear thread index
    enum lanes_along along;
    unsigned row;        // threads of a row, where only one count fits, or 0
    const char *name;
    bool compact;        // divergent lanes are masked at once
    bool blocks;         // of several blocks of a grid
    bool thin;           // of blocks with one thread in x
    bool whole;          // rows of threads are multiples of the width
};

// The axis of rows; blocks follow each other along the same axis.
static inline unsigned lanes_axis(const struct variant *variant)
{
    return variant->along == LANES_Y ? 1 : 0;
}

struct shapes {
    const struct kernel *kernel;
    const struct variant *variant;
    struct map values;            // instruction to struct shape
    struct shape *slots;
    bool *divergent;              // of each block's branch
    bool *divergent_loop;         // threads may leave the loop at different
                                  // iterations
};
void shapes_find(struct shapes *shapes);
struct shape shape_of(const struct shapes *shapes, LLVMValueRef value);

// --- overflow.c --------------------------------------------------------------

// True if an unsigned number does not pass 2^32 within a gang.
bool shape_never_wraps(const struct shapes *shapes, LLVMValueRef value);
// True if a sign extension keeps an affine number affine where it is used.
bool shape_widens_signed(const struct shapes *shapes, LLVMValueRef cast);

// --- monotonic.c -------------------------------------------------------------

bool shape_is_monotonic(struct shape shape);
bool shape_limit_is_monotonic(const struct shapes *shapes, LLVMValueRef call);
bool shape_select_is_monotonic(const struct shapes *shapes, LLVMValueRef at);

// --- reduction.c -------------------------------------------------------------

// How an atomic operation of all lanes at one address is reduced first.
struct reduction {
    const char *name;     // of the reducing intrinsic, or NULL
    const char *identity; // "0", "1" for all bits, the least ("-") or greatest
                          // ("+") signed number; NULL: a sum of floats
};
struct reduction reduction_of(LLVMAtomicRMWBinOp how);
bool reduction_is_possible(const struct shapes *shapes, LLVMValueRef at);

// --- call_class.c: calls and their vector forms ------------------------------

// How an elementwise intrinsic is overloaded: by its result's type, and perhaps
// by an argument's.
enum overload {
    BY_RESULT,
    BY_RESULT_AND_FIRST,
    BY_RESULT_AND_SECOND,
    BY_FIRST
};
struct elementwise {
    const char *name;
    enum overload overload;
    int immediate;  // argument that stays a scalar constant, or NONE
};
const struct elementwise *find_elementwise(LLVMValueRef call);

// A function of the vector library is up to 4 units in the last place off. For
// a rough function CUDA documents less: floats go through the function of
// doubles, doubles to the C library lane by lane.
enum rough {
    FINE = 0,
    ROUGH_FLOAT = 1,
    ROUGH_DOUBLE = 2,
    ROUGH = ROUGH_FLOAT | ROUGH_DOUBLE,
    ROUGH_WIDE = 4,  // rough for vectors of 16 floats only
};
struct library_function {
    const char *name;
    unsigned arity;
    enum rough rough;
};
// The vector library's function for a call, or NULL.
const struct library_function *usable_library(LLVMValueRef call);
// True if a call becomes a vector operation; a call of the vector library.
bool call_has_vectors(LLVMValueRef call);
bool call_is_of_library(LLVMValueRef call);
bool is_rsqrt_estimate(LLVMValueRef call);
bool is_cold_call(LLVMValueRef call);  // rnl_seldom_... of the prelude
// A kept function is not inlined and has a form for vectors. Marks a function,
// and finds the function of a call, NULL for another call.
enum { KEPT_ARGUMENTS_MOST = 16 };
void function_keep(LLVMValueRef function);
bool function_is_kept(LLVMValueRef function);
LLVMValueRef kept_function_of(LLVMValueRef call);
bool module_has_kept_functions(LLVMModuleRef module);
// A lane function, rnl_lanes_<name>f of the prelude, replaces llvm.<name>.f32
// where lanes differ: tests a function, finds that of an intrinsic, or NULL.
bool is_lane_function(LLVMValueRef function);
LLVMValueRef lane_function_of(LLVMValueRef intrinsic);

// --- cost_model.c ------------------------------------------------------------

// True if lanes are estimated to be faster than threads one by one.
bool lanes_are_profitable(const struct shapes *shapes);
// The estimated cost of a gang, comparable between variants.
double lanes_cost(const struct shapes *shapes);

// --- induction.c -------------------------------------------------------------

// The growth of a value per iteration of a loop; 0 if unknown.
int64_t induction_step(const struct kernel *kernel, int loop,
                       LLVMValueRef value);
// True if a thread accesses the same line in neighbouring iterations.
bool access_is_sequential(const struct kernel *kernel, LLVMValueRef at);
// Simple instructions that a processor could execute while an iteration waits
// for the previous iteration's results.
double recurrence_latency(const struct kernel *kernel, int loop);

// --- warp_synchronous.c ------------------------------------------------------

// True if lanes of a warp have to run in lockstep.
bool is_warp_synchronous(const struct kernel *kernel);

// --- grid_stride.c -----------------------------------------------------------

// A loop in which a thread steps over the whole grid, in memory form. A slot
// with one store stands for the stored value.
struct grid_stride {
    const struct kernel *kernel;
    const struct loop *loop;
    int guard, before, header, latch, back;  // back: NONE if it is the latch
    unsigned way;               // successor of the latch inside the loop
    int skipped, left;          // successors of the guard and of the loop
    struct slot *index;         // only the header reads it (reg2mem)
    LLVMIntPredicate how;       // index below limit: <, <=, signed
    LLVMOpcode cast;            // widens the index for the comparison, or 0
    LLVMValueRef limit, step;   // constants or loads of such slots
    bool is_any_step;           // above 0 only if some thread has an iteration
    LLVMValueRef first;         // index of the first iteration
    LLVMValueRef advance;       // store of the next iteration's index
    unsigned rows;              // loads and stores of memory per iteration
};
// Expects kernel, loop and header to be set.
bool grid_stride_find(struct grid_stride *l);
bool grid_stride_contains(const struct grid_stride *l,
                          LLVMValueRef instruction);
bool is_live_out(const struct grid_stride *l, const struct slot *slot);
bool loads_memory(const struct kernel *kernel, LLVMValueRef at);
// True for the first access of its block to an array.
bool is_first_of_row(const struct kernel *kernel, LLVMValueRef at);
// Iterations of an interchanged loop that a gang runs before the next gang's
// turn; 0 for another loop. The loop's header has metadata of this kind.
unsigned interchanged_iterations(const struct kernel *kernel, int loop);
unsigned interchanged_kind(const struct kernel *kernel);

// --- address_difference.c ----------------------------------------------------

// The bytes from one address to another, to be freed; NULL if the difference is
// more than sums and products.
struct difference;
struct difference *address_difference(LLVMTargetDataRef layout,
                                      LLVMValueRef from, LLVMValueRef to);
bool difference_is_equal(const struct difference *a,
                         const struct difference *b);
// The address that lies a difference behind another address.
LLVMValueRef difference_add(const struct difference *d, LLVMBuilderRef b,
                            LLVMValueRef address);
// Adds the bytes from an address's base to *offset. False if not constant.
bool address_offset(LLVMTargetDataRef layout, LLVMValueRef at, int64_t *offset);

// --- value_range.c -----------------------------------------------------------

// The least and the greatest number of all lanes of a vector of 32-bit numbers.
struct range {
    int64_t low, high;
};
// The range of a vector in the map, or of a constant; any number if unknown.
struct range range_of(const struct map *known, LLVMValueRef vector);
// The range that an instruction gives its result.
struct range range_made(const struct map *known, LLVMValueRef at);
bool range_is_within(struct range range, int64_t low, int64_t high);
bool is_words(LLVMTypeRef type);  // a vector of 32-bit numbers
// The number in all lanes of a splat; NULL for another vector.
LLVMValueRef range_splat(LLVMValueRef vector);
