// The barrier of the grid, and smaller needs of the groups.
#define RNL_GRID_BARRIER
#define RNL_PLACE 0u

RNL_INLINE void rnl_sync_grid() { __ockl_grid_sync(); }
RNL_INLINE bool rnl_is_cooperative() { return __ockl_grid_is_valid() != 0; }
RNL_INLINE void rnl_yield() { __builtin_amdgcn_s_sleep(1); }
RNL_INLINE void __syncthreads(int) { __syncthreads(); }
RNL_INLINE unsigned int rnl_activemask(unsigned int)
{
    return rnl_activemask();
}
