// Where the slots that barriers keep lie in a gang's frame.
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

enum { LINE = 64 };  // bytes of a cache line

// Slots of less than a line share lines, first the line of the head: each line
// costs as much as a full one.
static unsigned add_place(struct emitter *e, LLVMTypeRef type, unsigned lanes)
{
    uint64_t size = LLVMABISizeOfType(e->kernel->layout, type) * lanes;
    unsigned place = e->frame_size;
    if (size > 0 && size < LINE && (size & (size - 1)) == 0) {
        unsigned begin = (e->frame_small + (unsigned)size - 1) &
                         ~((unsigned)size - 1);
        if (begin + size > e->frame_small_end) {
            begin = place;
            e->frame_size += LINE;
            e->frame_small_end = e->frame_size;
        }
        e->frame_small = begin + (unsigned)size;
        return begin;
    }
    e->frame_size += (unsigned)((size + LINE - 1) & ~(uint64_t)(LINE - 1));
    return place;
}

bool slot_is_common(const struct emitter *e, unsigned slot)
{
    return e->uniform_barriers &&
           e->block_shapes.slots[slot].kind <= SHAPE_UNIFORM &&
           e->shapes.slots[slot].kind != SHAPE_VARYING;
}

// Lanes that have private memory: rows of a wider variant are not shortened.
unsigned lanes_of_private_memory(const struct emitter *e)
{
    return e->kernel->private_lanes > e->width ? e->kernel->private_lanes
                                               : e->width;
}

void frame_lay_out(struct emitter *e)
{
    const struct kernel *kernel = e->kernel;
    uint64_t private_size = 0;
    e->offsets = simt_allocate(kernel->slot_count * sizeof *e->offsets);
    e->frame_size = FRAME_BEGIN;
    e->frame_small = FRAME_SMALL;
    e->frame_small_end = FRAME_BEGIN;
    for (unsigned s = 0; s < kernel->slot_count; s++) {
        const struct slot *slot = &kernel->slots[s];
        if (slot->kind == SLOT_COMPLEX)
            private_size +=
                LLVMABISizeOfType(kernel->layout, slot->type) *
                lanes_of_private_memory(e);
        else if (slot->kept && slot_is_common(e, s))
            continue;
        else if (slot->kept && e->shapes.slots[s].kind == SHAPE_VARYING)
            e->offsets[s] =
                add_place(e, LLVMVectorType(slot->type, e->width), 1);
        else if (slot->kept)
            e->offsets[s] = add_place(e, slot->type, 1);
    }
    bool on_stack = kernel->barrier_count == 0 && private_size <= STACK_MOST;
    for (unsigned s = 0; s < kernel->slot_count; s++)
        if (kernel->slots[s].kind == SLOT_COMPLEX && !on_stack)
            e->offsets[s] = add_place(e, kernel->slots[s].type,
                                      lanes_of_private_memory(e));
}

bool frame_keeps_slots(const struct emitter *e)
{
    return e->frame_size > FRAME_BEGIN || e->frame_small > FRAME_SMALL;
}
