// The prototypes of functions.def against those of the vendor's header: as many
// parameters, and each passed in the same way. Nothing to run.

#ifdef FAKE_HIP
// Without the overloads for C++.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#else
// The names in the header are then those of the symbols, old ones too.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#endif
#include <type_traits>

#ifdef FAKE_HIP
#include "backends/hip/abi.h"
#else
#include "backends/cudalike/driver/driver.h"
#endif

namespace {

template <class T> constexpr int way()
{
#ifdef FAKE_HIP
    // Addresses of the device are pointers there.
    if (std::is_pointer<T>::value)
        return sizeof(T);
#endif
    if (std::is_pointer<T>::value)
        return 'p';
    if (std::is_floating_point<T>::value)
        return 'f' + (int)sizeof(T);
    // abi.c compares the one struct that is passed, which is all bytes.
    return std::is_class<T>::value ? 's' : (int)sizeof(T);
}

template <class Ours, class Theirs> struct same : std::false_type {};

template <class R, class... A, class S, class... B>
struct same<R (*)(A...), S (*)(B...)> {
    static constexpr bool fits()
    {
        if constexpr (sizeof...(A) == sizeof...(B))
            return way<R>() == way<S>() && ((way<A>() == way<B>()) && ...);
        else
            return false;
    }
    static constexpr bool value = fits();
};

#define CHECK_AS(ours, name, symbol)                                      \
    static_assert(same<ours *, std::decay<decltype(symbol)>::type>::value, \
                  #name " is not " #symbol);
#define CHECK(name, symbol) CHECK_AS(driver_##name##_fn, name, symbol)
#define CHECK_ADAPTED(name, symbol) CHECK_AS(hip_##name##_fn, name, symbol)
#define CHECK_OTHER CHECK_ADAPTED
#ifdef FAKE_HIP
#include "abi_hip_symbols.inc"
#else
#include "abi_symbols.inc"
#endif

}
