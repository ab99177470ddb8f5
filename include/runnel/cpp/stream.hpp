// Streams, host functions and captures.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_STREAM_HPP
#define RUNNEL_CPP_STREAM_HPP

#include <runnel/cpp/function.hpp>
#include <runnel/cpp/graph.hpp>

#include <new>

RUNNEL_CPP_BEGIN

namespace detail
{

// A callable as a host function's user data.
template <class Callable> struct host_function {
    Callable callable;

    static void call(rnl_status status, void *self)
    {
        Callable &callable = static_cast<host_function *>(self)->callable;
#ifdef __cpp_exceptions
        try {
            run(callable, status);
        } catch (const std::exception &thrown) {
            const char *text = thrown.what();
            rnl_host_function_fail(text ? text : "an exception without text");
        } catch (...) {
            rnl_host_function_fail("the host function threw an exception that "
                                   "is no std::exception");
        }
#else
        run(callable, status);
#endif
    }

    static void run(Callable &callable, rnl_status status)
    {
        if constexpr (std::is_invocable_v<Callable &, rnl_status>)
            callable(status);
        else if (status == RNL_OK)
            callable();
    }

    static void destroy(void *self)
    {
        delete static_cast<host_function *>(self);
    }
};

// Calls a function, and gives the status if it returns one, or a result.
template <class Function> rnl_status run(Function &&function)
{
    using returned = std::invoke_result_t<Function>;
    if constexpr (std::is_same_v<returned, rnl_status>) {
        return std::forward<Function>(function)();
    } else if constexpr (std::is_class_v<returned> &&
                         std::is_convertible_v<returned, result<void>>) {
        return std::forward<Function>(function)().status();
    } else {
        (void)std::forward<Function>(function)();
        return RNL_OK;
    }
}

}  // namespace detail

class stream_ref
    : public detail::object<rnl_stream, rnl_stream_retain, rnl_stream_release>
{
  public:
    using object::object;

    // --- launches

    // Arguments have the types of the kernel's parameters: a buffer<T>, or a
    // pointer, for a T *.
    template <class... P, class... A>
    result<void> launch(const function_ref<void(P...)> &kernel,
                        const shape &how, const A &...arguments) const
    {
        static_assert(sizeof...(P) == sizeof...(A),
                      "the kernel has another number of parameters");
        if constexpr (sizeof...(P) == sizeof...(A))
            return enqueue(kernel, how, detail::argument<P>(arguments)...);
    }
    template <class... A>
    result<void> launch(const function_ref<void> &kernel, const shape &how,
                        const A &...arguments) const
    {
        return enqueue(kernel, how, detail::any_argument(arguments)...);
    }
    // Launches of one executable graph never overlap.
    result<void> launch(const graph_exec_ref &exec) const
    {
        return detail::done(rnl_enqueue_graph(handle_, exec.get()));
    }

    // --- copies and fills: all of the source, to the begin of the destination.
    // Host memory must live until the copy is done.

    template <class T>
    result<void> copy(const buffer_ref<T> &to,
                      span<const std::common_type_t<T>> from) const
    {
        return detail::done(rnl_enqueue_copy_to_buffer(
            handle_, to.get(), 0, from.data(), from.bytes()));
    }
    template <class T>
    result<void> copy(span<std::common_type_t<T>> to,
                      const buffer_ref<T> &from) const
    {
        // The C call does not know the size of host memory.
        if (to.size() < from.size())
            return detail::done(detail::failure(RNL_ERROR_OUT_OF_RANGE));
        return detail::done(rnl_enqueue_copy_from_buffer(
            handle_, to.data(), from.get(), 0, from.bytes()));
    }
    template <class T>
    result<void> copy(const buffer_ref<T> &to, const buffer_ref<T> &from) const
    {
        return detail::done(rnl_enqueue_copy_buffer(
            handle_, to.get(), 0, from.get(), 0, from.bytes()));
    }
    // Sets each element to `value`.
    template <class T>
    result<void> fill(const buffer_ref<T> &to,
                      const std::common_type_t<T> &value) const
    {
        static_assert(sizeof(T) <= 8, "a fill's pattern has at most 8 bytes");
        uint64_t pattern = 0;
        __builtin_memcpy(&pattern, &value, sizeof value);
        return detail::done(rnl_enqueue_fill(handle_, to.get(), 0, to.bytes(),
                                             pattern, sizeof value));
    }

    // --- order

    // A new event, recorded here: complete when all work so far is.
    result<event> record(const rnl_event_options *options = nullptr) const
    {
        return detail::make<event>(rnl_enqueue_event, handle_, options);
    }
    // Records an event again, or a promise for the first time.
    result<void> record(const event_ref &point) const
    {
        return detail::done(rnl_enqueue_event_record(handle_, point.get()));
    }
    // Later work waits for what the event stands for now.
    result<void> wait(const event_ref &point) const
    {
        return detail::done(rnl_enqueue_wait_event(handle_, point.get()));
    }
    // Later work waits for all work submitted to `other` so far.
    result<void> wait(const stream_ref &other) const
    {
        return detail::done(rnl_enqueue_wait_stream(handle_, other.get()));
    }
    // Stores `value` in words[index] in stream order.
    result<void> write_value(const buffer_ref<uint32_t> &words, size_t index,
                             uint32_t value) const
    {
        return detail::done(rnl_enqueue_write_value32(
            handle_, words.get(), detail::bytes_of<uint32_t>(index), value));
    }
    // Later work waits until words[index] fits; the default condition is
    // cyclic: (int32_t)(words[index] - value) >= 0.
    result<void> wait_value(const buffer_ref<uint32_t> &words, size_t index,
                            uint32_t value,
                            rnl_value_action condition = RNL_WAIT_GEQ) const
    {
        return detail::done(rnl_enqueue_wait_value32(
            handle_, words.get(), detail::bytes_of<uint32_t>(index), value,
            condition));
    }

    // Calls `callable` on a thread of the library, in stream order, and ends it
    // there or with the last graph that has it. It may not call Runnel. It is
    // called with the stream's status if it takes that, and else only on a
    // stream that has not failed. An exception fails the stream.
    template <class Callable>
    result<void> call(Callable &&callable, const char *label = nullptr) const
    {
        using held = detail::host_function<std::decay_t<Callable>>;
        static_assert(
            std::is_invocable_v<std::decay_t<Callable> &, rnl_status> ||
                std::is_invocable_v<std::decay_t<Callable> &>,
            "a host function takes an rnl_status, or nothing");
        held *copy = new (std::nothrow) held{std::forward<Callable>(callable)};
        if (!copy)
            return detail::done(detail::failure(RNL_ERROR_OUT_OF_MEMORY));
        auto host = detail::sized<rnl_host_call>();
        host.function = held::call;
        host.user_data = copy;
        host.destroy = held::destroy;
        host.label = label;
        rnl_status status = rnl_enqueue_host_call(handle_, &host);
        if (status != RNL_OK)
            delete copy;
        return detail::done(status);
    }

    // --- state

    // Id, priority, flags and label: rnl_stream_get_info.
    result<rnl_stream_info> info() const
    {
        return detail::info_of(rnl_stream_get_info, handle_);
    }
    // Whether all work is done.
    result<bool> query() const
    {
        rnl_status status = rnl_stream_query(handle_);
        bool done = status == RNL_OK;
        return detail::done(status == RNL_NOT_READY ? RNL_OK : status,
                            std::move(done));
    }
    // Submits what a batched stream has collected.
    result<void> flush() const
    {
        return detail::done(rnl_stream_flush(handle_));
    }
    // Blocks until all work submitted before is done, or RNL_ERROR_TIMED_OUT,
    // which leaves the stream as it was. Gives the failure of the stream.
    result<void> synchronize(timeout limit = {}) const
    {
        return detail::done(rnl_stream_synchronize(handle_, limit.ns()));
    }
    // Waits, then forgets the failure, so that the stream can be used again.
    result<void> reset_and_wait() const
    {
        return detail::done(rnl_stream_reset_and_wait(handle_));
    }
    // Ends what is in flight, and does not block: rnl_stream_cancel.
    result<void> cancel() const
    {
        return detail::done(rnl_stream_cancel(handle_));
    }

    // Captures what `function` enqueues. If `function` throws, or returns
    // a failed result or status, the capture ends, the graph is dropped and the
    // failure goes on.
    template <class Function>
    result<graph> capture(Function &&function,
                          const rnl_capture_options *options = nullptr) const;

  private:
    template <class... Arg>
    result<void> enqueue(const any_function_ref &kernel, const shape &how,
                         const Arg &...arguments) const
    {
        if constexpr (sizeof...(Arg) == 0) {
            return detail::done(
                rnl_enqueue_function(handle_, kernel.get(), &how, nullptr));
        } else {
            const rnl_arg items[] = {arguments...};
            const rnl_args all = {sizeof all, sizeof...(Arg), items};
            return detail::done(
                rnl_enqueue_function(handle_, kernel.get(), &how, &all));
        }
    }
};

using stream = owner<stream_ref>;

// A capture that lasts as long as the scope: what is enqueued meanwhile becomes
// nodes. Without end() they are dropped.
class capture
{
  public:
    explicit capture(const stream_ref &captured,
                     const rnl_capture_options *options = nullptr)
        : stream_(captured.get()),
          status_(rnl_stream_begin_capture(captured.get(), options))
    {
#ifndef RUNNEL_NO_EXCEPTIONS
        detail::done(status_);
#endif
    }
    capture(const capture &) = delete;
    capture &operator=(const capture &) = delete;
    ~capture()
    {
        rnl_graph dropped = nullptr;
        if (stream_ && status_ == RNL_OK &&
            rnl_stream_end_capture(stream_, &dropped) == RNL_OK)
            rnl_graph_release(dropped);
    }
    // Whether the capture began, where nothing throws.
    rnl_status status() const noexcept
    {
        return status_;
    }

    // The graph; or, if `body` is a failure, that one. Once.
    result<graph> end(rnl_status body = RNL_OK)
    {
        rnl_graph made = nullptr;
        rnl_stream ended = std::exchange(stream_, nullptr);
        rnl_status status =
            status_ == RNL_OK ? rnl_stream_end_capture(ended, &made) : status_;
        return detail::done(status == RNL_OK ? body : status, graph(made));
    }

  private:
    rnl_stream stream_;
    rnl_status status_;
};

template <class Function>
result<graph> stream_ref::capture(Function &&function,
                                  const rnl_capture_options *options) const
{
    runnel::capture scope(*this, options);
    rnl_status body = RNL_OK;
    if (scope.status() == RNL_OK)
        body = detail::run(std::forward<Function>(function));
    return scope.end(body);
}

RUNNEL_CPP_END

#endif
