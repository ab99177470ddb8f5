// What work does to memory.
#include "program.h"

static uint64_t bits_of(unsigned offset, unsigned size)
{
    uint64_t bits = size == 64 ? ~0ull : (1ull << size) - 1;
    return bits << offset;
}

void work_footprint(const struct work *work, struct footprint *footprint)
{
    uint64_t to = bits_of(work->to_offset, work->size);
    uint64_t from = bits_of(work->from_offset, work->size);
    if (work->kind == WORK_NOTHING || work->kind == WORK_FAIL)
        return;
    if (work->kind == WORK_ADD)
        footprint->add[work->to] |= to;
    else
        footprint->write[work->to] |= to;
    if (work->kind == WORK_COPY || work->kind == WORK_MIX)
        footprint->read[work->from] |= from;
}

bool footprints_conflict(const struct footprint *one,
                         const struct footprint *other)
{
    uint64_t clash = 0;
    for (int i = 0; i < MEMORIES; i++) {
        uint64_t a = one->read[i] | one->write[i] | one->add[i];
        uint64_t b = other->read[i] | other->write[i] | other->add[i];
        clash |= (one->write[i] & b) | (other->write[i] & a) |
                 (one->add[i] & other->read[i]) |
                 (other->add[i] & one->read[i]);
    }
    return clash != 0;
}

uint64_t work_cell(const struct work *work, uint64_t to, uint64_t from)
{
    switch (work->kind) {
    case WORK_ADD:
        return to + work->value;
    case WORK_MULTIPLY:
    case WORK_HOST:
        return to * (2 * work->value + 1) + work->value;
    case WORK_MIX:
        return 3 * to + from + work->value;
    case WORK_COUNT_DOWN:
        return (to & 3) ? (to & 3) - 1 : 0;
    default:
        return to;
    }
}

uint8_t memory_start(int memory, int byte)
{
    return (uint8_t)(memory * 37 + byte * 11 + 5);
}
