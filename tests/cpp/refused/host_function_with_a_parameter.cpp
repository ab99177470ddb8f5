// expected: a host function takes an rnl_status, or nothing
#include <runnel/runnel.hpp>
void refused(const runnel::stream &s,
             const runnel::function<void(float *, int, float)> &k,
             const runnel::buffer<float> &b, const runnel::buffer<double> &d)
{
    (void)d;
    s.call([](const char *) {});
    (void)k;
    (void)b;
}
