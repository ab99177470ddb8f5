#include "compounds.h"

#define FOR_LOOP(trips)                                      \
    "for (unsigned i$N = 0, e$N = (" trips " & 3u) + 1u; "    \
    "i$N < e$N; i$N++) {"
enum {
    PLAIN = INNER_DIVERGES | INNER_COUNTER,
    MACHINE = PLAIN | INNER_STATE,
    ROW = PLAIN | INNER_SWITCH | INNER_ROW,  // without break
    OWN_ROW = ROW | INNER_OWN_ROW,
    BELOW = ROW | INNER_OPENING | INNER_LIMIT,
    OWN_BELOW = BELOW | INNER_OWN_ROW,
};

#define MACHINE_CASES                                                      \
    {{"case 0u: {", "} break;"},                                           \
     {"case 1u: case 6u: {", "s$N = $U & 7u; } continue;"},                \
     {"case 2u: {", "s$N = ($U & 1u) + 1u; }"},                            \
     {"case 5u: {", "s$N = (s$N + $K) & 7u; } break;"},                    \
     {"default: {", "s$N++; }"}}
#define MACHINE_END "}\n  u$0 += s$N * 5u + i$N; }"

// Rows of the whole grid, and of a block, to be walked along x.
#define GRID_ROW                                                           \
    "{ const unsigned at$N = (row + rows * blockIdx.y) * (across * 4u);\n" \
    "  const unsigned step$N = across;\n"                                   \
    "  const int *of$N = in + at$N;\n"                                     \
    "  int *to$N = out + across / blockDim.x * gridDim.y * T * 4u + at$N;\n"
#define BLOCK_ROW                                                          \
    "{ const unsigned at$N = (row + rows * bid) * (blockDim.x * 4u);\n"    \
    "  const unsigned step$N = blockDim.x;\n"                               \
    "  const int *of$N = in + at$N;\n"                                     \
    "  int *to$N = out + across / blockDim.x * gridDim.y * T * 8u + at$N;\n"
#define WHOLE_ROW "{ const int *of$N = in;\n"
#define OWN_NUMBER(type)                                                    \
    "  " type " i$N = blockIdx.x * blockDim.x + threadIdx.x;\n"
#define STRIDE(type, first, limit, step)                                   \
    "  for (" type " i$N = " first "; i$N " limit "; i$N += " step ") {"
#define GRID_STRIDE(type, limit)                                           \
    STRIDE(type, "blockIdx.x * blockDim.x + threadIdx.x", limit,           \
           "gridDim.x * blockDim.x")
#define BLOCK_STRIDE(type, limit)                                          \
    STRIDE(type, "threadIdx.x", limit, "blockDim.x")

// clang-format off
const struct compound compounds[] = {
    {0, 0, INNER_DIVERGES, 0, "if ($C) {", "}", {{0}}},
    {0, 0, INNER_DIVERGES, 0, NULL, NULL,
     {{"if ($C) {", "}"}, {"else {", "}"}}},
    {0, 0, INNER_DIVERGES, 0, NULL, NULL,
     {{"if ($C) {", "}"}, {"else if ($C) {", "}"}, {"else {", "}"}}},
    {0, 0, 0, 0, "if ($Y) {", "}", {{0}}},
    {0, 0, 0, 0, NULL, NULL, {{"if ($Y) {", "}"}, {"else {", "}"}}},
    {0, PLACE_UNIFORM, 0, 0, "if (__syncthreads_or($C)) {", "}", {{0}}},
    {FEATURE_WARP, PLACE_MASK, INNER_DIVERGES | INNER_MASK, 0,
     "{ const bool c$N = $C;\n  unsigned m$N = __ballot_sync($M, c$N);\n"
     "  if (c$N) {", "} }", {{0}}},
    {FEATURE_WARP, PLACE_MASK, INNER_DIVERGES | INNER_MASK, 0,
     "{ const bool c$N = $C;\n  unsigned m$N = __ballot_sync($M, c$N);", "}",
     {{"if (c$N) {", "}"}, {"else {\n    m$N = $M & ~m$N;", "}"}}},
    {FEATURE_WARP, PLACE_MASK, INNER_DIVERGES | INNER_MASK, 0,
     "{ unsigned m$N = $M & 0xffffu;\n  if (lane < 16u) {", "} }", {{0}}},
    {FEATURE_LOOP, 0, INNER_COUNTER, PLACE_UNIFORM_LOOP, FOR_LOOP("$X"), "}",
     {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP, FOR_LOOP("$U"), "}", {{0}}},
    {FEATURE_LOOP | FEATURE_GOTO, 0, PLAIN | INNER_LABEL, PLACE_PLAIN_LOOP,
     FOR_LOOP("$U"), "}\nend$N:;", {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "for (unsigned i$N = lane; i$N < 70u; i$N += 32u) {", "}", {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "for (unsigned i$N = 0;; i$N++) {\n    if (i$N >= ($U & 3u)) break;", "}",
     {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "{ unsigned i$N = 0;\n  while (i$N++ < 5u && $C) {", "} }", {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "{ unsigned i$N = 0;\n  do {", "} while (++i$N < 4u && $C); }", {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "for (int i$N = 5; i$N > (int)($U & 3u); i$N--) {", "}", {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "for (unsigned char i$N = 253; i$N != ($K & 3u); i$N++) {", "}", {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "for (size_t i$N = gid; i$N < gid + ($U & 3u); i$N++) {", "}", {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "for (long long i$N = (long long)($U & 3u) - 3; i$N < 1; i$N++) {", "}",
     {{0}}},
    {FEATURE_LOOP, 0, PLAIN, PLACE_PLAIN_LOOP,
     "for (unsigned i$N = 1u + ($U & 7u); i$N; i$N >>= 1) {", "}", {{0}}},
    {FEATURE_LOOP, 0, INNER_DIVERGES, PLACE_PLAIN_LOOP,
     "for (float x$N = 0.0f; x$N < 3.0f; x$N += 0.75f) {", "}", {{0}}},
    {FEATURE_LOOP, 0, INNER_DIVERGES, PLACE_PLAIN_LOOP, "do {", "} while (0);",
     {{0}}},
    {FEATURE_LOOP, 0, INNER_COUNTER, PLACE_UNIFORM_LOOP,
     "for (int i$N = (int)($X & 3u); i$N >= 0; i$N--) {", "}", {{0}}},
    {FEATURE_LOOP, PLACE_UNIFORM, INNER_COUNTER, PLACE_UNIFORM_LOOP,
     "{ unsigned i$N = 0;\n  do {",
     "} while (++i$N < 3u && __syncthreads_or($C)); }", {{0}}},
    {FEATURE_LOOP | FEATURE_WARP, PLACE_MASK,
     INNER_DIVERGES | INNER_MASK | INNER_COUNTER, PLACE_MASKED_LOOP,
     "{ unsigned m$N = $M;\n"
     "  for (unsigned i$N = 0, e$N = ($U & 3u) + 1u;; i$N++) {\n"
     "    m$N = __ballot_sync(m$N, i$N < e$N);\n    if (i$N >= e$N) break;",
     "} }", {{0}}},
    {FEATURE_SWITCH, 0, INNER_DIVERGES | INNER_SWITCH, 0,
     "switch ($U & 3u) {", "}",
     {{"case 0u: {", "} break;"}, {"case 2u: {", "}"}, {"default: {", "}"}}},
    {FEATURE_SWITCH, 0, INNER_DIVERGES | INNER_SWITCH, 0,
     "switch ($U % 5u) {", "}",
     {{"case 3u: {", "}"}, {"case 1u: case 4u: {", "} break;"},
      {"case 0u: {", "}"}}},

    // What barriers and loops see of values made of indices.
    {0, 0, INNER_COUNTER, 0, "{ const unsigned i$N = $L;", "}", {{0}}},
    {0, 0, INNER_COUNTER, 0,
     "{ const unsigned i$N = min(tid * 2u + $K, 99u);", "}", {{0}}},
    {0, 0, INNER_COUNTER, 0,
     "{ const unsigned i$N = $G;\n  const int *at$N = in + i$N;",
     "u$0 += (unsigned)*at$N; }", {{0}}},
    {FEATURE_LINE, 0, INNER_COUNTER, 0,
     "{ const unsigned i$N = $L;\n  const unsigned *at$N = line_u + i$N;",
     "u$0 += *at$N + line_u[i$N]; }", {{0}}},
    {FEATURE_SHARED, 0, INNER_COUNTER, 0,
     "{ const unsigned i$N = (tid + $K) % T;", "u$0 ^= sh[i$N]; }", {{0}}},
    {0, 0, 0, 0, "{ const int *at$N = $C ? in + gid : in + ($U & 63u);",
     "u$0 += (unsigned)at$N[0] - (unsigned)at$N[3]; }", {{0}}},
    {FEATURE_PRIVATE, 0, 0, 0, "{ unsigned *at$N = $C ? own : own + 4;",
     "at$N[$U & 3u] ^= $U; }", {{0}}},

    // Machines.
    {FEATURE_MACHINE, 0, MACHINE | INNER_SWITCH, 0,
     "{ unsigned s$N = $U & 7u, i$N = 0;\n"
     "  while (i$N++ < 9u && s$N != 4u) {\n    switch (s$N) {",
     "} " MACHINE_END, MACHINE_CASES},
    {FEATURE_MACHINE, 0, MACHINE | INNER_SWITCH, 0,
     "{ unsigned s$N = $U & 7u, i$N = 0;\n"
     "  for (; i$N < ($X & 7u) + 3u && s$N != 7u; i$N++) {\n"
     "    if ($C) s$N = $U & 7u;\n    switch (s$N) {",
     "} " MACHINE_END, MACHINE_CASES},
    {FEATURE_MACHINE, 0, MACHINE | INNER_SWITCH, 0,
     "{ unsigned s$N = $U & 3u, i$N = 0;\n"
     "  for (;;) {\n    if (i$N++ > 6u) break;\n"
     "    if (s$N == 3u && $C) break;\n    switch (s$N) {",
     "}\n    if ($C) s$N = $U & 7u;\n  " MACHINE_END, MACHINE_CASES},
    {FEATURE_MACHINE, 0, MACHINE, PLACE_PLAIN_LOOP,
     "{ unsigned s$N = $U & 7u, i$N = 0;\n"
     "  while (i$N++ < 7u && s$N != 4u) {", MACHINE_END,
     {{"if (s$N == 1u) {", "}"}, {"else if (s$N > 5u) {", "break; }"},
      {"else {", "s$N++; }"}}},
    {FEATURE_MACHINE, 0, MACHINE, PLACE_PLAIN_LOOP,
     "{ unsigned s$N = $U & 7u, i$N = 0;\n  do {",
     "} while (i$N++ < 6u && s$N != 4u);\n  u$0 += s$N * 5u + i$N; }", {{0}}},
    {FEATURE_MACHINE, 0, MACHINE, PLACE_PLAIN_LOOP,
     "{ unsigned s$N = $U & 7u, i$N = 0;\n"
     "  while (i$N++ < 5u && (s$N & 3u) != 3u) {\n"
     "    while (i$N < 9u && $C) { i$N++; u$0 += s$N; if ($C) break; }",
     "s$N++; " MACHINE_END, {{0}}},

    // Loops over rows. Where the index begins elsewhere, elements would be those
    // of other threads than in the other loops.
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW | INNER_OPENING, 0,
     GRID_ROW GRID_STRIDE("int", "< (int)(across * 4u) - (int)$K"), "} }",
     {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW | INNER_OPENING, 0,
     GRID_ROW GRID_STRIDE("unsigned", "< across * 3u + 1u"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW, 0,
     GRID_ROW GRID_STRIDE("size_t", "<= across * 3u"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW, 0,
     GRID_ROW GRID_STRIDE("int", "<= (int)(across * 2u)"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW, 0,
     GRID_ROW STRIDE("unsigned",
                     "blockIdx.x * blockDim.x + threadIdx.x - $K",
                     "< across * 4u - 1u", "across"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW, 0,
     GRID_ROW STRIDE("int", "blockIdx.x * blockDim.x + threadIdx.x",
                     "< (int)across * 4", "across")
     "\n  if (i$N < (int)$K || $C) continue;", "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW | INNER_OPENING, 0,
     BLOCK_ROW BLOCK_STRIDE("int", "< (int)blockDim.x * 3 - (int)$K"), "} }",
     {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW, 0,
     BLOCK_ROW BLOCK_STRIDE("unsigned", "<= blockDim.x * 3u"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     BLOCK_ROW STRIDE("unsigned", "threadIdx.x + $K", "< blockDim.x * 4u",
                      "blockDim.x"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     BLOCK_ROW STRIDE("size_t", "threadIdx.x - $K", "< blockDim.x * 4u",
                      "blockDim.x"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     WHOLE_ROW GRID_STRIDE("int", "< n"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     WHOLE_ROW GRID_STRIDE("unsigned", "< n"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     WHOLE_ROW GRID_STRIDE("size_t", "< (size_t)n"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW, 0,
     WHOLE_ROW GRID_STRIDE("int", "<= n - 2"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW, 0,
     WHOLE_ROW STRIDE("int", "gid", "< n", "(int)(T * across)"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW, 0,
     WHOLE_ROW BLOCK_STRIDE("int", "< n / 3"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW, PLACE_PLAIN_LOOP,
     WHOLE_ROW GRID_STRIDE("int", "< n"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW | INNER_OPENING | INNER_STEP,
     0,
     GRID_ROW OWN_NUMBER("int")
     "  while (i$N < (int)(across * 3u)) {", "i$N += step$N; } }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_ROW | INNER_OPENING, 0,
     GRID_ROW OWN_NUMBER("int")
     "  for (; i$N < (size_t)across * 3u; i$N += step$N) {",
     "}\n  u$0 += (unsigned)i$N; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     WHOLE_ROW OWN_NUMBER("unsigned")
     "  const unsigned step$N = gridDim.x * blockDim.x;\n"
     "  for (; i$N < (size_t)n - 7u; i$N += step$N) {",
     "}\n  u$0 += i$N; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     WHOLE_ROW "  unsigned last$N = $K;\n  if (n > (int)$K) {"
     GRID_STRIDE("int", "<= (long long)n - 9"),
     "last$N = i$N; } }\n  u$0 ^= last$N; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     WHOLE_ROW "  if ((n & 1) == (int)($K & 1u)) {"
     GRID_STRIDE("long long", "< (n - 1) / 2"), "} } }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW, 0,
     WHOLE_ROW "  const int own$N = blockIdx.x * blockDim.x + threadIdx.x;\n"
     STRIDE("size_t", "own$N", "< min(n, 999)", "n / 3 + 1"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, ROW | INNER_OPENING, 0,
     WHOLE_ROW "  for (int i$N = blockIdx.x * blockDim.x * 2 + threadIdx.x;\n"
     "       n > i$N + (int)blockDim.x; i$N += blockDim.x * 2 * gridDim.x) {\n"
     "  u$0 += of$N[i$N + blockDim.x];", "} }", {{0}}},
    // … whose limit, and step, are arguments: there may be no round at all.
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW GRID_STRIDE("int", "< limit"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW GRID_STRIDE("unsigned", "< limit"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW GRID_STRIDE("size_t", "< (size_t)limit"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW GRID_STRIDE("int", "<= limit - 1 - (int)$K"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW GRID_STRIDE("int", "< (long long)limit - (int)$K"), "} }",
     {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW | INNER_STEP, 0,
     GRID_ROW OWN_NUMBER("int") "  while (i$N < limit) {",
     "i$N += step$N; }\n  u$0 ^= (unsigned)i$N; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW OWN_NUMBER("size_t")
     "  for (; i$N < limit; i$N += step$N) {",
     "}\n  u$0 += (unsigned)i$N * 3u; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW "  const int twice$N = (int)(step$N * 2u);\n"
     STRIDE("int", "blockIdx.x * blockDim.x + threadIdx.x", "< limit",
            "twice$N"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW | PLACE_UNIFORM, OWN_BELOW, 0,
     GRID_ROW "  if (limit <= (int)$K) return;\n"
     GRID_STRIDE("unsigned", "< limit"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW "  if (limit > (int)$K || stride < 9)" GRID_STRIDE("int", "< limit"),
     "}\n  else u$0 += 3u; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     GRID_ROW OWN_NUMBER("int")
     "  for (; i$N < limit / 2; i$N += step$N) to$N[i$N] = of$N[i$N] * 3;\n"
     "  for (; i$N < limit; i$N += step$N) {",
     "}\n  u$0 -= (unsigned)i$N; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, OWN_BELOW, 0,
     BLOCK_ROW BLOCK_STRIDE("int", "< min(limit, (int)blockDim.x * 4)"),
     "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW STRIDE("int", "blockIdx.x * blockDim.x + threadIdx.x",
                      "< limit", "stride"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW OWN_NUMBER("int")
     "  for (i$N += (int)$K; i$N < limit; i$N += stride) {",
     "}\n  u$0 ^= (unsigned)i$N; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW STRIDE("unsigned",
                      "blockIdx.x * blockDim.x + threadIdx.x + $K", "< limit",
                      "stride"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW STRIDE("long long", "blockIdx.x * blockDim.x + threadIdx.x",
                      "< limit - (int)$K", "(limit + 2) / 3"), "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW "  int last$N = -1;\n"
     STRIDE("int", "threadIdx.x", "< limit", "blockDim.x + stride * 2"),
     "last$N = i$N; }\n  u$0 += (unsigned)last$N; }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW OWN_NUMBER("int")
     "  for (; 2 * i$N + 1 < limit; i$N += (int)across) {", "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW "  const int own$N = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  for (int i$N = limit - 1 - own$N; i$N >= 0; i$N -= (int)across) {",
     "} }", {{0}}},
    {FEATURE_STRIDE, PLACE_NO_ROW, BELOW, 0,
     WHOLE_ROW "  const int *at$N = of$N + blockIdx.x * blockDim.x;\n"
     "  for (at$N += threadIdx.x; at$N < of$N + limit; at$N += across) {\n"
     "  const int i$N = (int)(at$N - of$N);", "} }", {{0}}},
};
// clang-format on

const size_t compound_count = sizeof compounds / sizeof *compounds;
