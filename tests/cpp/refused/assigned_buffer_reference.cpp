// expected: deleted
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(runnel::buffer<int> &a, const runnel::buffer<int> &b)
{
    runnel::buffer_ref<int> &r = a;
    r = b;
}
