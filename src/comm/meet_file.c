// Ranks meet at a file: rank 0 keeps a table of cards in it, and each other
// rank keeps its card in a file beside it.
//
//   1. Rank 0 writes a table that has only its own card.
//   2. A rank that reads a table writes a card that names rank 0's nonce there.
//      So rank 0 knows that the card is of this run and the rank is alive.
//   3. When the cards of all ranks lie there, rank 0 writes the table of all.
//   4. A rank that is in the table removes its card, and rank 0 removes the
//      table when all cards are gone.
//
// A rank that gives up removes its card, so that step 3 does not come.
#include "rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096

static const char function[] = "rnl_comm_create";

// --- Files -------------------------------------------------------------------

// A file is complete when it has its name.
static rnl_status write_file(const char *path, const void *bytes, size_t size)
{
    char new[PATH_SIZE + 8];
    snprintf(new, sizeof new, "%s.XXXXXX", path);
    int file = mkostemp(new, O_CLOEXEC);
    bool whole = file >= 0 && write(file, bytes, size) == (ssize_t)size;
    if (file >= 0 && (close(file) != 0 || !whole || rename(new, path) != 0)) {
        unlink(new);
        whole = false;
    }
    return whole ? RNL_OK
                 : report(RNL_ERROR_IO, function, "options.file",
                          "'%s' cannot be written: %s", path, strerror(errno));
}

// Does not wait for the writer of a pipe.
static bool read_file(const char *path, void *bytes, size_t size)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    bool whole = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                 read(file, bytes, size) == (ssize_t)size;
    close(file);
    return whole;
}

// A file begins with a card, also the table.
static bool read_card(const char *path, struct card *out_card)
{
    return read_file(path, out_card, sizeof *out_card) &&
           out_card->magic == CARD_MAGIC;
}

// Refuses a place with a file that no rank wrote, which would be lost.
static rnl_status check_place(const char *path)
{
    struct card card;
    struct stat about;
    if (read_card(path, &card) || lstat(path, &about) != 0)
        return RNL_OK;
    return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.file",
                  "'%s' exists already, and no rank wrote it", path);
}

// Whether another process has the same rank: its file came in this one's place.
static bool is_replaced(const char *path, const struct card *mine)
{
    struct card card;
    return read_card(path, &card) && card.nonce != mine->nonce;
}

static void remove_file(const char *path, const struct card *mine)
{
    if (!is_replaced(path, mine))
        unlink(path);
}

static void card_path(const struct meeting *meeting, int rank, char *path)
{
    snprintf(path, PATH_SIZE, "%s.%d", meeting->members->file, rank);
}

// --- Rank 0 ------------------------------------------------------------------

static rnl_status write_table(const struct meeting *meeting)
{
    return write_file(meeting->members->file, meeting->cards,
                      (size_t)meeting->members->size * sizeof(struct card));
}

// The card of a rank that has read this rank 0's table.
static bool find_card(const struct meeting *meeting, int rank,
                      struct card *out_card)
{
    char path[PATH_SIZE];
    card_path(meeting, rank, path);
    return read_card(path, out_card) &&
           out_card->host == meeting->cards[0].nonce;
}

static rnl_status collect_cards(struct meeting *meeting)
{
    for (int i = 1; i < meeting->members->size; i++) {
        struct card card;
        meeting->came[i] = find_card(meeting, i, &card);
        if (meeting->came[i] && !card_fits(meeting, &card))
            return refuse_card(meeting, &card);
        if (meeting->came[i])
            meeting->cards[i] = card;
    }
    return RNL_OK;
}

// Whether a rank has not read the table of all yet.
static bool cards_are_left(struct meeting *meeting)
{
    for (int i = 1; i < meeting->members->size; i++) {
        struct card card;
        meeting->came[i] = !find_card(meeting, i, &card) ||
                           card.nonce != meeting->cards[i].nonce;
    }
    return !all_came(meeting);
}

static rnl_status wait_at_table(const struct meeting *meeting)
{
    if (is_replaced(meeting->members->file, &meeting->cards[0]))
        return refuse_twice(0);
    if (is_late(meeting))
        return fail_late(meeting);
    nap();
    return RNL_OK;
}

static rnl_status check_path(const struct meeting *meeting)
{
    return strlen(meeting->members->file) <= PATH_SIZE - 32
               ? RNL_OK
               : report(RNL_ERROR_INVALID_ARGUMENT, function, "options.file",
                        "the path is too long");
}

rnl_status host_file(struct meeting *meeting)
{
    const char *path = meeting->members->file;
    rnl_status status = check_path(meeting);
    if (status != RNL_OK || (status = check_place(path)) ||
        (status = write_table(meeting)))
        return status;
    while ((status = collect_cards(meeting)) == RNL_OK && !all_came(meeting))
        if ((status = wait_at_table(meeting)))
            break;
    if (status == RNL_OK)
        status = write_table(meeting);
    while (status == RNL_OK && cards_are_left(meeting))
        status = wait_at_table(meeting);
    remove_file(path, &meeting->cards[0]);
    return status;
}

// --- The other ranks ---------------------------------------------------------

static bool is_in_table(const struct meeting *meeting, const struct card *mine)
{
    return read_file(meeting->members->file, meeting->cards,
                     (size_t)mine->size * sizeof *mine) &&
           card_fits(meeting, &meeting->cards[mine->rank]) &&
           meeting->cards[mine->rank].nonce == mine->nonce;
}

// Writes the card anew for each rank 0 that left a table: the first one may
// have been of an earlier run.
static rnl_status answer(const struct meeting *meeting, struct card *mine,
                         const char *path)
{
    struct card host;
    if (mine->host && is_replaced(path, mine))
        return refuse_twice(mine->rank);
    if (!read_card(meeting->members->file, &host) || host.nonce == mine->host)
        return RNL_OK;
    mine->host = host.nonce;
    return write_file(path, mine, sizeof *mine);
}

rnl_status visit_file(struct meeting *meeting, struct card *mine)
{
    char path[PATH_SIZE];
    rnl_status status = check_path(meeting);
    if (status != RNL_OK)
        return status;
    card_path(meeting, mine->rank, path);
    status = check_place(path);
    while (status == RNL_OK && !is_in_table(meeting, mine)) {
        if (is_late(meeting)) {
            remove_file(path, mine);
            // Rank 0 may have counted the card just before.
            return is_in_table(meeting, mine) ? RNL_OK : fail_late(meeting);
        }
        status = answer(meeting, mine, path);
        nap();
    }
    if (mine->host)
        remove_file(path, mine);
    return status;
}
