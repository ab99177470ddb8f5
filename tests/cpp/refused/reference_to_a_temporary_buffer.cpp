// expected: deleted
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(const runnel::context &c)
{
    runnel::buffer_ref<int> b = c.create_buffer<int>(1);
    (void)b;
}
