// expected: deleted
#include <runnel/runnel.hpp>
void refused(const runnel::module &m)
{
    auto table = m.global("table").as<int>();
    (void)table;
}
