// Owners of objects, and small values.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_OBJECT_HPP
#define RUNNEL_CPP_OBJECT_HPP

#include <runnel/cpp/error.hpp>

#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>

RUNNEL_CPP_BEGIN

// --- Owners ------------------------------------------------------------------

// Owns one reference to an object. `Ref` has the operations.
template <class Ref> class owner : public Ref
{
  public:
    using handle = typename Ref::handle;
    constexpr owner() noexcept = default;
    // Takes a reference over from the caller.
    explicit owner(handle taken) noexcept : Ref(taken)
    {
    }
    owner(owner &&other) noexcept : Ref(other.release())
    {
    }
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other)
            reset(other.release());
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
        return std::exchange(this->handle_, nullptr);
    }

    // Drops the reference, and takes another one over.
    void reset(handle taken = nullptr) noexcept
    {
        handle old = std::exchange(this->handle_, taken);
        if (old)
            Ref::release_handle(old);
    }
};

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

}  // namespace detail

// Another owner of the same object.
template <class Ref> result<owner<Ref>> share(const Ref &object)
{
    return detail::done(Ref::retain_handle(object.get()),
                        owner<Ref>(object.get()));
}

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
    explicit shape(size_t count, const char *site_file = __builtin_FILE(),
                   int site_line = __builtin_LINE()) noexcept
        : rnl_launch()
    {
        struct_size = sizeof(rnl_launch);
        threads = count ? count : 1;
        file = site_file;
        line = site_line;
    }
};

// A time limit; the default never ends.
class timeout
{
  public:
    constexpr timeout() noexcept = default;
    template <class Rep, class Period>
    constexpr timeout(std::chrono::duration<Rep, Period> limit) noexcept
        : ns_(limit <= limit.zero()
                  ? 0
                  : static_cast<uint64_t>(
                        std::chrono::duration_cast<std::chrono::nanoseconds>(
                            limit)
                            .count()))
    {
    }
    constexpr uint64_t ns() const noexcept
    {
        return ns_;
    }

  private:
    uint64_t ns_ = RNL_FOREVER;
};

// Elements in a row that somebody else owns: of a container with data() and
// size(), such as std::vector, std::array and std::span, or of an array.
template <class T> class span
{
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, size_t size) noexcept : data_(data), size_(size)
    {
    }
    template <size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N)
    {
    }
    template <class Container,
              class = std::enable_if_t<std::is_convertible_v<
                  decltype(std::declval<Container &>().data()), T *>>>
    constexpr span(Container &&container) noexcept
        : data_(container.data()), size_(container.size())
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
        return size_ * sizeof(T);
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
template <class T> constexpr rnl_element element_of() noexcept
{
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
