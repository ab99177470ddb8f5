// Ranks that meet are threads here. Their clocks can be moved, and some calls
// of the C library are seen or refused.
#pragma once

#include "test.h"

#include "comm/rendezvous.h"

#define SECOND UINT64_C(1000000000)
#define LONG (20 * SECOND)   // for ranks that meet
#define SHORT (SECOND / 10)  // for ranks that give up

enum { RANKS = 3 };

// A rank, and how its meeting ended.
struct visitor {
    struct membership members;
    int value, all[RANKS];
    rnl_status status;
    char message[500];
    pthread_t thread;
    _Atomic uint64_t ahead;  // of its clock
    _Atomic long longest;    // nap, in nanoseconds
    _Atomic bool ended;
};

extern char folder[64], path[80];  // of a file for a meeting

void begin(void);
void end(void);  // nothing is left in the folder

void *go(void *visitor);  // meets on this thread
void start(struct visitor *own, struct membership members, uint64_t time);
void start_at_file(struct visitor *own, int rank, int size, uint64_t time);
void start_at(struct visitor *own, int rank, int size, const char *address,
              uint64_t time);
void expect_met(struct visitor *own);
void expect_end(struct visitor *own, rnl_status status, const char *words);

void await_card(int rank);          // until rank 0 has it by its address
void hurry(struct visitor *own);    // its time is over
void refuse_names(int how, int n);  // of the next look-ups
