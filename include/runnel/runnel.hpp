// Runnel for C++17: owners of objects, typed buffers and launches, functions
// and lambdas as host functions, and captures as scopes. Header only.
//
//   runnel::context context = runnel::context::open();
//   runnel::stream stream = context.create_stream();
//   auto scale = context.compile<void(float *, int, float)>(source, "scale");
//   auto data = context.create_buffer<float>(1024);
//   stream.copy(data, host);                    // host: std::vector<float>
//   stream.launch(scale, {{4}, {256}}, data, 1024, 2.0f);
//   stream.copy(host, data);
//   stream.synchronize();
//
// Names     Each object has a reference class, `stream_ref`, that owns nothing
//           and has all operations, and an owner, `stream`, that can be moved
//           and releases its handle at its end. A reference is neither
//           assigned nor made of a temporary owner. get() gives the C handle:
//           every function of the C headers can be called beside these. What
//           the C headers say of a call holds here.
// Errors    A failure throws runnel::error, which has all of rnl_error. With
//           RUNNEL_NO_EXCEPTIONS defined before the header, or exceptions
//           turned off, functions return runnel::result<T> instead, which has
//           the value or the status, and nothing here throws.
// Cost      A launch takes no instruction more than the same call in C.
// Threads   Those of the C calls. An owner itself is changed by one thread.
#ifndef RUNNEL_RUNNEL_HPP
#define RUNNEL_RUNNEL_HPP

#include <runnel/cpp/context.hpp>

#endif
