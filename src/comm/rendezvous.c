// The ranks of a new communicator meet at a file or at an address. Each rank
// gives some bytes, and rank 0 gives all ranks those of all.
#include "rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

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

void nap_longer(struct meeting *meeting)
{
    long ms = meeting->naps < 6 ? 1L << meeting->naps++ : 50;
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

bool are_all_cards(const struct meeting *meeting, const struct card *mine)
{
    for (int i = 0; i < mine->size; i++)
        if (!card_fits(meeting, &meeting->cards[i]) ||
            meeting->cards[i].rank != i)
            return false;
    return meeting->cards[mine->rank].nonce == mine->nonce;
}

// --- Failing -----------------------------------------------------------------

// " 3 5 and 2 more"
static void list_missing(const struct meeting *meeting, char *text, size_t size)
{
    size_t length = 0;
    int left = 0;
    for (int i = 1; i < meeting->members->size; i++) {
        if (meeting->came[i])
            continue;
        if (length < size - 40)
            length +=
                (size_t)snprintf(text + length, size - length, " %d", i);
        else
            left++;
    }
    if (left > 0)
        snprintf(text + length, size - length, " and %d more", left);
}

rnl_status fail_late(const struct meeting *meeting)
{
    const struct membership *members = meeting->members;
    const char *place = members->file ? members->file : members->address;
    char missing[200] = "";
    if (members->rank > 0)
        return report(RNL_ERROR_TIMED_OUT, function, "options.timeout_ns",
                      "the time limit passed: rank %d waited for rank 0 at "
                      "'%s'; there are %d ranks",
                      members->rank, place, members->size);
    list_missing(meeting, missing, sizeof missing);
    return report(RNL_ERROR_TIMED_OUT, function, "options.timeout_ns",
                  "the time limit passed: rank 0 waited at '%s' for ranks%s of "
                  "%d",
                  place, missing, members->size);
}

struct card make_refusal(const struct meeting *meeting)
{
    struct card card = meeting->cards[0];
    card.host = REFUSES;
    snprintf(card.data, sizeof card.data, "%s", rnl_last_error()->message);
    return card;
}

bool is_refusal(const struct card *card)
{
    return card->magic == CARD_MAGIC && card->rank == 0 &&
           card->host == REFUSES;
}

rnl_status take_refusal(const struct card *card)
{
    return report(RNL_ERROR_INVALID_ARGUMENT, function, "options",
                  "rank 0 refused all ranks: %.*s", CARD_BYTES, card->data);
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
                      "a rank came with a size of %d, and rank 0 has %d",
                      (int)card->size, members->size);
    if (card->rank < 0 || card->rank >= card->size)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.rank",
                      "a process came as rank %d of %d ranks", (int)card->rank,
                      members->size);
    if (card->bytes != meeting->bytes)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "context",
                      "rank %d came for a communicator of another engine",
                      (int)card->rank);
    return refuse_twice(card->rank);
}

bool card_fits(const struct meeting *meeting, const struct card *card)
{
    return card->magic == CARD_MAGIC &&
           card->bytes == meeting->bytes &&
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
    struct meeting meeting = {members, NULL, NULL, card.bytes, 0};
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
