// runnel.hpp with results in a file that has exceptions.
#define RUNNEL_NO_EXCEPTIONS
#include <runnel/runnel.hpp>

#include "cpp_results.hpp"

#include <cstdlib>
#include <functional>
#include <new>

static bool memory_is_full;

// Weak, as those of a sanitizer may come first.
[[gnu::weak]] void *operator new(size_t size, const std::nothrow_t &) noexcept
{
    return memory_is_full ? nullptr : std::malloc(size);
}

[[gnu::weak]] void *operator new(size_t size)
{
    void *memory = operator new(size, std::nothrow);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

[[gnu::weak]] void operator delete(void *memory) noexcept
{
    std::free(memory);
}

[[gnu::weak]] void operator delete(void *memory, size_t) noexcept
{
    std::free(memory);
}

bool fill_memory(bool full)
{
    memory_is_full = full;
    void *memory = operator new(1, std::nothrow);
    operator delete(memory);
    return !memory == full;
}

rnl_status devices_status()
{
    return runnel::devices("cpu").status();
}

namespace
{

// Made by this file alone, so that MemorySanitizer knows all of it.
struct disk_is_full : std::exception {
    const char *what() const noexcept override
    {
        return "the disk is full";
    }
};

}  // namespace

rnl_status enqueue_throw(rnl_stream stream)
{
    std::function<void()> fail = [] { throw disk_is_full(); };
    return runnel::stream_ref(stream).call(fail).status();
}
