// CUDA allows alignas behind __shared__ and similar specifiers, which are
// attributes in CUDA. In C++ alignas has to come before them, but a GNU
// attribute need not. int(x) is a number, or for a type x a function type, so
// the macro can test for either.
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
