// The ranks of a new communicator meet at a file or at an address. Each rank
// gives some bytes, and rank 0 gives all ranks those of all.
#include "rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char function[] = "rnl_comm_create";

bool all_came(const struct meeting *meeting)
{
    for (int i = 0; i < meeting->members->size; i++)
        if (!meeting->came[i])
            return false;
    return true;
}

bool is_late(const struct meeting *meeting)
{
    return clock_ns() > meeting->members->deadline;
}

// --- Failing -----------------------------------------------------------------

rnl_status fail_late(const struct meeting *meeting)
{
    const struct membership *members = meeting->members;
    char missing[80] = "";
    size_t length = 0;
    for (int i = 0; members->rank == 0 && i < members->size &&
                    length < sizeof missing - 16;
         i++)
        if (i > 0 && !meeting->came[i])
            length += (size_t)snprintf(missing + length,
                                       sizeof missing - length, " %d", i);
    return report(RNL_ERROR_TIMED_OUT, function, "options.timeout_ns",
                  members->rank == 0
                      ? "the time limit passed: rank 0 waited at '%s' for "
                        "ranks%s of %d"
                      : "the time limit passed: this rank waited for rank 0 at "
                        "'%s'%s; there are %d ranks",
                  members->file ? members->file : members->address, missing,
                  members->size);
}

rnl_status refuse_twice(int rank)
{
    return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.rank",
                  "two processes came as rank %d", rank);
}

rnl_status refuse_card(const struct meeting *meeting, const struct card *card)
{
    const struct membership *members = meeting->members;
    if (card->size != members->size)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.size",
                      "a rank came with a size of %d, and this rank has %d",
                      (int)card->size, members->size);
    if (card->rank < 0 || card->rank >= card->size)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.rank",
                      "a process came as rank %d of %d ranks", (int)card->rank,
                      members->size);
    if (card->bytes != meeting->cards[0].bytes)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "context",
                      "rank %d came for a communicator of another engine",
                      (int)card->rank);
    return refuse_twice(card->rank);
}

bool card_fits(const struct meeting *meeting, const struct card *card)
{
    return card->magic == CARD_MAGIC &&
           card->bytes == meeting->cards[0].bytes &&
           card->size == meeting->members->size && card->rank >= 0 &&
           card->rank < card->size;
}

// --- Meeting -----------------------------------------------------------------

static rnl_status gather(struct meeting *meeting, struct card *mine)
{
    bool by_file = meeting->members->file;
    if (mine->rank == 0)
        return by_file ? host_file(meeting) : host_address(meeting);
    return by_file ? visit_file(meeting, mine) : visit_address(meeting, mine);
}

rnl_status meet(const struct membership *members, const void *mine, size_t size,
                void *all)
{
    struct card card = {.magic = CARD_MAGIC,
                        .rank = members->rank,
                        .size = members->size,
                        .bytes = (uint32_t)size};
    struct meeting meeting = {members, NULL, NULL};
    rnl_status status;
    memcpy(card.data, mine, size);
    if (getrandom(&card.nonce, sizeof card.nonce, 0) < 0)
        card.nonce = clock_ns();
    card.nonce |= 1;  // 0 is no card
    meeting.cards = calloc((size_t)members->size, sizeof card);
    meeting.came = calloc((size_t)members->size, 1);
    if (meeting.cards && meeting.came) {
        meeting.cards[members->rank] = card;
        meeting.came[members->rank] = 1;
        status = gather(&meeting, &card);
    } else {
        status = report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                        "there is no memory for %d ranks", members->size);
    }
    for (int i = 0; i < members->size && status == RNL_OK; i++)
        memcpy((char *)all + (size_t)i * size, meeting.cards[i].data, size);
    free(meeting.cards);
    free(meeting.came);
    return status;
}
