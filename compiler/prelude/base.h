// Plain types that C++ has only in headers, and what <runnel/cpu_object.h>
// needs; that header follows.
#pragma GCC system_header

typedef decltype(sizeof 0) size_t;
typedef decltype(static_cast<char *>(nullptr) - static_cast<char *>(nullptr))
    ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __builtin_va_list va_list;
typedef long clock_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef enum cudaError : int { cudaSuccess } cudaError_t;
typedef struct rnl_no_stream *cudaStream_t;
namespace std {
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::nullptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
} // namespace std
#define NULL __null
#define UINT64_C(x) x##ul
#define va_start(list, last) __builtin_va_start(list, last)
#define va_arg(list, type) __builtin_va_arg(list, type)
#define va_end(list) __builtin_va_end(list)

