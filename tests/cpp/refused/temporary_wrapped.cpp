// expected: no matching|cannot convert
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(const runnel::context &c)
{
    c.wrap<float>(std::vector<float>(8));
}
