// Devices and contexts.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_CONTEXT_HPP
#define RUNNEL_CPP_CONTEXT_HPP

#include <runnel/cpp/stream.hpp>

#include <vector>

RUNNEL_CPP_BEGIN

// A device that is present; it is not opened and has nothing to release.
class device : public detail::reference<rnl_device>
{
  public:
    using reference::reference;

    // Name, memory and limits: rnl_device_get_info.
    result<rnl_device_info> info() const
    {
        return detail::info_of(rnl_device_get_info, handle_);
    }
};

// The devices of `api`, or all of them, best first.
inline result<std::vector<device>> devices(const char *api = nullptr)
{
    std::vector<device> all;
    size_t count = 0;
    rnl_status status = rnl_device_count(api, &count);
    if (!detail::try_allocate([&] { all.resize(count); }))
        status = detail::failure(RNL_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; status == RNL_OK && i < count; i++) {
        rnl_device found = nullptr;
        status = rnl_device_get(api, i, &found);
        all[i] = device(found);
    }
    return detail::done(status, std::move(all));
}

class context_ref : public detail::object<rnl_context, rnl_context_retain,
                                          rnl_context_release>
{
  public:
    using object::object;

    // Device `index` of `api`; the best one that is present by default.
    static result<owner<context_ref>>
    open(const char *api = nullptr, size_t index = 0,
         const rnl_context_options *options = nullptr)
    {
        return detail::make<owner<context_ref>>(rnl_context_open, api, index,
                                                options);
    }
    static result<owner<context_ref>>
    create(device device, const rnl_context_options *options = nullptr)
    {
        return detail::make<owner<context_ref>>(rnl_context_create,
                                                device.get(), options);
    }

    // The stream that every context has; it belongs to the context.
    result<stream_ref> default_stream() const
    {
        return detail::make<stream_ref>(rnl_context_default_stream, handle_);
    }
    result<stream>
    create_stream(const rnl_stream_options *options = nullptr) const
    {
        return detail::make<stream>(rnl_stream_create, handle_, options);
    }
    result<event> create_event(const rnl_event_options *options = nullptr) const
    {
        return detail::make<event>(rnl_event_create, handle_, options);
    }
    // An event that is waited for before it is recorded.
    result<event> create_promise() const
    {
        auto options = detail::sized<rnl_event_options>();
        options.promise = true;
        return create_event(&options);
    }
    // `options` without an element gets that of T.
    template <class T>
    result<buffer<T>>
    create_buffer(size_t size,
                  const rnl_buffer_options *options = nullptr) const
    {
        rnl_buffer_options own =
            options ? *options : detail::sized<rnl_buffer_options>();
        if (own.element == RNL_ELEMENT_UNKNOWN)
            own.element = element_of<T>();
        rnl_buffer made = nullptr;
        rnl_status status =
            rnl_buffer_create(handle_, detail::bytes_of<T>(size), &own, &made);
        return detail::done(status, buffer<T>(made, size));
    }
    // A buffer of host memory that outlives it and its work: rnl_buffer_wrap.
    template <class T> result<buffer<T>> wrap(span<T> memory) const
    {
        rnl_buffer made = nullptr;
        rnl_status status = rnl_buffer_wrap(handle_, memory.data(),
                                            memory.bytes(), nullptr, &made);
        return detail::done(status, buffer<T>(made, memory.size()));
    }
    // An empty graph.
    result<graph> create_graph(const rnl_graph_options *options = nullptr) const
    {
        return detail::make<graph>(rnl_graph_create, handle_, options);
    }
    result<module>
    compile_module(const char *source,
                   const rnl_module_options *options = nullptr) const
    {
        return detail::make<module>(rnl_module_compile, handle_, source,
                                    options);
    }
    // `binary`: a container, a view or an array of unsigned char.
    template <class Bytes>
    result<module> load_module(const Bytes &binary,
                               const char *label = nullptr) const
    {
        span<const unsigned char> bytes(binary);
        return detail::make<module>(rnl_module_load, handle_, bytes.data(),
                                    bytes.size(), label);
    }
    // One kernel of a source; the second time from the cache in memory.
    template <class Signature = void>
    result<function<Signature>>
    compile(const char *source, const char *name,
            const rnl_module_options *options = nullptr) const
    {
        return detail::make<function<Signature>>(rnl_function_compile, handle_,
                                                 source, name, options);
    }
    // Whether the context can do `feature`.
    bool supports(rnl_feature feature) const noexcept
    {
        return rnl_context_supports(handle_, feature, nullptr) == RNL_OK;
    }
    // Blocks until all work submitted to any stream of the context is done.
    result<void> synchronize(timeout limit = {}) const
    {
        return detail::done(rnl_context_synchronize(handle_, limit.ns()));
    }
};

using context = owner<context_ref>;

RUNNEL_CPP_END

#endif
