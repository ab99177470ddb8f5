// expected: deleted|delete
#include <runnel/runnel.hpp>
void refused(const runnel::stream &s,
             const runnel::function<void(float *, int, float)> &k,
             const runnel::buffer<float> &b, const runnel::buffer<double> &d)
{
    (void)d;
    runnel::buffer<float> copy = b;
    (void)s;
    (void)k;
}
