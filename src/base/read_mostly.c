#include "base/read_mostly.h"

struct read_mostly read_mostly;
