// expected: private
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(const runnel::stream_ref &s)
{
    runnel::stream owner(s);
}
