// Variables that every launch reads and that are seldom written share a cache
// line: behind a driver's call those lines are cold, and each costs a launch.
#pragma once

#define READ_OFTEN __attribute__((section("runnel_often")))
