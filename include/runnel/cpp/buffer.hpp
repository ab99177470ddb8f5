// Buffers of elements.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_BUFFER_HPP
#define RUNNEL_CPP_BUFFER_HPP

#include <runnel/cpp/object.hpp>

RUNNEL_CPP_BEGIN

class any_buffer_ref
    : public detail::object<rnl_buffer, rnl_buffer_retain, rnl_buffer_release>
{
  public:
    using object::object;

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
    constexpr size_t size() const noexcept
    {
        return size_;
    }
    constexpr size_t bytes() const noexcept
    {
        return size_ * sizeof(T);
    }
    // The elements, where the host can reach them; like host_pointer().
    result<span<T>> host() const
    {
        void *pointer = nullptr;
        rnl_status status = rnl_buffer_host_pointer(handle_, &pointer);
        return detail::done(status, span<T>(static_cast<T *>(pointer), size_));
    }

  protected:
    size_t size_ = 0;
};

template <class T> class buffer : public buffer_ref<T>
{
  public:
    constexpr buffer() noexcept = default;
    // Takes a reference over from the caller.
    buffer(rnl_buffer taken, size_t size) noexcept : buffer_ref<T>(taken, size)
    {
    }
    buffer(buffer &&other) noexcept
        : buffer_ref<T>(std::exchange(other.handle_, nullptr),
                        std::exchange(other.size_, 0))
    {
    }
    buffer &operator=(buffer &&other) noexcept
    {
        std::swap(this->handle_, other.handle_);
        std::swap(this->size_, other.size_);
        return *this;
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer()
    {
        reset();
    }
    // Drops the reference; never blocks. Work in flight keeps the memory.
    void reset() noexcept
    {
        rnl_buffer old = std::exchange(this->handle_, nullptr);
        this->size_ = 0;
        if (old)
            rnl_buffer_release(old);
    }
    // `count` elements from `first` on, in the same memory.
    result<buffer> slice(size_t first, size_t count) const
    {
        rnl_buffer part = nullptr;
        bool fits = first <= this->size_ && count <= this->size_ - first;
        // Elements beyond the end as bytes beyond the end: the C call refuses.
        rnl_status status =
            fits ? rnl_buffer_slice(this->handle_, first * sizeof(T),
                                    count * sizeof(T), &part)
                 : rnl_buffer_slice(this->handle_, SIZE_MAX - 1, 1, &part);
        return detail::done(status, buffer(part, count));
    }
};

RUNNEL_CPP_END

#endif
