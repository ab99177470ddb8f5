-- Adds two vectors and meets an error, through bindings made of abi.json.
-- usage: vector_add.lua BINDINGS LIBRARY
local ffi = require 'ffi'
local constants = dofile(arg[1])
local rnl = ffi.load(arg[2])

local function check(status)
    if status ~= rnl.RNL_OK then
        rnl.rnl_error_print(nil)
        error(ffi.string(rnl.rnl_status_name(status)))
    end
end

local function out(type)
    return ffi.new(type .. '[1]')
end

local source = [[
extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}]]

assert(ffi.cast('uintptr_t', constants.RNL_NATIVE_PER_THREAD) == 2)

local count = 1000
local context, stream = out 'rnl_context', out 'rnl_stream'
local add = out 'rnl_function'
check(rnl.rnl_context_open('cpu', 0, nil, context))
check(rnl.rnl_context_default_stream(context[0], stream))
check(rnl.rnl_function_compile(context[0], source, 'add', nil, add))

local args = ffi.new('rnl_arg[4]')
local buffers, host = {}, ffi.new('float[?]', count)
for i = 0, count - 1 do host[i] = i end
for i = 0, 2 do
    local buffer = out 'rnl_buffer'
    check(rnl.rnl_buffer_create_typed(context[0], rnl.RNL_ELEMENT_FLOAT32,
                                      count, nil, buffer))
    check(rnl.rnl_enqueue_copy_to_buffer(stream[0], buffer[0], 0, host,
                                         count * 4))
    args[i].kind, args[i].size = constants.RNL_ARG_BUFFER, 8
    args[i].value.buffer = buffer[0]
    buffers[i] = buffer
end
args[3].kind, args[3].size = rnl.RNL_VALUE_INTEGER, 4
args[3].value.integer = count
local list = ffi.new('rnl_args', {ffi.sizeof 'rnl_args', 4, args})
local launch = ffi.new('rnl_launch')
launch.struct_size, launch.threads = ffi.sizeof 'rnl_launch', count
check(rnl.rnl_enqueue_function(stream[0], add[0], launch, list))
check(rnl.rnl_copy_from_buffer_and_wait(stream[0], host, buffers[2][0], 0,
                                        constants.RNL_WHOLE))
for i = 0, count - 1 do assert(host[i] == 2 * i, i) end

-- An error has a status and a sentence.
args[3].size = 8
local status = rnl.rnl_enqueue_function(stream[0], add[0], launch, list)
assert(status == rnl.RNL_ERROR_ARGUMENT_MISMATCH)
local failure = rnl.rnl_last_error()
assert(failure.status == status)
assert(ffi.string(failure['function']) == 'rnl_enqueue_function')
assert(#ffi.string(failure.message) > 10)

for i = 0, 2 do check(rnl.rnl_buffer_release(buffers[i][0])) end
check(rnl.rnl_function_release(add[0]))
check(rnl.rnl_context_release(context[0]))
print('luajit: 1000 sums are right')
