#include "grammar.h"

#define RULES(name, simple_rules, all_rules)                             \
    const struct rules name = {                                          \
        simple_rules, sizeof simple_rules / sizeof *simple_rules,        \
        all_rules, sizeof all_rules / sizeof *all_rules}

// clang-format off

// --- Expressions -----------------------------------------------------------

static const struct rule simple_unsigned[] = {
    {0, 0, "u$0"}, {0, 0, "u$0"}, {0, 0, "u$0"}, {0, 0, "$K"}, {0, 0, "tid"},
    {0, 0, "lane"}, {0, 0, "gid"}, {0, 0, "$V"}, {0, 0, "$V"}, {0, 0, "$X"},
    {0, 0, "(unsigned)in[gid]"}, {0, 0, "threadIdx.x"}, {0, 0, "0x9e3779b9u"},
    {0, 0, "0x80000001u"}, {FEATURE_AXES, 0, "threadIdx.y"},
    {0, 0, "(unsigned)ig"}, {0, 0, "(unsigned)(it * 5 - 2)"},
};

static const struct rule all_unsigned[] = {
    {0, 0, "($U + $U)"}, {0, 0, "($U - $U)"}, {0, 0, "($U * $U)"},
    {0, 0, "($U * $K + $U)"}, {0, 0, "($U & $U)"}, {0, 0, "($U | $U)"},
    {0, 0, "($U ^ $U)"}, {0, 0, "($U << ($U & 31u))"},
    {0, 0, "($U >> ($U & 31u))"}, {0, 0, "($U / (($U & 15u) + 1u))"},
    {0, 0, "($U % (($U & 31u) + 1u))"}, {0, 0, "($U / ($K + 1u))"},
    {0, 0, "($U % ($K + 3u))"}, {0, 0, "($C ? $U : $U)"},
    {0, 0, "(unsigned)((int)$U / (int)(($U & 7u) + 1u))"},
    {0, 0, "(unsigned)((int)$U % -(int)(($U & 7u) + 2u))"},
    {0, 0, "(unsigned)((int)$U >> ($U & 31u))"}, {0, 0, "(unsigned)$C"},
    {0, 0, "(unsigned)(signed char)$U"}, {0, 0, "(unsigned)(unsigned char)$U"},
    {0, 0, "(unsigned)(short)$U"}, {0, 0, "(unsigned)(unsigned short)$U"},
    {0, 0, "(unsigned)__popc($U)"}, {0, 0, "(unsigned)__clz((int)$U)"},
    {0, 0, "(unsigned)__ffs((int)$U)"}, {0, 0, "__brev($U)"},
    {0, 0, "__umulhi($U, $U)"}, {0, 0, "(unsigned)__mulhi((int)$U, (int)$U)"},
    {0, 0, "min($U, $U)"}, {0, 0, "max($U, $U)"},
    {0, 0, "(unsigned)min((int)$U, (int)$U)"},
    {0, 0, "(unsigned)max((int)$U, (int)$U)"},
    {0, 0, "__funnelshift_l($U, $U, $U)"}, {0, 0, "__byte_perm($U, $U, $U)"},
    {0, 0, "mix($U, $U)"}, {0, 0, "(unsigned)in[$I]"},
    {0, 0, "(unsigned)in[$I]"}, {0, 0, "(gid > 0u ? (unsigned)in[gid - 1u] : $U)"},
    {FEATURE_PRIVATE, 0, "own[$U & 7u]"}, {FEATURE_PRIVATE, 0, "own[$U & 7u]"},
    {FEATURE_PRIVATE, 0, "total(own, $U)"},
    {FEATURE_TABLE, 0, "table[$U & 15u]"}, {FEATURE_TABLE, 0, "table[$U & 15u]"},
    {FEATURE_SLOT, 0, "(unsigned)slot[$U & 3u]"},
    {FEATURE_SHARED, 0, "sh[$U % T]"}, {FEATURE_SHARED, 0, "sh[$U % T]"},
    {FEATURE_SHARED, 0, "sh[(tid * 3u + $K) % T]"},
    {FEATURE_SHARED, 0, "sh[(tid + 1u) & (T / 2u)]"},
    {FEATURE_WIDE, 0, "(unsigned)$W"}, {FEATURE_WIDE, 0, "(unsigned)($W >> 31)"},
    {FEATURE_WIDE, 0, "(unsigned)__popcll($W)"},
    {FEATURE_WIDE, 0, "(unsigned)__clzll((long long)$W)"},
    {FEATURE_FLOAT, 0, "(unsigned)(int)f$1"},
    {FEATURE_FLOAT, 0, "(unsigned)__float2int_rz($F)"},
    {FEATURE_FLOAT, 0, "(unsigned)__float2int_rz(odd($F, $U))"},
    {FEATURE_FLOAT, 0, "__float2uint_rz(odd($F, $U))"},
    {FEATURE_DOUBLE, 0, "(unsigned)(int)d$1"},
    {FEATURE_RECURSION, 0, "climb($U & 3u, $U)"},
    {FEATURE_RECURSION | FEATURE_PRIVATE, 0, "descend(own, $U & 3u, $U)"},
    {FEATURE_CALL, 0, "scramble($U, $U)"}, {FEATURE_CALL, 0, "spin($U, $U)"},
    {FEATURE_POINTER, 0, "chosen($U)($U)"},
    {FEATURE_STRUCT, 0, "turned(pair{$U, $U}, $U).low"},
    {FEATURE_STRUCT, 0, "p$1.low"}, {FEATURE_STRUCT, 0, "p$1.part[$U & 1u]"},
    {0, 0, "(unsigned)in[$G]"}, {0, 0, "(unsigned)in[$G]"},
    {FEATURE_LINE, 0, "(unsigned)line_c[$L]"},
    {FEATURE_LINE, 0, "(unsigned)line_s[$L]"},
    {FEATURE_LINE, 0, "line_u[$L]"}, {FEATURE_LINE, 0, "line_u[$L]"},
    {FEATURE_LINE, 0, "(unsigned)line_w[$L]"},
    {FEATURE_LINE, 0, "__float_as_uint(line_f[$L])"},
    {FEATURE_LINE, 0, "(unsigned)__double_as_longlong(line_d[$L])"},
    {FEATURE_LINE, 0, "(unsigned)((const signed char *)in)[$G]"},
    {FEATURE_LINE, 0, "(unsigned)((const short *)in)[$G]"},
    {FEATURE_LINE, 0, "(unsigned)((const unsigned short *)in)[$G]"},
    {FEATURE_LINE, 0, "__float_as_uint(((const float *)in)[$G])"},
    {FEATURE_LINE, 0, "(unsigned)(((const long long *)in)[$G] >> 16)"},
    {FEATURE_LINE, 0,
     "(unsigned)__double_as_longlong(((const double *)in)[$G])"},
    {0, 0, "found(in, gid, $U)"}, {0, 0, "walk(in + gid, in + gid + ($U & 3u))"},
    {0, 0, "(unsigned)abs((int)$U >> 1)"}, {0, 0, "(unsigned)(in + gid)[-(int)tid]"},
    {FEATURE_NARROW, 0, "(unsigned)small$1"},
    {FEATURE_NARROW, 0, "(unsigned)short$1"},
    {FEATURE_NARROW, 0, "(unsigned)(small$1 * short$1)"},
    {FEATURE_NARROW, 0, "(flag$1 ? $U : $U)"},
    {FEATURE_FOUR, 0, "(unsigned)four$1.x"}, {FEATURE_FOUR, 0, "(unsigned)four$1.z"},
    {FEATURE_FOUR, 0, "(unsigned)((const int4 *)in)[gid].y"},
    {FEATURE_ARRAYS, 0, "(unsigned)own_c[$U & 7u]"},
    {FEATURE_ARRAYS, 0, "(unsigned)(own_w[$U & 3u] >> 9)"},
    {FEATURE_ARRAYS, 0, "(unsigned)own_v[$U % 5u]"},
    {FEATURE_ARRAYS, 0, "own_p[$U & 1u].part[$U & 1u]"},
    {0, PLACE_ROW, "(unsigned)of$S[i$S]"}, {0, PLACE_ROW, "(unsigned)of$S[i$S]"},
    {0, PLACE_ROW, "(unsigned)of$S[i$S > 0 ? i$S - 1 : 0]"},
    {0, PLACE_ROW, "(unsigned)of$S[min((int)i$S + 1, n / 2)]"},
    {0, PLACE_ROW, "(unsigned)of$S[max((int)i$S - 2, 0)]"},
    {0, PLACE_OWN_ROW, "(unsigned)to$S[i$S]"}, {0, PLACE_STATE, "s$A"},
    {0, PLACE_OWN_ROW, "(unsigned)(i$S >= step$S ? to$S[i$S - step$S] : 3)"},
    {0, PLACE_OWN_ROW,
     "(unsigned)(i$S < step$S * 3u ? to$S[i$S + step$S] : 5)"},
    {0, 0, "(limit > 0 ? $U / (unsigned)limit : $U)"},
    {0, 0, "(stride > 0 ? $U % (unsigned)stride : $K)"},
    {0, PLACE_LIMIT, "($U / (unsigned)limit)"},
    {0, PLACE_LIMIT, "(unsigned)((int)$U % limit)"},
    {0, PLACE_LIMIT, "(unsigned)((int)$U / stride)"},
    {0, PLACE_LIMIT, "($U % (unsigned)stride)"},
    {0, PLACE_LIMIT, "($U % (unsigned)(limit - (int)i$S))"},
    {0, PLACE_LIMIT, "(unsigned)in[(unsigned)limit - 1u]"},
    {0, PLACE_LIMIT, "(unsigned)of$S[(unsigned)(limit - 1) - (unsigned)i$S]"},
    {0, PLACE_LIMIT, "(unsigned)in[(unsigned)stride - 1u]"},
};

static const struct rule simple_wide[] = {
    {0, 0, "w$1"}, {0, 0, "w$1"}, {0, 0, "(unsigned long long)$U"},
    {0, 0, "0x123456789abcdef1ull"}, {0, 0, "(unsigned long long)(long long)(int)$U"},
};

static const struct rule all_wide[] = {
    {0, 0, "($W + $W)"}, {0, 0, "($W - $W)"}, {0, 0, "($W * $W)"},
    {0, 0, "($W ^ $W)"}, {0, 0, "($W | $W)"}, {0, 0, "($W << ($U & 63u))"},
    {0, 0, "($W >> ($U & 63u))"}, {0, 0, "($W / (($W & 1023u) + 1u))"},
    {0, 0, "($W % (($W & 255u) + 1u))"}, {0, 0, "($C ? $W : $W)"},
    {0, 0, "(unsigned long long)((long long)$W >> ($U & 63u))"},
    {0, 0, "(unsigned long long)((long long)$W / (long long)(($U & 7u) + 2u))"},
    {0, 0, "__umul64hi($W, $W)"}, {0, 0, "__brevll($W)"}, {0, 0, "max($W, $W)"},
    {0, 0, "((unsigned long long)$U * $U)"}, {FEATURE_LINE, 0, "line_w[$L]"},
};

static const struct rule simple_float[] = {
    {0, 0, "f$1"}, {0, 0, "f$1"}, {0, 0, "(float)(int)($U & 0xffffu)"},
    {0, 0, "0.375f"}, {0, 0, "-3.0f"}, {0, 0, "(float)(int)lane"},
};

static const struct rule all_float[] = {
    {0, 0, "($F + $F)"}, {0, 0, "($F - $F)"}, {0, 0, "($F * $F)"},
    {0, 0, "($F / (float)(($U & 255u) + 1u))"}, {0, 0, "fabsf($F)"},
    {0, 0, "sqrtf(fabsf($F))"}, {0, 0, "floorf($F)"}, {0, 0, "truncf($F)"},
    {0, 0, "($F < $F ? $F : $F)"}, {0, 0, "($C ? $F : $F)"}, {0, 0, "-($F)"},
    {0, 0, "fmaf(f$1, $F, f$1)"}, {0, 0, "copysignf($F, f$1)"},
    {0, 0, "(float)$U"}, {0, 0, "(float)(int)$U"},
    {FEATURE_LINE, 0, "line_f[$L]"}, {FEATURE_LINE, 0, "line_f[$L]"},
    {FEATURE_LINE, 0, "(line_f[$L] + line_f[tid] + line_f[$L])"},
    {FEATURE_EXACT, 0, "__fadd_rn($F, $F)"},
    {FEATURE_EXACT, 0, "__fmul_rn($F, $F)"},
};

static const struct rule simple_double[] = {
    {0, 0, "d$1"}, {0, 0, "d$1"}, {0, 0, "(double)(int)$U"}, {0, 0, "0.1"},
    {FEATURE_FLOAT, 0, "(double)f$1"},
};

static const struct rule all_double[] = {
    {0, 0, "($D + $D)"}, {0, 0, "($D - $D)"}, {0, 0, "($D * $D)"},
    {0, 0, "($D / (double)(($U & 255u) + 1u))"}, {0, 0, "sqrt(fabs($D))"},
    {0, 0, "($C ? $D : $D)"}, {0, 0, "floor($D)"}, {0, 0, "(double)$U"},
    {FEATURE_LINE, 0, "line_d[$L]"},
    {FEATURE_WIDE, 0, "(double)(long long)($W >> 20)"},
};

static const struct rule simple_condition[] = {
    {0, 0, "($U < $U)"}, {0, 0, "(($U & 1u) != 0u)"}, {0, 0, "(($U & 3u) == 1u)"},
    {0, 0, "(lane < $K)"}, {0, 0, "(tid > $K)"}, {0, 0, "(($U & 7u) != 3u)"},
    {0, 0, "((int)$U < (int)$U)"}, {0, 0, "((int)$U > 0)"},
    {0, 0, "(($V & 1u) == 0u)"}, {0, 0, "(($U & 15u) < 9u)"},
};

static const struct rule all_condition[] = {
    {0, 0, "($C && $C)"}, {0, 0, "($C || $C)"}, {0, 0, "!$C"},
    {0, 0, "($C != $C)"}, {0, 0, "($U >= $U)"}, {0, 0, "($U % 3u == 1u)"},
    {0, 0, "(ig < n / 13)"}, {0, 0, "(it - 5 < (int)$K)"},
    {0, 0, "(it % 3 == 1)"}, {0, 0, "((ig >> 2 & 1) == 0)"},
    {0, 0, "(ig < limit)"}, {0, 0, "(it >= limit)"},
    {0, 0, "($C && in[$I] > 0)"}, {0, 0, "($C || in[$G] < (int)$K)"},
    {FEATURE_NARROW, 0, "flag$1"}, {FEATURE_NARROW, 0, "(small$1 < $U)"},
    {FEATURE_NARROW, 0, "(short$1 > (short)$U)"},
    {FEATURE_FLOAT, 0, "($F < $F)"}, {FEATURE_FLOAT, 0, "(f$1 >= $F)"},
    {FEATURE_FLOAT, 0, "(odd($F, $U) < $F)"},
    {FEATURE_FLOAT, 0, "!(odd($F, $U) <= odd($F, $U))"},
    {FEATURE_FLOAT, 0, "(odd($F, $U) == odd(f$1, $U))"},
    {FEATURE_FLOAT, 0, "(odd($F, $U) != odd($F, $U))"},
    {FEATURE_FLOAT, 0, "(fminf(odd($F, $U), $F) > fmaxf($F, odd($F, $U)))"},
    {FEATURE_DOUBLE, 0, "($D < $D)"}, {FEATURE_WIDE, 0, "($W > $W)"},
    {FEATURE_WIDE, 0, "((long long)$W < (long long)$W)"},
    {FEATURE_PRIVATE, 0, "((own[$U & 7u] & 1u) == 0u)"},
    {0, PLACE_STATE, "(s$A > 3u)"}, {0, PLACE_ROW, "(of$S[i$S] > 100)"},
};

// Always less than n: there are more than 4 * gid + 64 elements.
static const struct rule simple_index[] = {
    {0, 0, "gid"}, {0, 0, "gid + $K"}, {0, 0, "n - 1 - (int)gid"},
    {0, 0, "gid * 2u + $K"}, {0, 0, "gid * 4u + ($U & 3u)"}, {0, 0, "bid + $K"},
    {0, 0, "tid"}, {0, 0, "($U & 63u)"}, {0, 0, "$U % (unsigned)n"},
    {0, 0, "within(gid - 5u, n)"}, {0, 0, "within(gid * 3u - 40u, n)"},
    {0, 0, "((tid * 3u + $V) & 63u)"}, {0, 0, "gid + ($V & 31u)"},
    {0, 0, "ig"}, {0, 0, "ig + (int)$K"}, {0, 0, "ig * 3 + 2"},
    {0, 0, "n - 1 - ig"}, {0, 0, "(ig + 1) * 2"}, {0, 0, "it * 4 - it"},
};

// Less than 260, as long as the lines are.
static const struct rule simple_line[] = {
    {0, 0, "tid > 0u ? tid - 1u : 0u"}, {0, 0, "tid == 0u ? 0u : tid - 1u"},
    {0, 0, "threadIdx.x > 0u ? tid - 1u : tid"}, {0, 0, "tid"},
    {0, 0, "threadIdx.x > 0u ? threadIdx.x - 1u : 0u"},
    {0, 0, "threadIdx.x != 0u ? threadIdx.x - 1u : 0u"},
    {0, 0, "threadIdx.x == blockDim.x - 1u ? threadIdx.x : threadIdx.x + 1u"},
    {0, 0, "threadIdx.x != 0u ? threadIdx.x - 1u : $K"},
    {0, 0, "threadIdx.x == 31u ? 31u : threadIdx.x + 1u"},
    {0, 0, "threadIdx.x == 255u ? 255u : threadIdx.x + 1u"},
    {0, 0, "tid >= 3u ? tid - 3u : 0u"}, {0, 0, "tid < 70u ? tid + 1u : 70u"},
    {0, 0, "tid < T - 1u ? tid + 1u : tid"},
    {0, 0, "tid < T - 2u ? tid + 2u : T - 1u"},
    {0, 0, "tid > 20u ? tid - 2u : 18u"}, {0, 0, "tid > 20u ? tid - 2u : 19u"},
    {0, 0, "tid > 20u ? tid - 2u : 17u"}, {0, 0, "tid > $K ? tid - 1u : $K"},
    {0, 0, "tid < $K ? tid + 1u : $K"}, {0, 0, "tid < 40u ? 40u : tid"},
    {0, 0, "tid < 62u ? tid + 2u : 63u"}, {0, 0, "tid - min(tid, 2u)"},
    {0, 0, "min(tid + 1u, T - 1u)"}, {0, 0, "min(tid + 3u, 40u)"},
    {0, 0, "min((int)tid + 2, (int)T - 1)"}, {0, 0, "max((int)tid - 1, 0)"},
    {0, 0, "max((int)tid - 2, 0)"}, {0, 0, "max((int)tid - 33, 0)"},
    {0, 0, "max((int)tid, 45)"}, {0, 0, "min(tid, 45u)"},
    {0, 0, "min(threadIdx.x + 1u, blockDim.x - 1u)"},
    {0, 0, "min(max((int)tid - 1, 0), 61)"}, {0, 0, "min(tid + $K, 255u)"},
    {0, 0, "max((int)threadIdx.x - (int)$K, 0)"}, {0, 0, "min($V, 255u)"},
    {0, 0, "min((int)threadIdx.x + 1, (int)blockDim.x - 1)"},
    {0, 0, "it + 1"}, {0, 0, "it > 0 ? it - 1 : 0"}, {0, 0, "(it + 3) % 64"},
    {0, 0, "it < 200 ? it + 2 : 200"}, {0, 0, "it - (it & 1)"},
    {0, 0, "2u * min(tid, 100u) + 1u"}, {0, 0, "tid + 1u"}, {0, 0, "($U & 127u)"},
    {0, 0, "(unsigned char)(tid - 1u)"}, {0, 0, "(tid + 1u) % T"},
    {0, 0, "min(tid & 31u, 30u) + 1u"}, {0, 0, "(tid & ~31u) + min(lane + 1u, 31u)"},
};

// At most gid + 3 or 40.
static const struct rule simple_near[] = {
    {0, 0, "gid > 0u ? gid - 1u : 0u"}, {0, 0, "gid == 0u ? gid : gid - 1u"},
    {0, 0, "min(gid + 1u, (unsigned)n - 1u)"}, {0, 0, "gid + 3u"},
    {0, 0, "min((int)gid + 2, n - 1)"}, {0, 0, "max((int)gid - 1, 0)"},
    {0, 0, "max((int)gid - 2, 0)"}, {0, 0, "max((int)gid - 3, 0)"},
    {0, 0, "min((int)gid, 37)"}, {0, 0, "gid < 39u ? gid + 1u : 40u"},
    {0, 0, "gid > 5u ? gid - 1u : 5u"}, {0, 0, "gid > 5u ? gid - 1u : 4u"},
    {0, 0, "gid - min(gid, 3u)"}, {0, 0, "gid < 7u ? 7u : gid"},
    {0, 0, "gid >= 33u ? gid - 1u : 32u"}, {0, 0, "min(threadIdx.x + 3u, 40u)"},
    {0, 0, "gid + 1u < (unsigned)n ? gid + 1u : gid"},
    {0, 0, "threadIdx.x > 0u ? gid - 1u : gid"}, {0, 0, "min(tid, 17u)"},
    {0, 0, "threadIdx.x < blockDim.x - 1u ? gid + 1u : gid"},
    {0, 0, "max((int)threadIdx.x - 1, 0)"}, {0, 0, "min((int)tid + 1, 33)"},
    {0, 0, "ig > 0 ? ig - 1 : 0"}, {0, 0, "ig + 2"}, {0, 0, "min(ig + 1, n - 1)"},
    {0, 0, "ig - (ig > 4 ? 4 : ig)"}, {0, 0, "max(ig - 2, it)"},
    {0, 0, "blockIdx.x * blockDim.x + max((int)threadIdx.x - 1, 0)"},
};

static const struct rule simple_uniform[] = {
    {0, 0, "bid"}, {0, 0, "(unsigned)n"}, {0, 0, "T"}, {0, 0, "$K"},
    {0, 0, "blockDim.x"}, {0, 0, "(unsigned)in[bid]"},
    {0, 0, "(unsigned)in[bid + 7u]"}, {FEATURE_SHARED, 0, "sh[0]"},
    {0, 0, "(unsigned)limit"}, {0, 0, "(unsigned)stride"},
    {FEATURE_SHARED, 0, "sh[T / 2u]"},
};

static const struct rule simple_uniform_condition[] = {
    {0, 0, "(($X + $X) & 3u) != 1u"}, {0, 0, "bid != 1u"},
    {0, 0, "(($X ^ $X) & 1u) == 0u"}, {0, 0, "n > 500"},
    {0, 0, "($X & 7u) < ($X & 7u)"}, {0, 0, "limit > (int)$K"},
    {0, 0, "stride > 0"},
};

// --- Statements ------------------------------------------------------------

static const struct rule statements[] = {
    {0, 0, "u$0 = $U;"}, {0, 0, "u$0 = $U;"}, {0, 0, "u$0 += $U;"},
    {0, 0, "u$0 ^= $U;"}, {0, 0, "u$0 -= u$0 * $U;"},
    {0, 0, "u$0 = $C ? $U : u$0;"}, {0, 0, "if ($C) u$0++;"},
    {0, 0, "{ auto f = [&](unsigned a) { u$0 += a; return a * u$0; };\n"
           "  unsigned b = f($U);\n  u$0 = b ^ f(u$0); }"},
    {0, 0, "#pragma unroll\nfor (int k = 0; k < 4; k++) u$0 += u$0 << k;"},
    {FEATURE_PRIVATE, 0, "own[$U & 7u] = $U;"},
    {FEATURE_PRIVATE, 0, "own[$U & 7u] += $U;"},
    {FEATURE_PRIVATE, 0, "shift(own, $U & 7u);"},
    {FEATURE_PRIVATE | FEATURE_SLOT, 0,
     "{ unsigned *p = $C ? own : (unsigned *)slot; p[$U & 3u] ^= $U; }"},
    {FEATURE_SLOT, 0, "slot[$U & 3u] = (int)$U;"},
    {FEATURE_SLOT, 0, "slot[$U & 3u] ^= (int)$U;"},
    {FEATURE_SLOT, 0, "slot[2] = (int)$U;"},
    {FEATURE_SLOT, 0, "u$0 = (unsigned)atomicAdd((unsigned *)slot + $0, $U);"},
    {FEATURE_SLOT, 0, "u$0 ^= atomicCAS((unsigned *)slot + $0, $U, $U);"},
    {FEATURE_SLOT, 0, "u$0 = atomicExch((unsigned *)slot + ($U & 3u), $U);"},
    {FEATURE_SLOT, 0, "u$0 += atomicInc((unsigned *)slot + 1, $K);"},
    {FEATURE_TOTALS, 0, "atomicAdd(totals + ($U & 7u), $U);"},
    {FEATURE_TOTALS, 0, "atomicXor(totals + 8u + ($U & 7u), $U);"},
    {FEATURE_TOTALS, 0, "atomicAdd(totals + 3u, $U);"},
    {FEATURE_TOTALS, 0, "atomicXor(totals + 9u, u$0 & $U);"},
    {FEATURE_TOTALS, 0, "atomicMax(totals + 17u, $U);"},
    {FEATURE_TOTALS, 0, "atomicMin((int *)totals + 25u, (int)$U);"},
    {FEATURE_TOTALS, 0, "atomicMax(totals + 16u + ($U & 7u), $U);"},
    {FEATURE_TOTALS, 0, "atomicMin((int *)totals + 24u + ($U & 7u), (int)$U);"},
    {FEATURE_TOTALS, 0, "atomicOr(totals + 32u + ($U & 7u), $U);"},
    {FEATURE_TOTALS | FEATURE_WIDE, 0,
     "atomicAdd((unsigned long long *)totals + 20u + ($U & 3u), $W);"},
    {FEATURE_BINS, 0, "atomicAdd(bins + ($U & 3u), $U);"},
    {FEATURE_BINS, 0, "atomicSub(bins + $0, 1u);"},
    {FEATURE_BINS, 0, "atomicXor(bins + 4u + ($U & 3u), $U);"},
    {FEATURE_BINS, 0, "atomicMax(bins + 8u + ($U & 3u), $U);"},
    {FEATURE_BINS, 0, "atomicAnd(bins + 12u + ($U & 3u), $U);"},
    {FEATURE_BINS, PLACE_UNIFORM,
     "__syncthreads();\nu$0 += bins[$U % 24u];\n__syncthreads();"},
    {FEATURE_WIDE, 0, "w$1 = $W;"}, {FEATURE_WIDE, 0, "w$1 += $W;"},
    {FEATURE_FLOAT, 0, "f$1 = bound($F);"},
    {FEATURE_FLOAT, 0, "f$1 = bound(f$1 + $F);"},
    {FEATURE_DOUBLE, 0, "d$1 = bound($D);"},
    {FEATURE_DOUBLE, 0, "d$1 = bound(d$1 * 0.5 + $D);"},
    {FEATURE_STRUCT, 0, "p$1 = turned(p$1, $U);"},
    {FEATURE_STRUCT, 0, "swap(p0, p1);"}, {FEATURE_STRUCT, 0, "p$1.add($U);"},
    {FEATURE_STRUCT, 0, "p$1.part[$U & 1u] = $U;"},
    {FEATURE_STRUCT, 0, "{ pair &p = $C ? p0 : p1; p.low += $U; }"},
    {FEATURE_RECURSION, 0, "deepen(u$0, $U & 3u);"},
    {FEATURE_RECURSION, 0, "deepen($C ? u0 : u1, $U & 3u);"},
    {FEATURE_RECURSION | FEATURE_SLOT, 0,
     "deepen(*(unsigned *)(slot + $0), $U & 3u);"},
    {FEATURE_RECURSION | FEATURE_MINE, 0, "deepen(mine[tid], $U & 3u);"},

    {FEATURE_BINS, 0, "atomicOr(bins + 16u + ($U & 3u), $U);"},
    {FEATURE_BINS, 0, "atomicMin(bins + 20u + ($U & 3u), $U);"},
    {FEATURE_BINS, 0, "atomicAdd(bins + $0, (unsigned)in[$G]);"},

    // Types that take less, or more, than a lane.
    {FEATURE_NARROW, 0, "small$1 = (unsigned char)$U;"},
    {FEATURE_NARROW, 0, "small$1++;"},
    {FEATURE_NARROW, 0, "small$1 += (unsigned char)$U;"},
    {FEATURE_NARROW, 0, "short$1 = (short)$U;"},
    {FEATURE_NARROW, 0, "short$1 = (short)(short$1 * 3 + small$1);"},
    {FEATURE_NARROW, 0, "flag$1 = $C;"}, {FEATURE_NARROW, 0, "flag$1 = !flag$1;"},
    {FEATURE_NARROW, 0, "flag$1 = flag$1 && $C;"},
    {FEATURE_NARROW, 0, "if (flag$1 && $C) u$0 += $U;"},
    {FEATURE_FOUR, 0, "four$1 = ((const int4 *)in)[gid];"},
    {FEATURE_FOUR, 0, "four$1 = ((const int4 *)in)[$U & 15u];"},
    {FEATURE_FOUR, 0, "four$1.x ^= (int)$U;"},
    {0, 0, "u$0 ^= folded(((const mixed *)in)[within(gid, n / 2)]);"},
    {0, 0, "u$0 += folded(((const mixed *)in)[$U % (unsigned)(n / 2)]);"},
    {0, 0, "u$0 ^= ((const trio *)in)[within(gid, n / 3)].sum(u$0);"},
    {0, 0, "u$0 += ((const trio *)in)[within(ig + 1, n / 3)].b;"},
    {0, 0, "u$0 -= ((const trio *)in)[$U % (unsigned)(n / 3)].sum($U);"},
    {FEATURE_SLOT, 0, "((mixed *)slot)[$0 & 1] = made($U, u$0);"},
    {FEATURE_SLOT, 0, "*(trio *)slot = {u$0, $U, $K};"},
    {FEATURE_SLOT, 0,
     "{ mixed *m = (mixed *)slot; m[1].b++; m[0].d ^= m[1].a; m[0].a = 3; }"},
    {FEATURE_FOUR, 0, "four$1.w = four$1.y;"},
    {FEATURE_FOUR, 0, "{ int4 four = four0; four0 = four1; four1 = four; }"},
    {FEATURE_FOUR, 0,
     "four$1 = $C ? four$1 : make_int4((int)u$0, 2, (int)$K, (int)$U);"},
    {FEATURE_FOUR | FEATURE_SLOT, 0, "*(int4 *)slot = four$1;"},
    {FEATURE_FOUR | FEATURE_SLOT, 0, "four$1 = *(const int4 *)slot;"},
    {FEATURE_ARRAYS, 0, "own_c[$U & 7u] = (signed char)$U;"},
    {FEATURE_ARRAYS, 0, "own_c[$U & 7u]++;"},
    {FEATURE_ARRAYS, 0, "own_v[$U % 5u] = (int)$U;"},
    {FEATURE_ARRAYS, 0, "own_w[$U & 3u] += $U * 3ull;"},
    {FEATURE_ARRAYS | FEATURE_WIDE, 0, "own_w[$U & 3u] = $W;"},
    {FEATURE_ARRAYS | FEATURE_WIDE, 0, "w$1 ^= own_w[$U & 3u];"},
    {FEATURE_ARRAYS, 0, "own_p[$U & 1u].add($U);"},
    {FEATURE_ARRAYS, 0, "own_p[1] = turned(own_p[$U & 1u], $U);"},
    {FEATURE_ARRAYS, 0, "own_p[$U & 1u] = own_p[$U & 1u];"},
    {FEATURE_ARRAYS, 0,
     "((unsigned char *)own_w)[$U & 31u] ^= (unsigned char)$U;"},
    {0, 0, "{ unsigned word = $U;\n"
           "  ((unsigned char *)&word)[$U & 3u] = (unsigned char)$U;\n"
           "  u$0 ^= word; }"},
    {0, 0, "{ unsigned box[4] = {u0, 1u, u$0, 3u};\n  box[$U & 3u] = $U;\n"
           "  u$0 ^= box[$U & 3u]; }"},
    {FEATURE_PRIVATE | FEATURE_CALL, 0, "turn_round(own, $U);"},
    {FEATURE_SHARED, 0,
     "{ const unsigned *p = $C ? sh : (const unsigned *)in; u$0 ^= p[$U % T]; }"},
    {0, 0, "u$0 += found(in, gid, $U) * walk(in + bid, in + bid + ($U & 3u));"},

    // Shared atomics on what is the thread's, and what it had before.
    {FEATURE_MINE, 0, "u$0 = atomicAdd(mine + tid, $U);"},
    {FEATURE_MINE, 0, "u$0 += atomicSub(mine + tid, $U);"},
    {FEATURE_MINE, PLACE_UNIFORM, "u$0 ^= atomicExch(mine + tid, $U);"},
    {FEATURE_MINE, 0, "u$0 ^= atomicCAS(mine + tid, mine[tid] + ($U & 1u), $U);"},
    {FEATURE_MINE, 0, "u$0 += atomicMin(mine + tid, $U);"},
    {FEATURE_MINE, 0, "u$0 += (unsigned)atomicMax((int *)mine + tid, (int)$U);"},
    {FEATURE_MINE, 0, "u$0 += atomicInc(mine + tid, $K);"},
    {FEATURE_MINE, 0, "u$0 += atomicDec(mine + tid, $U);"},
    {FEATURE_MINE, 0, "u$0 += atomicAnd(mine + tid, $U);"},
    {FEATURE_MINE, 0, "u$0 = atomicXor(mine + tid, 1u << ($U & 31u));"},
    {FEATURE_MINE, 0, "atomicExch(mine + tid, $U);"},
    {FEATURE_MINE, 0, "atomicInc(mine + tid, $U);"},
    {FEATURE_MINE, 0, "atomicCAS(mine + tid, $U & 1u, $U);"},
    {FEATURE_MINE, 0, "mine[tid] += $U;"}, {FEATURE_MINE, 0, "u$0 ^= mine[tid];"},
    {FEATURE_MINE | FEATURE_FLOAT, 0,
     "f$1 = bound(atomicAdd((float *)mine_f + tid, $F));"},
    {FEATURE_MINE | FEATURE_FLOAT, 0, "atomicAdd(mine_f + tid, 0.5f);"},
    {FEATURE_MINE | FEATURE_WIDE, 0, "w$1 += atomicAdd(mine_w + tid, $W);"},
    {FEATURE_MINE | FEATURE_WIDE, 0, "w$1 ^= atomicMax(mine_w + tid, $W);"},
    {FEATURE_MINE | FEATURE_WIDE, 0, "w$1 = atomicCAS(mine_w + tid, w$1, $W);"},

    // Lines.
    {FEATURE_LINE, PLACE_UNIFORM,
     "{ unsigned e = $U;\n  __syncthreads();\n  line_u[tid] = e;\n"
     "  line_c[tid] = (signed char)e;\n  line_s[tid] = (short)e;\n"
     "  line_f[tid] = (float)(int)(e & 0xffffu);\n  __syncthreads(); }"},
    {FEATURE_LINE, PLACE_UNIFORM,
     "{ unsigned e = $U;\n  __syncthreads();\n  line_w[tid] = e * 3ull;\n"
     "  line_d[tid] = (double)e;\n  __syncthreads(); }"},
    {FEATURE_LINE, PLACE_UNIFORM,
     "{ unsigned e = line_u[$L] + line_u[tid] * 2u + line_u[$L];\n"
     "  __syncthreads();\n  line_u[tid] = e;\n  __syncthreads(); }"},
    {FEATURE_LINE, 0, "u$0 += line_u[$L] + line_u[$L];"},
    {FEATURE_LINE, 0, "u$0 += (unsigned)(line_c[$L] * line_s[$L]);"},
    {FEATURE_LINE, 0, "u$0 ^= (unsigned)line_w[$L];"},
    {0, 0, "u$0 += (unsigned)in[$G] * (unsigned)in[$G];"},

    // Rows.
    {0, PLACE_ROW, "u$0 += (unsigned)of$S[i$S];"},
    {0, PLACE_ROW, "u$0 = u$0 * 3u + (unsigned)of$S[i$S];"},
    {0, PLACE_ROW, "u$0 ^= (unsigned)of$S[i$S] * $U;"},
    {0, PLACE_ROW, "u$0 = max(u$0, (unsigned)of$S[i$S]) + (unsigned)i$S;"},
    {0, PLACE_ROW, "if (of$S[i$S] > (int)$K) u$0 += u$0 ^ (unsigned)i$S;"},
    {0, PLACE_ROW,
     "for (unsigned k = 0; k < ((unsigned)of$S[i$S] & 3u); k++)\n"
     "    u$0 = u$0 * 5u + k;"},
    {0, PLACE_ROW, "if (of$S[i$S] > (int)$K) u$0 += $U;"},
    {FEATURE_FLOAT, PLACE_ROW, "f$1 = bound(f$1 + (float)of$S[i$S]);"},
    {FEATURE_TOTALS, PLACE_ROW,
     "atomicAdd(totals + ((unsigned)of$S[i$S] & 7u), u$0);"},
    {FEATURE_BINS, PLACE_ROW,
     "atomicAdd(bins + ((unsigned)of$S[i$S] & 3u), 1u);"},
    {0, PLACE_OWN_ROW, "to$S[i$S] = (int)$U;"},
    {0, PLACE_OWN_ROW, "to$S[i$S] = (int)(u$0 + (unsigned)of$S[i$S]);"},
    {0, PLACE_OWN_ROW, "if (of$S[i$S] > 100) to$S[i$S] = (int)u$0;"},
    {0, PLACE_OWN_ROW, "to$S[i$S] = of$S[i$S];"},
    {0, PLACE_OWN_ROW,
     "if (u$0 & 1u) to$S[i$S] = of$S[i$S] * 2;\nelse u$0 += 3u;"},
    {0, PLACE_OWN_ROW, "to$S[i$S] ^= of$S[i$S];"},
    {0, PLACE_OWN_ROW, "if ($C) to$S[i$S] = (int)u$0;"},
    {0, PLACE_OWN_ROW, "to$S[i$S] = of$S[i$S > 0 ? i$S - 1 : 0];"},
    {0, PLACE_OWN_ROW, "if (i$S >= step$S) to$S[i$S] ^= to$S[i$S - step$S];"},
    {0, PLACE_OWN_ROW,
     "to$S[i$S] = i$S < step$S * 3u ? to$S[i$S + step$S] : of$S[i$S];"},
    {0, PLACE_ROW | PLACE_LIMIT, "u$0 += (unsigned)of$S[i$S] / (unsigned)limit;"},
    {0, PLACE_ROW | PLACE_LIMIT, "u$0 = u$0 * 3u + (u$0 >> 7) % (unsigned)stride;"},
    {0, PLACE_ROW | PLACE_LIMIT,
     "u$0 ^= (unsigned)in[(unsigned)limit - 1u] * (unsigned)i$S;"},
    {0, PLACE_OWN_ROW | PLACE_LIMIT,
     "to$S[i$S] = of$S[i$S] / limit + 1000 % stride;"},

    // Machines.
    {0, PLACE_STATE, "s$A = $U & 7u;"}, {0, PLACE_STATE, "s$A = $U & 7u;"},
    {0, PLACE_STATE, "s$A = (s$A + 1u) & 7u;"},
    {0, PLACE_STATE, "if ($C) s$A = $K & 7u;"},
    {0, PLACE_AGAIN, "if ($C) continue;"},
    {0, PLACE_AGAIN, "if ($C) { u$0 += $U; continue; }"},
    {0, PLACE_AGAIN | PLACE_STATE, "if ($C) { s$A = $U & 7u; continue; }"},

    // Barriers.
    {0, PLACE_UNIFORM, "__syncthreads();"},
    {0, PLACE_UNIFORM, "u$0 += (unsigned)__syncthreads_count($C);"},
    {0, PLACE_UNIFORM, "u$0 ^= (unsigned)__syncthreads_or($C);"},
    {0, PLACE_UNIFORM, "if (__syncthreads_and($C)) u$0 = $U;"},
    {FEATURE_SHARED, PLACE_UNIFORM,
     "{ unsigned e = $U;\n  __syncthreads();\n  sh[tid] = e;\n"
     "  __syncthreads();\n  u$0 = sh[$U % T]; }"},
    {FEATURE_SHARED, PLACE_UNIFORM,
     "{ unsigned e = $U;\n  __syncthreads();\n  sh[T - 1u - tid] = e;\n"
     "  __syncthreads(); }"},
    // Were the sum to wrap, `% T` could give two threads one element.
    {FEATURE_SHARED, PLACE_UNIFORM,
     "{ unsigned e = $U, to = (tid + ($X & 0x7fffffffu)) % T;\n"
     "  __syncthreads();\n  sh[to] = e;\n  __syncthreads(); }"},
    {FEATURE_SHARED, PLACE_UNIFORM,
     "{ unsigned e = $U; bool c = $C;\n  __syncthreads();\n"
     "  if (c) sh[tid] += e;\n  __syncthreads(); }"},
    {FEATURE_SHARED, PLACE_UNIFORM,
     "u$0 += exchange(sh, tid, T, $U, $U);"},
    {FEATURE_SHARED, PLACE_UNIFORM,
     "for (unsigned s = 128u; s > 0u; s >>= 1) {\n"
     "    __syncthreads();\n"
     "    if (tid < s && tid + s < T) sh[tid] += sh[tid + s];\n"
     "}\n__syncthreads();"},

    // Warp operations.
    {FEATURE_WARP, PLACE_MASK, "u$0 = __shfl_sync($M, u$0, from($M, lane, $U));"},
    {FEATURE_WARP, PLACE_MASK, "u$0 += __shfl_sync($M, $U, __ffs((int)$M) - 1);"},
    {FEATURE_WARP, PLACE_MASK, "u$0 = shuffle_up($M, lane, $U, $K & 31u, $2);"},
    {FEATURE_WARP, PLACE_MASK, "u$0 ^= shuffle_down($M, lane, $U, $K & 31u, $2);"},
    {FEATURE_WARP, PLACE_MASK, "u$0 += shuffle_xor($M, lane, $U, $K & 31u);"},
    {FEATURE_WARP, PLACE_MASK, "u$0 += shuffle_down($M, lane, $U, $U & 31u, 32);"},
    {FEATURE_WARP | FEATURE_WIDE, PLACE_MASK,
     "w$1 = shuffle_up($M, lane, $W, $K & 31u, $2);"},
    {FEATURE_WARP | FEATURE_WIDE, PLACE_MASK,
     "w$1 ^= shuffle_xor($M, lane, $W, $K & 31u);"},
    {FEATURE_WARP | FEATURE_FLOAT, PLACE_MASK,
     "f$1 = shuffle_down($M, lane, f$1, $K & 31u, $2);"},
    {FEATURE_WARP | FEATURE_DOUBLE, PLACE_MASK,
     "d$1 = __shfl_sync($M, d$1, from($M, lane, $U));"},
    {FEATURE_WARP, PLACE_MASK, "u$0 ^= __ballot_sync($M, $C);"},
    {FEATURE_WARP, PLACE_MASK,
     "u$0 += (unsigned)__popc(__ballot_sync($M, $C) & ((1u << lane) - 1u));"},
    {FEATURE_WARP, PLACE_MASK, "if (__any_sync($M, $C)) u$0 += $U;"},
    {FEATURE_WARP, PLACE_MASK, "if (!__all_sync($M, $C)) u$0 = $U;"},
    {FEATURE_WARP, PLACE_MASK, "u$0 ^= __match_any_sync($M, $U & 3u);"},
    {FEATURE_WARP, PLACE_MASK,
     "{ int all; u$0 += __match_all_sync($M, $U & 1u, &all); u$0 ^= (unsigned)all; }"},
    {FEATURE_WARP, PLACE_MASK, "u$0 += __reduce_add_sync($M, $U);"},
    {FEATURE_WARP, PLACE_MASK, "u$0 ^= (unsigned)__reduce_min_sync($M, (int)$U);"},
    {FEATURE_WARP, PLACE_MASK, "u$0 = __reduce_max_sync($M, $U);"},
    {FEATURE_WARP, PLACE_MASK, "u$0 ^= __reduce_xor_sync($M, $U);"},
    {FEATURE_WARP, PLACE_MASK, "__syncwarp($M);"},
    {FEATURE_WARP, PLACE_ALL, "u$0 ^= __ballot_sync(0xffffffffu, $C);"},
    {FEATURE_WARP, PLACE_ALL, "u$0 += __reduce_add_sync(0xffffffffu, $U);"},
    {FEATURE_WARP, PLACE_ALL, "if (__any_sync(0xffffffffu, $C)) u$0 -= $U;"},
    {FEATURE_WARP, PLACE_ALL,
     "{ const unsigned by = $K & 31u;\n"
     "  unsigned e = __shfl_xor_sync(0xffffffffu, $U, (int)by);\n"
     "  u$0 += m0 >> (lane ^ by) & 1u ? e : by; }"},
    {FEATURE_WARP, PLACE_ALL,
     "{ unsigned e = __shfl_down_sync(0xffffffffu, $U, 1);\n"
     "  u$0 ^= lane < 31u && (m0 >> (lane + 1u) & 1u) ? e : 7u; }"},
    {FEATURE_WARP, PLACE_MASK,
     "for (unsigned s = 16u; s > 0u; s >>= 1)\n"
     "    u$0 += shuffle_xor($M, lane, u$0, s);"},

    // Ways out.
    {FEATURE_WARP, PLACE_ALL,
     "{ bool leave = $C;\n  $M = __ballot_sync($M, !leave);\n"
     "  if (leave) { slot[0] = (int)$U; return; } }"},
    {FEATURE_WARP, PLACE_ALL,
     "{ bool leave = $C;\n  $M = __ballot_sync($M, !leave);\n"
     "  if (leave) return; }"},
    {FEATURE_RETURN, 0, "if ($C) { slot[0] = (int)$U; return; }"},
    {FEATURE_RETURN, 0, "if ($C && $C) return;"},
    {FEATURE_RETURN, PLACE_UNIFORM, "if ($Y) if ($C) return;"},
    {0, PLACE_PLAIN_LOOP, "if ($C) break;"},
    {0, PLACE_PLAIN_LOOP, "if ($C) continue;"},
    {0, PLACE_PLAIN_LOOP, "if ($C) { u$0 = $U; break; }"},
    {0, PLACE_UNIFORM_LOOP, "if ($Y) break;"},
    {0, PLACE_UNIFORM_LOOP, "if ($Y) continue;"},
    {0, PLACE_MASKED_LOOP,
     "{ bool leave = $C;\n  $M = __ballot_sync($M, !leave);\n"
     "  if (leave) break; }"},
    {FEATURE_GOTO, PLACE_LABEL, "if ($C) goto end$E;"},
};

// clang-format on

RULES(rules_unsigned, simple_unsigned, all_unsigned);
RULES(rules_wide, simple_wide, all_wide);
RULES(rules_float, simple_float, all_float);
RULES(rules_double, simple_double, all_double);
RULES(rules_condition, simple_condition, all_condition);
RULES(rules_index, simple_index, simple_index);
RULES(rules_line, simple_line, simple_line);
RULES(rules_near, simple_near, simple_near);
RULES(rules_uniform, simple_uniform, simple_uniform);
RULES(rules_uniform_condition, simple_uniform_condition,
      simple_uniform_condition);
RULES(rules_statement, statements, statements);
