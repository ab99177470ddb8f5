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
// A rank that gives up removes its card, so that step 3 does not come. If a
// card does not fit, rank 0 writes a refusal in place of the table, which the
// ranks that named its nonce take; rank 0 waits a while for their cards to go.
#include "rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define REFUSAL_NS UINT64_C(2000000000)  // for ranks to read a refusal

static const char function[] = "rnl_comm_create";

// --- Files -------------------------------------------------------------------

// A second write tells why the first one was short.
static bool write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t moved = write(file, bytes, size);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return false;
        bytes += moved;
        size -= (size_t)moved;
    }
    return true;
}

// Returns an errno, or 0. A file is complete when it has its name.
static int try_write(const char *path, const void *bytes, size_t size)
{
    char new[PATH_SIZE + 8];
    snprintf(new, sizeof new, "%s.XXXXXX", path);
    int file = mkostemp(new, O_CLOEXEC);
    if (file < 0)
        return errno;
    int code = write_all(file, bytes, size) ? 0 : errno;
    if (close(file) != 0 && code == 0)
        code = errno;
    if (code == 0 && rename(new, path) != 0)
        code = errno;
    if (code != 0)
        unlink(new);
    return code;
}

static rnl_status write_file(const char *path, const void *bytes, size_t size)
{
    int code = try_write(path, bytes, size);
    return code == 0 ? RNL_OK
                     : report(RNL_ERROR_IO, function, "options.file",
                              "'%s' cannot be written: %s", path,
                              strerror(code));
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

// Refuses a place with a file that no rank wrote, which would be lost. The file
// of another rank may come or go meanwhile.
static rnl_status check_place(const char *path)
{
    struct card card;
    struct stat about;
    if (lstat(path, &about) != 0 || read_card(path, &card) ||
        lstat(path, &about) != 0)
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

// Whether a rank has not read the table of all, or the refusal, yet.
static bool cards_are_left(struct meeting *meeting)
{
    for (int i = 1; i < meeting->members->size; i++) {
        struct card card;
        meeting->came[i] = !find_card(meeting, i, &card) ||
                           card.nonce != meeting->cards[i].nonce;
    }
    return !all_came(meeting);
}

// The caller has looked at the cards since it asked whether it is late.
static rnl_status wait_at_table(struct meeting *meeting, bool late)
{
    if (is_replaced(meeting->members->file, &meeting->cards[0]))
        return refuse_twice(0);
    if (late)
        return fail_late(meeting);
    nap_longer(meeting);
    return RNL_OK;
}

static rnl_status await_cards(struct meeting *meeting)
{
    for (;;) {
        bool late = is_late(meeting);
        rnl_status status = collect_cards(meeting);
        if (status != RNL_OK || all_came(meeting) ||
            (status = wait_at_table(meeting, late)))
            return status;
    }
}

static rnl_status await_readers(struct meeting *meeting)
{
    for (;;) {
        bool late = is_late(meeting);
        rnl_status status;
        if (!cards_are_left(meeting))
            return RNL_OK;
        if ((status = wait_at_table(meeting, late)))
            return status;
    }
}

// Waits for ranks that have answered this rank 0, also ones that do not fit.
static void tell_refusal(struct meeting *meeting)
{
    struct card refusal = make_refusal(meeting), card;
    uint64_t deadline = clock_after(REFUSAL_NS);
    if (try_write(meeting->members->file, &refusal, sizeof refusal) != 0)
        return;
    for (int i = 1; i < meeting->members->size; i++)
        while (find_card(meeting, i, &card) && clock_ns() < deadline)
            nap_longer(meeting);
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
    status = await_cards(meeting);
    if (status == RNL_ERROR_INVALID_ARGUMENT &&
        !is_replaced(path, &meeting->cards[0]))
        tell_refusal(meeting);
    if (status == RNL_OK)
        status = write_table(meeting);
    if (status == RNL_OK)
        status = await_readers(meeting);
    remove_file(path, &meeting->cards[0]);
    return status;
}

// --- The other ranks ---------------------------------------------------------

static bool is_in_table(const struct meeting *meeting, const struct card *mine)
{
    return read_file(meeting->members->file, meeting->cards,
                     (size_t)mine->size * sizeof *mine) &&
           are_all_cards(meeting, mine);
}

// Writes the card anew for each rank 0 that left a table, since the first one
// may have been of an earlier run, and when it is gone: a process of an earlier
// run with this rank may have removed it.
static rnl_status answer(const struct meeting *meeting, struct card *mine,
                         const char *path)
{
    struct card host, own;
    bool is_there = mine->host && read_card(path, &own);
    if (is_there && own.nonce != mine->nonce)
        return refuse_twice(mine->rank);
    if (!read_card(meeting->members->file, &host))
        return RNL_OK;
    if (is_refusal(&host))
        return host.nonce == mine->host ? take_refusal(&host) : RNL_OK;
    if (is_there && host.nonce == mine->host)
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
        if (status == RNL_OK)
            nap_longer(meeting);
    }
    if (mine->host)
        remove_file(path, mine);
    return status;
}
