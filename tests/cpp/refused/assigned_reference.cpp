// expected: deleted
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(runnel::stream &a, const runnel::stream &b)
{
    runnel::stream_ref &r = a;
    r = b;
}
