// expected: no matching
#include <memory>
#include <vector>
#include <runnel/runnel.hpp>
void refused(const runnel::stream &s, const runnel::buffer<float> &b)
{
    s.copy(b, std::vector<float>(8));
}
