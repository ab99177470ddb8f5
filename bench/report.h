// What a run found, as tables for people and as JSON for programs.
#pragma once

#include "harness.h"
#include "machine.h"

void report_header(const bench_run *bench, const bench_machine *machine);
void report_rows(const bench_run *bench);
void report_goals(const bench_run *bench);

// False with a sentence on standard error when the file cannot be written.
bool report_json(const bench_run *bench, const bench_machine *machine,
                 const char *path);
