// Vector types; uint3 and dim3 are with the built-in variables.

#define RNL_VECTOR1(name, type)                              \
    struct name##1 {                                         \
        type x;                                              \
    };                                                       \
    RNL_INLINE name##1 make_##name##1(type x)                \
    {                                                        \
        return name##1{x};                                   \
    }
#define RNL_VECTOR2(name, type, alignment)                   \
    struct __attribute__((aligned(alignment))) name##2 {     \
        type x, y;                                           \
    };                                                       \
    RNL_INLINE name##2 make_##name##2(type x, type y)        \
    {                                                        \
        return name##2{x, y};                                \
    }
#define RNL_VECTOR3(name, type)                              \
    struct name##3 {                                         \
        type x, y, z;                                        \
    };                                                       \
    RNL_INLINE name##3 make_##name##3(type x, type y, type z) \
    {                                                        \
        return name##3{x, y, z};                             \
    }
#define RNL_VECTOR4(name, type, alignment)                   \
    struct __attribute__((aligned(alignment))) name##4 {     \
        type x, y, z, w;                                     \
    };                                                       \
    RNL_INLINE name##4 make_##name##4(type x, type y, type z, type w) \
    {                                                        \
        return name##4{x, y, z, w};                          \
    }
#define RNL_VECTORS(name, type, align2, align4) \
    RNL_VECTOR1(name, type)                     \
    RNL_VECTOR2(name, type, align2)             \
    RNL_VECTOR3(name, type)                     \
    RNL_VECTOR4(name, type, align4)

RNL_VECTORS(char, signed char, 2, 4)
RNL_VECTORS(uchar, unsigned char, 2, 4)
RNL_VECTORS(short, short, 4, 8)
RNL_VECTORS(ushort, unsigned short, 4, 8)
RNL_VECTORS(int, int, 8, 16)
RNL_VECTOR1(uint, unsigned int)
RNL_VECTOR2(uint, unsigned int, 8)
RNL_VECTOR4(uint, unsigned int, 16)
RNL_VECTORS(long, long, 16, 16)
RNL_VECTORS(ulong, unsigned long, 16, 16)
RNL_VECTORS(longlong, long long, 16, 16)
RNL_VECTORS(ulonglong, unsigned long long, 16, 16)
RNL_VECTORS(float, float, 8, 16)
RNL_VECTORS(double, double, 16, 16)

// With an alignment in their names.
#define RNL_VECTOR4_ALIGNED(name, type, alignment)                          \
    struct __attribute__((aligned(alignment))) name##4_##alignment##a {      \
        type x, y, z, w;                                                     \
    };                                                                       \
    RNL_INLINE name##4_##alignment##a make_##name##4_##alignment##a(         \
        type x, type y, type z, type w)                                      \
    {                                                                        \
        return name##4_##alignment##a{x, y, z, w};                           \
    }
#define RNL_VECTORS_ALIGNED(name, type)                                      \
    RNL_VECTOR4_ALIGNED(name, type, 16)                                      \
    RNL_VECTOR4_ALIGNED(name, type, 32)
RNL_VECTORS_ALIGNED(long, long)
RNL_VECTORS_ALIGNED(ulong, unsigned long)
RNL_VECTORS_ALIGNED(longlong, long long)
RNL_VECTORS_ALIGNED(ulonglong, unsigned long long)
RNL_VECTORS_ALIGNED(double, double)
