// Resolves and checks the cluster of a launch: the launch's own or the kernel's
// __cluster_dims__.
#include "core/module/function.h"
#include "core/module/launch.h"
#include "core/object/context_object.h"
#include "core/stream/op.h"

static rnl_status refuse_other(const struct function *function,
                               const rnl_dim3 *given)
{
    const rnl_dim3 *own = &function->info.cluster;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "cluster",
                   "a cluster of %u x %u x %u is asked for, but %s is made for "
                   "%u x %u x %u by its __cluster_dims__; leave 'cluster' zero "
                   "to have these",
                   given->x, given->y, given->z, function->name, own->x, own->y,
                   own->z);
}

static rnl_status check(const struct op_kernel *kernel)
{
    struct context *context = kernel->function->object.context;
    const rnl_device_info *info = &context->device->info;
    const rnl_dim3 *c = &kernel->cluster, *grid = &kernel->grid;
    uint64_t blocks = (uint64_t)c->x * c->y * c->z;
    uint32_t most = info->max_cluster_blocks ? info->max_cluster_blocks : 1;
    if (blocks > most)
        return fail_at(most > 1 ? RNL_ERROR_INVALID_ARGUMENT
                                : RNL_ERROR_UNSUPPORTED,
                       "cluster",
                       "a cluster of %llu blocks is asked for; the device can "
                       "have %u",
                       (unsigned long long)blocks, most);
    rnl_status status =
        blocks > 1 ? context_need(context, RNL_FEATURE_CLUSTERS, "cluster",
                                  "clusters are") : RNL_OK;
    if (status != RNL_OK)
        return status;
    if (grid->x % c->x || grid->y % c->y || grid->z % c->z)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "cluster",
                       "the grid %u x %u x %u is not divisible by the cluster "
                       "%u x %u x %u",
                       grid->x, grid->y, grid->z, c->x, c->y, c->z);
    return RNL_OK;
}

rnl_status cluster_take(const struct function *function, const rnl_dim3 *given,
                        struct op_kernel *kernel)
{
    const rnl_dim3 *own = &function->info.cluster;
    rnl_dim3 cluster = dim_with_axes(given);
    cluster.x += cluster.x == 0;
    bool is_given = (given->x | given->y | given->z) != 0;
    if (own->x > 0 && is_given && !dim_is_same(&cluster, own))
        return refuse_other(function, &cluster);
    if (own->x > 0)
        cluster = *own;
    if (function->native_fn && (cluster.x | cluster.y | cluster.z) > 1)
        return fail_at(RNL_ERROR_UNSUPPORTED, "cluster",
                       "a cluster of %u x %u x %u is asked for, but %s is a C "
                       "function, whose blocks do not run together; only "
                       "compiled kernels have clusters",
                       cluster.x, cluster.y, cluster.z, function->name);
    kernel->cluster = cluster;
    return check(kernel);
}
