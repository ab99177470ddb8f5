// Shared by the meetings at a file and at an address.
#pragma once

#include "comm_internal.h"

#define CARD_MAGIC UINT32_C(0x726e6c32)
#define CARD_BYTES 256

// The bytes of a rank, and who sends them.
struct card {
    uint32_t magic;
    int32_t rank, size;
    uint32_t bytes;
    uint64_t nonce;  // tells this process from those of earlier runs
    uint64_t host;   // by a file: the nonce of rank 0 that the rank has read;
                     // of rank 0: REFUSES if `data` says why all are refused
    char data[CARD_BYTES];
};

#define REFUSES 1

struct meeting {
    const struct membership *members;
    struct card *cards;  // of all ranks
    char *came;          // rank 0: whether each rank is there now
    uint32_t bytes;      // that each rank gives
    unsigned naps;
};

// Waits for a millisecond, and the next times longer.
void nap_longer(struct meeting *meeting);

bool all_came(const struct meeting *meeting);
bool is_late(const struct meeting *meeting);

// Reports ranks that are missing, or that rank 0 is missing.
rnl_status fail_late(const struct meeting *meeting);

// Whether the card is of a rank of this communicator, and the report if not.
bool card_fits(const struct meeting *meeting, const struct card *card);
rnl_status refuse_card(const struct meeting *meeting, const struct card *card);
rnl_status refuse_twice(int rank);

// Rank 0 tells the other ranks the failure that it has just reported, and they
// report the same.
struct card make_refusal(const struct meeting *meeting);
bool is_refusal(const struct card *card);
rnl_status take_refusal(const struct card *card);

// Whether the cards that rank 0 gave are of all ranks, with `mine`.
bool are_all_cards(const struct meeting *meeting, const struct card *mine);

// Rank 0 learns the cards of all ranks, and the others learn them from rank 0.
// A rank that gives up is not counted as there.
rnl_status host_file(struct meeting *meeting);
rnl_status visit_file(struct meeting *meeting, struct card *mine);
rnl_status host_address(struct meeting *meeting);
rnl_status visit_address(struct meeting *meeting, struct card *mine);
