// Two halfwords or four bytes in a word: __vadd2, __vcmpgtu4, ..., the bounds
// __viaddmax_s32, ..., and the dot products __dp4a and __dp2a.

template <class Lane> struct rnl_lane_limits;
#define RNL_LANE(type, least, most)                        \
    template <> struct rnl_lane_limits<type> {             \
        static constexpr int low = least, high = most;     \
    };
RNL_LANE(signed char, -128, 127)
RNL_LANE(unsigned char, 0, 255)
RNL_LANE(short, -32768, 32767)
RNL_LANE(unsigned short, 0, 65535)

// Applies f to each lane; results are cut to the lane's bits.
template <class Lane, class F>
RNL_INLINE unsigned int rnl_lanes(unsigned int a, unsigned int b, F f)
{
    constexpr int bits = 8 * sizeof(Lane);
    constexpr unsigned int ones = (1u << bits) - 1;
    unsigned int result = 0;
#pragma GCC unroll 4
    for (int i = 0; i < 32; i += bits)
        result |= (unsigned(f(int(Lane(a >> i)), int(Lane(b >> i)))) & ones)
                  << i;
    return result;
}
template <class Lane> RNL_INLINE int rnl_clamp(int x)
{
    typedef rnl_lane_limits<Lane> limits;
    return x < limits::low ? limits::low : x > limits::high ? limits::high : x;
}

#define RNL_LANES2(name, lane, formula)                                      \
    RNL_INLINE unsigned int name(unsigned int a, unsigned int b)             \
    {                                                                        \
        typedef lane Lane;                                                   \
        return rnl_lanes<Lane>(a, b, [](int x, int y) -> int {               \
            return formula;                                                  \
        });                                                                  \
    }
#define RNL_LANES1(name, lane, formula)                                      \
    RNL_INLINE unsigned int name(unsigned int a)                             \
    {                                                                        \
        typedef lane Lane;                                                   \
        return rnl_lanes<Lane>(a, 0u, [](int x, int) -> int {                \
            return formula;                                                  \
        });                                                                  \
    }
#define RNL_LANES_COMPARE(name, n, lane, operation)                          \
    RNL_LANES2(__vcmp##name##n, lane, x operation y ? -1 : 0)                \
    RNL_LANES2(__vset##name##n, lane, x operation y ? 1 : 0)
#define RNL_LANES_SUM(name, n, lane)                                         \
    RNL_INLINE unsigned int name(unsigned int a, unsigned int b)             \
    {                                                                        \
        typedef lane Lane;                                                   \
        unsigned int sum = 0;                                                \
        for (int i = 0; i < 32; i += 32 / n) {                               \
            int d = int(Lane(a >> i)) - int(Lane(b >> i));                   \
            sum += unsigned(d < 0 ? -d : d);                                 \
        }                                                                    \
        return sum;                                                          \
    }
#define RNL_LANES_ALL(n, s, u)                                               \
    RNL_LANES2(__vadd##n, u, x + y)                                          \
    RNL_LANES2(__vsub##n, u, x - y)                                          \
    RNL_LANES2(__vaddss##n, s, rnl_clamp<Lane>(x + y))                       \
    RNL_LANES2(__vaddus##n, u, rnl_clamp<Lane>(x + y))                       \
    RNL_LANES2(__vsubss##n, s, rnl_clamp<Lane>(x - y))                       \
    RNL_LANES2(__vsubus##n, u, rnl_clamp<Lane>(x - y))                       \
    RNL_LANES2(__vavgs##n, s, (x + y + (x + y >= 0)) >> 1)                   \
    RNL_LANES2(__vavgu##n, u, (x + y + 1) >> 1)                              \
    RNL_LANES2(__vhaddu##n, u, (x + y) >> 1)                                 \
    RNL_LANES2(__vmaxs##n, s, x > y ? x : y)                                 \
    RNL_LANES2(__vmaxu##n, u, x > y ? x : y)                                 \
    RNL_LANES2(__vmins##n, s, x < y ? x : y)                                 \
    RNL_LANES2(__vminu##n, u, x < y ? x : y)                                 \
    RNL_LANES2(__vabsdiffs##n, s, x < y ? y - x : x - y)                     \
    RNL_LANES2(__vabsdiffu##n, u, x < y ? y - x : x - y)                     \
    RNL_LANES1(__vabs##n, s, x < 0 ? -x : x)                                 \
    RNL_LANES1(__vabsss##n, s, rnl_clamp<Lane>(x < 0 ? -x : x))              \
    RNL_LANES1(__vneg##n, s, -x)                                             \
    RNL_LANES1(__vnegss##n, s, rnl_clamp<Lane>(-x))                          \
    RNL_LANES_SUM(__vsads##n, n, s)                                          \
    RNL_LANES_SUM(__vsadu##n, n, u)                                          \
    RNL_LANES_COMPARE(eq, n, u, ==)                                          \
    RNL_LANES_COMPARE(ne, n, u, !=)                                          \
    RNL_LANES_COMPARE(ges, n, s, >=)                                         \
    RNL_LANES_COMPARE(geu, n, u, >=)                                         \
    RNL_LANES_COMPARE(gts, n, s, >)                                          \
    RNL_LANES_COMPARE(gtu, n, u, >)                                          \
    RNL_LANES_COMPARE(les, n, s, <=)                                         \
    RNL_LANES_COMPARE(leu, n, u, <=)                                         \
    RNL_LANES_COMPARE(lts, n, s, <)                                          \
    RNL_LANES_COMPARE(ltu, n, u, <)
RNL_LANES_ALL(2, short, unsigned short)
RNL_LANES_ALL(4, signed char, unsigned char)

// --- A sum and two bounds, or three ----------------------------------------

RNL_INLINE int rnl_wrapped(int x, int y)
{
    return int(unsigned(x) + unsigned(y));
}
RNL_INLINE rnl_uint rnl_wrapped(rnl_uint x, rnl_uint y) { return x + y; }

#define RNL_BOUND(name, type, value)                                         \
    RNL_INLINE type name(type a, type b, type c) { return value; }
#define RNL_BOUNDS(kind, type, plus, most, least)                            \
    RNL_BOUND(__viaddmax_##kind, type, most(plus(a, b), c))                  \
    RNL_BOUND(__viaddmin_##kind, type, least(plus(a, b), c))                 \
    RNL_BOUND(__vimax3_##kind, type, most(most(a, b), c))                    \
    RNL_BOUND(__vimin3_##kind, type, least(least(a, b), c))
RNL_BOUNDS(s32, int, rnl_wrapped, max, min)
RNL_BOUNDS(u32, rnl_uint, rnl_wrapped, max, min)
RNL_BOUNDS(s16x2, rnl_uint, __vadd2, __vmaxs2, __vmins2)
RNL_BOUNDS(u16x2, rnl_uint, __vadd2, __vmaxu2, __vminu2)

// At least 0.
#define RNL_BOUNDS_RELU(kind, type, most, least)                             \
    RNL_BOUND(__viaddmax_##kind##_relu, type,                                \
              most(__viaddmax_##kind(a, b, c), type(0)))                     \
    RNL_BOUND(__viaddmin_##kind##_relu, type,                                \
              most(__viaddmin_##kind(a, b, c), type(0)))                     \
    RNL_BOUND(__vimax3_##kind##_relu, type,                                  \
              most(__vimax3_##kind(a, b, c), type(0)))                       \
    RNL_BOUND(__vimin3_##kind##_relu, type,                                  \
              most(__vimin3_##kind(a, b, c), type(0)))                       \
    RNL_INLINE type __vimax_##kind##_relu(type a, type b)                    \
    {                                                                        \
        return most(most(a, b), type(0));                                    \
    }                                                                        \
    RNL_INLINE type __vimin_##kind##_relu(type a, type b)                    \
    {                                                                        \
        return most(least(a, b), type(0));                                   \
    }
RNL_BOUNDS_RELU(s32, int, max, min)
RNL_BOUNDS_RELU(s16x2, rnl_uint, __vmaxs2, __vmins2)

// And whether that is `a`.
#define RNL_WHICH(name, type, value)                                         \
    RNL_INLINE type name(type a, type b, bool *is_a)                         \
    {                                                                        \
        type result = value(a, b);                                           \
        *is_a = result == a;                                                 \
        return result;                                                       \
    }
#define RNL_WHICH2(name, value)                                              \
    RNL_INLINE rnl_uint name(rnl_uint a, rnl_uint b, bool *high, bool *low)  \
    {                                                                        \
        rnl_uint result = value(a, b);                                       \
        *high = result >> 16 == a >> 16;                                     \
        *low = (result & 0xffffu) == (a & 0xffffu);                          \
        return result;                                                       \
    }
RNL_WHICH(__vibmax_s32, int, max)
RNL_WHICH(__vibmin_s32, int, min)
RNL_WHICH(__vibmax_u32, rnl_uint, max)
RNL_WHICH(__vibmin_u32, rnl_uint, min)
RNL_WHICH2(__vibmax_s16x2, __vmaxs2)
RNL_WHICH2(__vibmin_s16x2, __vmins2)
RNL_WHICH2(__vibmax_u16x2, __vmaxu2)
RNL_WHICH2(__vibmin_u16x2, __vminu2)

// --- Dot products ----------------------------------------------------------

// Combines the lanes of `a` and the bytes of `b` from byte `first` on, plus c.
template <class Lane, class Byte>
RNL_INLINE unsigned int rnl_dot(unsigned int a, unsigned int b,
                                unsigned int c, int first)
{
    constexpr int count = 4 / sizeof(Lane);
    for (int i = 0; i < count; i++)
        c += unsigned(int(Lane(a >> (32 / count * i))) *
                      int(Byte(b >> (8 * (first + i)))));
    return c;
}
#define RNL_DOT(name, sign_lane, unsigned_lane, first)                       \
    RNL_INLINE int name(int a, int b, int c)                                 \
    {                                                                        \
        return int(rnl_dot<sign_lane, signed char>(                          \
            unsigned(a), unsigned(b), unsigned(c), first));                  \
    }                                                                        \
    RNL_INLINE unsigned int name(unsigned int a, unsigned int b,             \
                                 unsigned int c)                             \
    {                                                                        \
        return rnl_dot<unsigned_lane, unsigned char>(a, b, c, first);        \
    }
RNL_DOT(__dp4a, signed char, unsigned char, 0)
RNL_DOT(__dp2a_lo, short, unsigned short, 0)
RNL_DOT(__dp2a_hi, short, unsigned short, 2)

template <class T> RNL_INLINE int rnl_word(T value)
{
    int word;
    __builtin_memcpy(&word, &value, sizeof word);
    return word;
}
#define RNL_DOT_VECTOR(name, result, a_type, b_type)                         \
    RNL_INLINE result name(a_type a, b_type b, result c)                     \
    {                                                                        \
        return name(result(rnl_word(a)), result(rnl_word(b)), c);            \
    }
RNL_DOT_VECTOR(__dp4a, int, char4, char4)
RNL_DOT_VECTOR(__dp4a, rnl_uint, uchar4, uchar4)
RNL_DOT_VECTOR(__dp2a_lo, int, short2, char4)
RNL_DOT_VECTOR(__dp2a_lo, rnl_uint, ushort2, uchar4)
RNL_DOT_VECTOR(__dp2a_hi, int, short2, char4)
RNL_DOT_VECTOR(__dp2a_hi, rnl_uint, ushort2, uchar4)
