#include "build.h"
