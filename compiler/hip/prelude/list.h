// <initializer_list>: the compiler makes one of braces, and looks for it by its
// true name.
#undef std
namespace std {
template <class T> class initializer_list {
    const T *first;
    size_t count;

public:
    typedef T value_type;
    typedef const T &reference, &const_reference;
    typedef size_t size_type;
    typedef const T *iterator, *const_iterator;
    constexpr initializer_list() noexcept : first(nullptr), count(0) {}
    constexpr size_t size() const noexcept { return count; }
    constexpr const T *begin() const noexcept { return first; }
    constexpr const T *end() const noexcept { return first + count; }
};
} // namespace std
namespace rnl_std {
using ::std::initializer_list;
} // namespace rnl_std
#define std rnl_std
