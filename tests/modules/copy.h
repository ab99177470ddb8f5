// One of several copies of the library in a process, with a kernel of its own.
#pragma once

// 0, or the number of the line that went wrong.
int copy_open(void);
int copy_run(void);
int copy_close(void);
