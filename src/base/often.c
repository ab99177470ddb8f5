#include "base/often.h"

struct often often;
