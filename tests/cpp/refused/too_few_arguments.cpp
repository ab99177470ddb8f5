// expected: the kernel has another number of parameters
#include <runnel/runnel.hpp>
void refused(const runnel::stream &s,
             const runnel::function<void(float *, int, float)> &k,
             const runnel::buffer<float> &b, const runnel::buffer<double> &d)
{
    (void)d;
    s.launch(k, {{1}, {1}}, b, 1);
}
