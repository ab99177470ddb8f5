// The prototypes of functions.def against those of the vendor's header: as many
// parameters, and each passed in the same way. Nothing to run.

// The names in the header are then those of the symbols, old ones too.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <type_traits>

#include "backends/cudalike/driver/driver.h"

namespace {

template <class T> constexpr int way()
{
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

#define CHECK(name, symbol)                                       \
    static_assert(same<driver_##name##_fn *,                      \
                       std::decay<decltype(symbol)>::type>::value, \
                  #name " is not " #symbol);
#include "abi_symbols.inc"
#undef CHECK

}
