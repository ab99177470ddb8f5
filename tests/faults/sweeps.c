// The sweeps: each group of scenarios with each kind of fault.
#include "sweep.h"

RNL_TEST(objects_survive_failed_allocations)
{
    sweep_memory(object_scenarios);
}

RNL_TEST(memory_survives_failed_allocations)
{
    sweep_memory(memory_scenarios);
}

RNL_TEST(copies_survive_failed_allocations)
{
    sweep_memory(copy_scenarios);
}

RNL_TEST(work_survives_failed_allocations)
{
    sweep_memory(work_scenarios);
}

RNL_TEST(graphs_survive_failed_allocations)
{
    sweep_memory(graph_scenarios);
}

RNL_TEST(captures_survive_failed_allocations)
{
    sweep_memory(capture_scenarios);
}

RNL_TEST(modules_survive_failed_allocations)
{
    sweep_memory(module_scenarios);
}

RNL_TEST(queries_survive_failed_allocations)
{
    sweep_memory(query_scenarios);
}

RNL_TEST(objects_survive_failed_thread_starts)
{
    sweep_threads(object_scenarios);
}

RNL_TEST(memory_survives_failed_thread_starts)
{
    sweep_threads(memory_scenarios);
}

RNL_TEST(copies_survive_failed_thread_starts)
{
    sweep_threads(copy_scenarios);
}

RNL_TEST(work_survives_failed_thread_starts)
{
    sweep_threads(work_scenarios);
}

RNL_TEST(graphs_survive_failed_thread_starts)
{
    sweep_threads(graph_scenarios);
}

RNL_TEST(captures_survive_failed_thread_starts)
{
    sweep_threads(capture_scenarios);
}

RNL_TEST(modules_survive_failed_thread_starts)
{
    sweep_threads(module_scenarios);
}

RNL_TEST(queries_survive_failed_thread_starts)
{
    sweep_threads(query_scenarios);
}

RNL_TEST(objects_survive_failed_system_calls)
{
    sweep_system(object_scenarios);
}

RNL_TEST(memory_survives_failed_system_calls)
{
    sweep_system(memory_scenarios);
}

RNL_TEST(copies_survive_failed_system_calls)
{
    sweep_system(copy_scenarios);
}

RNL_TEST(work_survives_failed_system_calls)
{
    sweep_system(work_scenarios);
}

RNL_TEST(graphs_survive_failed_system_calls)
{
    sweep_system(graph_scenarios);
}

RNL_TEST(captures_survive_failed_system_calls)
{
    sweep_system(capture_scenarios);
}

RNL_TEST(modules_survive_failed_system_calls)
{
    sweep_system(module_scenarios);
}

RNL_TEST(queries_survive_failed_system_calls)
{
    sweep_system(query_scenarios);
}

RNL_TEST(objects_survive_pairs_of_faults)
{
    sweep_pairs(object_scenarios);
}

RNL_TEST(memory_survives_pairs_of_faults)
{
    sweep_pairs(memory_scenarios);
}

RNL_TEST(copies_survive_pairs_of_faults)
{
    sweep_pairs(copy_scenarios);
}

RNL_TEST(work_survives_pairs_of_faults)
{
    sweep_pairs(work_scenarios);
}

RNL_TEST(graphs_survive_pairs_of_faults)
{
    sweep_pairs(graph_scenarios);
}

RNL_TEST(captures_survive_pairs_of_faults)
{
    sweep_pairs(capture_scenarios);
}

RNL_TEST(modules_survive_pairs_of_faults)
{
    sweep_pairs(module_scenarios);
}

RNL_TEST(queries_survive_pairs_of_faults)
{
    sweep_pairs(query_scenarios);
}
