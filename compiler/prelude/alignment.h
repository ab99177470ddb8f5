// In CUDA alignas may follow __shared__ and its like, which are attributes
// there. In C++ it has to come before the words that they stand for, but an
// attribute of GNU's need not. int(x) is a number, or with a type for x that of
// a function, so either can be asked for.
template <class> struct rnl_parameter;
template <class T> struct rnl_parameter<int(T)> {
    static constexpr size_t alignment = alignof(T);
};
template <int Number> constexpr size_t rnl_alignment() { return Number; }
template <class Function> constexpr size_t rnl_alignment()
{
    return rnl_parameter<Function>::alignment;
}
#define alignas(...) \
    __attribute__((aligned(rnl_alignment<int(__VA_ARGS__)>())))
