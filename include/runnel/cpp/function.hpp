// Functions with signatures, and modules.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_FUNCTION_HPP
#define RUNNEL_CPP_FUNCTION_HPP

#include <runnel/cpp/buffer.hpp>

RUNNEL_CPP_BEGIN

namespace detail
{

// Whether an A is a buffer that fits a pointer to E: one of these elements, any
// for void, or one whose elements the launch compares.
template <class E, class A>
inline constexpr bool is_buffer_of =
    std::is_base_of_v<buffer_ref<E>, A> ||
    (std::is_void_v<E> && std::is_base_of_v<any_buffer_ref, A>) ||
    std::is_same_v<A, any_buffer_ref> ||
    std::is_same_v<A, owner<any_buffer_ref>> || std::is_same_v<A, rnl_buffer>;

// The argument of a launch whose parameters are not known.
template <class A> rnl_arg any_argument(const A &value)
{
    if constexpr (std::is_base_of_v<any_buffer_ref, A>)
        return rnl_arg_of_buffer(value.get());
    else
        return rnl_arg_of(value);
}

// The same for a parameter of type P.
template <class P, class A> rnl_arg argument(const A &value)
{
    using given = std::decay_t<A>;
    if constexpr (std::is_pointer_v<P>) {
        using element = std::remove_cv_t<std::remove_pointer_t<P>>;
        if constexpr (is_buffer_of<element, given>) {
            return any_argument(value);
        } else {
            static_assert(
                std::is_convertible_v<given, P>,
                "the kernel takes a pointer: give it a buffer of that "
                "element, or a pointer to it");
            const P pointer = value;
            return rnl_arg_of_pointer(pointer);
        }
    } else {
        static_assert(std::is_same_v<given, std::remove_cv_t<P>>,
                      "the argument's type is not that of the kernel's "
                      "parameter, and arguments are not converted");
        return rnl_arg_of(value);
    }
}

}  // namespace detail

class any_function_ref
    : public detail::object<rnl_function, rnl_function_retain,
                            rnl_function_release>
{
  public:
    using object::object;

    // Name, parameters and limits: rnl_function_get_info. The strings live as
    // long as the function.
    result<rnl_function_info> info() const
    {
        return detail::info_of(rnl_function_get_info, handle_);
    }
};

// A kernel. With a signature, `void(float *, int)`, the compiler checks the
// arguments of a launch; without one, the launch does.
template <class Signature = void> class function_ref : public any_function_ref
{
  public:
    using any_function_ref::any_function_ref;
};

template <class Signature = void>
using function = owner<function_ref<Signature>>;

class module_ref
    : public detail::object<rnl_module, rnl_module_retain, rnl_module_release>
{
  public:
    using object::object;

    // The kernel called `name`: rnl_module_function. The signature is the
    // caller's word; launches compare it with the kernel's parameters.
    template <class Signature = void>
    result<runnel::function<Signature>> function(const char *name) const
    {
        return detail::make<runnel::function<Signature>>(rnl_module_function,
                                                         handle_, name);
    }
    // The variable of that name, as a borrowed buffer that keeps the module,
    // with as many elements as it has room for.
    template <class T = unsigned char>
    result<buffer<T>> global(const char *name) const
    {
        rnl_buffer made = nullptr;
        size_t count = 0;
        rnl_status status = rnl_module_global(handle_, name, &made);
        if (status == RNL_OK)
            status = detail::count_in<T>(made, count);
        return detail::done(status, buffer<T>(made, count));
    }
    // The compiled code, to be saved and given to load_module later; lives as
    // long as the module.
    result<span<const unsigned char>> binary() const
    {
        const void *data = nullptr;
        size_t size = 0;
        rnl_status status = rnl_module_binary(handle_, &data, &size);
        return detail::done(
            status, span<const unsigned char>(
                        static_cast<const unsigned char *>(data), size));
    }
};

using module = owner<module_ref>;

RUNNEL_CPP_END

#endif
