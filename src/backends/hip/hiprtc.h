// Where hiprtc lies, and libamd_comgr, by which it compiles. The program
// runnel-hip-cc loads both: hiprtc may end its process.
#pragma once

// The file, for dlopen; NULL with the reason if there is no hiprtc. Looked for
// once.
const char *hiprtc_find(const char **out_reason);

// The file, or a name for the dynamic loader if none was found. Only after
// hiprtc was found. Looked for once.
const char *hiprtc_comgr(void);
