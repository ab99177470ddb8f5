// Owners of objects, and small values.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_OBJECT_HPP
#define RUNNEL_CPP_OBJECT_HPP

#include <runnel/cpp/error.hpp>

#include <chrono>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

RUNNEL_CPP_BEGIN

// --- References and owners ---------------------------------------------------

template <class Ref> class owner;

namespace detail
{

// Holds a handle and owns nothing.
template <class Handle> class reference
{
  public:
    using handle = Handle;
    constexpr reference() noexcept = default;
    explicit constexpr reference(Handle object) noexcept : handle_(object)
    {
    }
    constexpr Handle get() const noexcept
    {
        return handle_;
    }
    explicit constexpr operator bool() const noexcept
    {
        return handle_;
    }

  protected:
    Handle handle_ = nullptr;
};

// The same for an object with a count of references. Is not assigned, since the
// left side could be an owner, and not made of a temporary owner, which ends.
template <class Handle, rnl_status (*Retain)(Handle),
          rnl_status (*Release)(Handle)>
class object : public reference<Handle>
{
  public:
    using reference<Handle>::reference;
    constexpr object() noexcept = default;
    constexpr object(const object &) noexcept = default;
    object &operator=(const object &) = delete;
    template <class Ref,
              class = std::enable_if_t<std::is_base_of_v<object, Ref>>>
    object(owner<Ref> &&) = delete;

  protected:
    static rnl_status retain(Handle handle) noexcept
    {
        return Retain(handle);
    }
    static rnl_status drop(Handle handle) noexcept
    {
        return Release(handle);
    }
    // How an owner is assigned.
    void set(const object &other) noexcept
    {
        this->handle_ = other.handle_;
    }
};

}  // namespace detail

// Another owner of the same object.
template <class Ref> result<owner<Ref>> share(const Ref &object);

// Owns one reference to an object. `Ref` has the operations.
template <class Ref> class owner : public Ref
{
  public:
    using handle = typename Ref::handle;
    // Made of a handle, it takes a reference over from the caller.
    using Ref::Ref;
    constexpr owner() noexcept = default;
    owner(owner &&other) noexcept : Ref(other)
    {
        other.release();
    }
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) {
            reset();
            this->set(other);
            other.release();
        }
        return *this;
    }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner()
    {
        reset();
    }

    // Gives the reference to the caller.
    handle release() noexcept
    {
        handle given = this->handle_;
        this->set(Ref());
        return given;
    }

    // Drops the reference.
    void reset() noexcept
    {
        if (*this)
            Ref::drop(release());
    }

  private:
    friend result<owner> share<Ref>(const Ref &object);
    explicit owner(const Ref &retained) noexcept : Ref(retained)
    {
    }
};

template <class Ref> result<owner<Ref>> share(const Ref &object)
{
    rnl_status status = owner<Ref>::retain(object.get());
    return detail::done(status, owner<Ref>(status == RNL_OK ? object : Ref()));
}
template <class Ref> result<owner<Ref>> share(const owner<Ref> &object)
{
    return share<Ref>(static_cast<const Ref &>(object));
}

namespace detail
{

// Makes an object by a C call whose last parameter is the new handle.
template <class Owner, class... P, class... A>
result<Owner> make(rnl_status (*call)(P...), A... arguments)
{
    typename Owner::handle made = nullptr;
    rnl_status status = call(arguments..., &made);
    return done(status, Owner(made));
}

// Reads a struct with `struct_size` by a C call.
template <class Info, class Handle>
result<Info> info_of(rnl_status (*call)(Handle, Info *), Handle handle)
{
    auto info = sized<Info>();
    rnl_status status = call(handle, &info);
    return done(status, std::move(info));
}

// The bytes of `count` elements. A product beyond all memory becomes the
// largest one below RNL_WHOLE, which the C calls refuse.
template <class T> constexpr size_t bytes_of(size_t count) noexcept
{
    constexpr size_t most = (SIZE_MAX - 1) / sizeof(T);
    return (count < most ? count : most) * sizeof(T);
}

}  // namespace detail

// --- Small values ------------------------------------------------------------

// Three extents; a missing one is 1.
struct dim3 : rnl_dim3 {
    constexpr dim3(uint32_t width, uint32_t height = 1,
                   uint32_t depth = 1) noexcept
        : rnl_dim3{width, height, depth}
    {
    }
};

// The shape of a launch: {{blocks}, {threads}}. The place where it is written
// is the launch's site in errors. Other fields are those of rnl_launch.
struct shape : rnl_launch {
    shape(dim3 grid_shape, dim3 block_shape, size_t dynamic_shared_size = 0,
          const char *site_file = __builtin_FILE(),
          int site_line = __builtin_LINE()) noexcept
        : rnl_launch{sizeof(rnl_launch),
                     {grid_shape.x, grid_shape.y, grid_shape.z},
                     {block_shape.x, block_shape.y, block_shape.z},
                     {0, 0, 0},
                     dynamic_shared_size,
                     nullptr,
                     0,
                     nullptr,
                     0,
                     nullptr,
                     site_file,
                     site_line,
                     0}
    {
    }

    // At least `count` threads; the library chooses grid and block, as for
    // RNL_LAUNCH_FOR. The kernel compares its index with the count.
    static shape for_threads(size_t count,
                             const char *site_file = __builtin_FILE(),
                             int site_line = __builtin_LINE()) noexcept
    {
        shape made(0, 0, 0, site_file, site_line);
        made.grid = made.block = {0, 0, 0};
        made.threads = count ? count : 1;
        return made;
    }
};

// A time limit, rounded up to nanoseconds; the default never ends, nor does one
// of some centuries.
class timeout
{
  public:
    constexpr timeout() noexcept = default;
    template <class Rep, class Period>
    constexpr timeout(std::chrono::duration<Rep, Period> limit) noexcept
        : ns_(rounded(std::chrono::duration<double, std::nano>(limit).count()))
    {
    }
    constexpr uint64_t ns() const noexcept
    {
        return ns_;
    }

  private:
    static constexpr uint64_t rounded(double ns) noexcept
    {
        if (!(ns > 0))
            return 0;
        if (ns >= 18e18)
            return RNL_FOREVER;
        auto whole = static_cast<uint64_t>(ns);
        return static_cast<double>(whole) < ns ? whole + 1 : whole;
    }

    uint64_t ns_ = RNL_FOREVER;
};

namespace detail
{

// If a row of U is a row of T: T may add const, and is no base class of U.
template <class U, class T>
using if_same_layout =
    std::enable_if_t<std::is_convertible_v<U (*)[], T (*)[]>>;

// Whether the elements of a C (for lvalues C &) outlive the expression: a view,
// which is made of a pointer and a size, does not own its elements.
template <class C, class U>
inline constexpr bool outlives = std::is_lvalue_reference_v<C> ||
                                 (std::is_class_v<C> &&
                                  std::is_trivially_copyable_v<C> &&
                                  std::is_constructible_v<C, U *, size_t>);

}  // namespace detail

// Elements in a row that somebody else owns: of a container with data() and
// size(), such as std::vector, std::array and std::span, or of an array. Of
// temporaries only views are taken.
template <class T> class span
{
  public:
    constexpr span() noexcept = default;
    template <class U, class = detail::if_same_layout<U, T>>
    constexpr span(U *data, size_t size) noexcept : data_(data), size_(size)
    {
    }
    template <class Container,
              class U = std::remove_pointer_t<
                  decltype(std::data(std::declval<Container &>()))>,
              class = detail::if_same_layout<U, T>,
              class = std::enable_if_t<detail::outlives<Container, U>>>
    constexpr span(Container &&container) noexcept
        : data_(std::data(container)), size_(std::size(container))
    {
    }
    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr size_t size() const noexcept
    {
        return size_;
    }
    constexpr size_t bytes() const noexcept
    {
        return detail::bytes_of<T>(size_);
    }
    constexpr T *begin() const noexcept
    {
        return data_;
    }
    constexpr T *end() const noexcept
    {
        return data_ + size_;
    }
    constexpr T &operator[](size_t i) const noexcept
    {
        return data_[i];
    }

  private:
    T *data_ = nullptr;
    size_t size_ = 0;
};

// The element that a launch compares with the kernel's parameter.
template <class Element> constexpr rnl_element element_of() noexcept
{
    using T = std::remove_cv_t<Element>;
    if constexpr (std::is_same_v<T, float>)
        return RNL_ELEMENT_FLOAT32;
    else if constexpr (std::is_same_v<T, double>)
        return RNL_ELEMENT_FLOAT64;
    else if constexpr (!std::is_integral_v<T>)
        return RNL_ELEMENT_UNKNOWN;
    else if constexpr (sizeof(T) == 1)
        return std::is_signed_v<T> ? RNL_ELEMENT_INT8 : RNL_ELEMENT_UINT8;
    else if constexpr (sizeof(T) == 2)
        return std::is_signed_v<T> ? RNL_ELEMENT_INT16 : RNL_ELEMENT_UINT16;
    else if constexpr (sizeof(T) == 4)
        return std::is_signed_v<T> ? RNL_ELEMENT_INT32 : RNL_ELEMENT_UINT32;
    else if constexpr (sizeof(T) == 8)
        return std::is_signed_v<T> ? RNL_ELEMENT_INT64 : RNL_ELEMENT_UINT64;
    else
        return RNL_ELEMENT_UNKNOWN;
}

RUNNEL_CPP_END

#endif
