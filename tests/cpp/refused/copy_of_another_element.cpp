// expected: no matching
#include <runnel/runnel.hpp>
void refused(const runnel::stream &s,
             const runnel::function<void(float *, int, float)> &k,
             const runnel::buffer<float> &b, const runnel::buffer<double> &d)
{
    (void)d;
    s.copy(b, std::vector<double>(1));
    (void)k;
}
