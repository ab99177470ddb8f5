// The version of these headers and of the library.
//
// Within one major version, and while that is 0 within one minor version, a
// program built against an older header runs with a newer library: functions
// stay, structs only grow (`struct_size`), enum values keep their numbers.
#ifndef RUNNEL_VERSION_H
#define RUNNEL_VERSION_H

#include <runnel/base.h>

// The parts of the version.
#define RNL_VERSION_MAJOR 0
#define RNL_VERSION_MINOR 1
#define RNL_VERSION_PATCH 0

// A number that grows with every release: major * 10000 + minor * 100 + patch.
#define RNL_VERSION \
    (RNL_VERSION_MAJOR * 10000 + RNL_VERSION_MINOR * 100 + RNL_VERSION_PATCH)

RNL_BEGIN_DECLS

// The RNL_VERSION that the running library was built from. Never fails; may be
// called at any time, from any thread, inside callbacks too.
RNL_API int rnl_version(void);

RNL_END_DECLS

#endif
