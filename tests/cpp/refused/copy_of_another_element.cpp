// expected: no matching
#include <runnel/runnel.hpp>
void refused(const runnel::stream &s, const runnel::buffer<float> &b,
             const std::vector<double> &v)
{
    s.copy(b, v);
}
