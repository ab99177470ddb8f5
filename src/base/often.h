// What every launch goes through lies together: behind a driver's call its
// cache lines and pages are cold, and each costs a launch.
#pragma once

// Variables that are read often and seldom written.
#define READ_OFTEN __attribute__((section("runnel_often")))

// Functions.
#define RUN_OFTEN __attribute__((hot))
