// Failures of runnel.hpp: the class error, and results.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_ERROR_HPP
#define RUNNEL_CPP_ERROR_HPP

#include <runnel/runnel.h>

#include <exception>
#include <string>
#include <utility>

// Without exceptions in the compiler there can only be results.
#if !defined(__cpp_exceptions) && !defined(RUNNEL_NO_EXCEPTIONS)
#define RUNNEL_NO_EXCEPTIONS
#endif

// A namespace of its own for each kind of code, so that files of all kinds can
// be linked together.
#ifndef RUNNEL_NO_EXCEPTIONS
#define RUNNEL_CPP_MODE with_exceptions
#elif defined(__cpp_exceptions)
#define RUNNEL_CPP_MODE with_results
#else
#define RUNNEL_CPP_MODE without_exceptions
#endif

#define RUNNEL_CPP_BEGIN             \
    namespace runnel                 \
    {                                \
    inline namespace RUNNEL_CPP_MODE \
    {
#define RUNNEL_CPP_END \
    }                  \
    }

RUNNEL_CPP_BEGIN

// A copy of rnl_error, for as long as it is wanted.
class error : public std::exception
{
  public:
    // The last failure of the calling thread.
    explicit error(rnl_status status) : status_(status)
    {
        const rnl_error *last = rnl_last_error();
        if (last->status != status) {
            message_ = rnl_status_text(status);
            return;
        }
        native_code_ = last->native_code;
        operation_ = last->operation;
        site_line_ = last->site_line;
        const std::pair<std::string *, const char *> texts[] = {
            {&message_, last->message},
            {&native_text_, last->native_text},
            {&function_, last->function},
            {&parameter_, last->parameter},
            {&object_, last->object},
            {&stream_, last->stream},
            {&operation_name_, last->operation_name},
            {&operation_label_, last->operation_label},
            {&site_file_, last->site_file},
            {&log_, last->log},
        };
        for (const auto &text : texts)
            *text.first = text.second ? text.second : "";
    }

    rnl_status status() const noexcept
    {
        return status_;
    }
    // One sentence. A text that does not apply is empty.
    const char *what() const noexcept override
    {
        return message_.c_str();
    }
    int64_t native_code() const noexcept
    {
        return native_code_;
    }
    const std::string &native_text() const noexcept
    {
        return native_text_;
    }
    const std::string &function() const noexcept
    {
        return function_;
    }
    const std::string &parameter() const noexcept
    {
        return parameter_;
    }
    const std::string &object() const noexcept
    {
        return object_;
    }
    const std::string &stream() const noexcept
    {
        return stream_;
    }
    uint64_t operation() const noexcept
    {
        return operation_;
    }
    const std::string &operation_name() const noexcept
    {
        return operation_name_;
    }
    const std::string &operation_label() const noexcept
    {
        return operation_label_;
    }
    const std::string &site_file() const noexcept
    {
        return site_file_;
    }
    int site_line() const noexcept
    {
        return site_line_;
    }
    const std::string &log() const noexcept
    {
        return log_;
    }

  private:
    rnl_status status_;
    int64_t native_code_ = 0;
    uint64_t operation_ = 0;
    int site_line_ = 0;
    std::string message_, native_text_, function_, parameter_, object_, stream_,
        operation_name_, operation_label_, site_file_, log_;
};

#ifdef RUNNEL_NO_EXCEPTIONS

template <class T> class result;

// RNL_OK, or the status of a failure; rnl_last_error has its details.
template <> class [[nodiscard]] result<void>
{
  public:
    result(rnl_status status) : status_(status)
    {
    }
    explicit operator bool() const noexcept
    {
        return status_ == RNL_OK;
    }
    rnl_status status() const noexcept
    {
        return status_;
    }

  private:
    rnl_status status_;
};

// A value beside the status: a default one after a failure.
template <class T> class [[nodiscard]] result : public result<void>
{
  public:
    using result<void>::result;
    result(T &&value) : result<void>(RNL_OK), value_(std::move(value))
    {
    }
    T &operator*() &noexcept
    {
        return value_;
    }
    const T &operator*() const &noexcept
    {
        return value_;
    }
    T &&operator*() &&noexcept
    {
        return std::move(value_);
    }
    T *operator->() noexcept
    {
        return &value_;
    }
    const T *operator->() const noexcept
    {
        return &value_;
    }

  private:
    T value_{};
};

#else

template <class T> using result = T;

#endif

namespace detail
{

#ifdef RUNNEL_NO_EXCEPTIONS

inline result<void> done(rnl_status status)
{
    return status;
}

template <class T> result<T> done(rnl_status status, T &&value)
{
    if (status != RNL_OK)
        return status;
    return std::forward<T>(value);
}

#else

[[noreturn, gnu::cold, gnu::noinline]] inline void fail(rnl_status status)
{
    throw error(status);
}

inline void done(rnl_status status)
{
    if (__builtin_expect(status != RNL_OK, 0))
        fail(status);
}

template <class T> T done(rnl_status status, T &&value)
{
    done(status);
    return std::forward<T>(value);
}

#endif

// A struct of options, or of information, with its size.
template <class T> T sized()
{
    T options{};
    options.struct_size = sizeof options;
    return options;
}

// A failure that this header finds. The thread's last error, which is older, is
// forgotten.
inline rnl_status failure(rnl_status status) noexcept
{
    rnl_last_error_clear();
    return status;
}

// Calls what may allocate. Compiled without exceptions, the standard library
// ends the process when it finds no memory.
template <class Function> bool try_allocate(Function &&allocate) noexcept
{
#ifdef __cpp_exceptions
    try {
        allocate();
    } catch (...) {
        return false;
    }
#else
    allocate();
#endif
    return true;
}

}  // namespace detail

RUNNEL_CPP_END

#endif
