// expected: deleted
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(const runnel::context &c)
{
    runnel::stream_ref s = c.create_stream();
    (void)s;
}
