// The results of a run, as tables for people and as JSON for programs.
#pragma once

#include "harness.h"
#include "machine.h"

void report_header(const bench_run *bench, const bench_machine *machine);

// Rows are reported as soon as they are measured, so a run that stops loses
// none.
void report_titles(void);
void report_row(const bench_row *row);
void report_end_of_rows(void);

void report_goals(const bench_run *bench);

// False with a sentence on standard error when the file cannot be written.
bool report_json(const bench_run *bench, const bench_machine *machine,
                 const char *path);
