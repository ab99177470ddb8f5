// Buffers of elements.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_BUFFER_HPP
#define RUNNEL_CPP_BUFFER_HPP

#include <runnel/cpp/object.hpp>

RUNNEL_CPP_BEGIN

template <class T> class buffer_ref;
template <class T> using buffer = owner<buffer_ref<T>>;

namespace detail
{

// How many whole elements a buffer has.
template <class T> rnl_status count_in(rnl_buffer buffer, size_t &count)
{
    auto info = sized<rnl_buffer_info>();
    rnl_status status = rnl_buffer_get_info(buffer, &info);
    count = info.size / sizeof(T);
    return status;
}

}  // namespace detail

// A buffer of any elements.
class any_buffer_ref
    : public detail::object<rnl_buffer, rnl_buffer_retain, rnl_buffer_release>
{
  public:
    using object::object;

    // The same buffer as elements of type T, as many as it has room for. Owns
    // nothing: not for temporaries, which can be owners.
    template <class T> result<buffer_ref<T>> as() const &
    {
        size_t count = 0;
        rnl_status status = detail::count_in<T>(handle_, count);
        return detail::done(status, buffer_ref<T>(handle_, count));
    }
    template <class T> result<buffer_ref<T>> as() const && = delete;
    // Size, place and flags: rnl_buffer_get_info.
    result<rnl_buffer_info> info() const
    {
        return detail::info_of(rnl_buffer_get_info, handle_);
    }
    // The bytes, where the host can reach them; RNL_ERROR_UNSUPPORTED where it
    // cannot. Does not wait for work in flight.
    result<void *> host_pointer() const
    {
        void *pointer = nullptr;
        rnl_status status = rnl_buffer_host_pointer(handle_, &pointer);
        return detail::done(status, std::move(pointer));
    }
};

// A buffer of `size()` elements of a type that can be copied byte by byte.
template <class T> class buffer_ref : public any_buffer_ref
{
    static_assert(std::is_trivially_copyable_v<T>,
                  "the elements of a buffer are copied byte by byte");

  public:
    using element = T;
    constexpr buffer_ref() noexcept = default;
    constexpr buffer_ref(rnl_buffer buffer, size_t size) noexcept
        : any_buffer_ref(buffer), size_(size)
    {
    }
    buffer_ref(owner<buffer_ref> &&) = delete;
    constexpr size_t size() const noexcept
    {
        return size_;
    }
    constexpr size_t bytes() const noexcept
    {
        return detail::bytes_of<T>(size_);
    }
    // The elements, where the host can reach them; like host_pointer().
    result<span<T>> host() const
    {
        void *pointer = nullptr;
        rnl_status status = rnl_buffer_host_pointer(handle_, &pointer);
        return detail::done(status, span<T>(static_cast<T *>(pointer), size_));
    }
    // `count` elements from `first` on, in the same memory.
    result<buffer<T>> slice(size_t first, size_t count) const
    {
        rnl_buffer part = nullptr;
        rnl_status status =
            rnl_buffer_slice(handle_, detail::bytes_of<T>(first),
                             detail::bytes_of<T>(count), &part);
        return detail::done(status, buffer<T>(part, count));
    }

  protected:
    void set(const buffer_ref &other) noexcept
    {
        any_buffer_ref::set(other);
        size_ = other.size_;
    }

  private:
    size_t size_ = 0;
};

RUNNEL_CPP_END

#endif
