// Adds two vectors and meets an error, through bindings made of abi.json.
mod bindings;

use bindings::*;
use std::ffi::{c_void, CStr, CString};
use std::mem::{size_of, zeroed};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

const SOURCE: &str = r#"
extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"#;

unsafe fn check(status: rnl_status) {
    if status != RNL_OK {
        rnl_error_print(null_mut());
        panic!("status {}", status);
    }
}

extern "C" {
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn allocate(
    size: usize,
    alignment: usize,
    _user_data: *mut c_void,
) -> *mut c_void {
    ALLOCATED.fetch_add(1, Ordering::Relaxed);
    aligned_alloc(alignment, size)
}

unsafe extern "C" fn release(memory: *mut c_void, _size: usize, _user_data: *mut c_void) {
    free(memory)
}

fn main() {
    check_offsets();
    assert_eq!(RNL_NATIVE_PER_THREAD as usize, 2);
    const COUNT: usize = 1000;
    let source = CString::new(SOURCE).unwrap();
    let name = CString::new("add").unwrap();
    let cpu = CString::new("cpu").unwrap();
    let mut host: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    unsafe {
        let mut allocator: rnl_allocator = zeroed();
        allocator.struct_size = size_of::<rnl_allocator>();
        allocator.allocate = Some(allocate);
        allocator.release = Some(release);
        check(rnl_allocator_set(&allocator));
        let mut context: rnl_context = null_mut();
        let mut stream: rnl_stream = null_mut();
        let mut add: rnl_function = null_mut();
        check(rnl_context_open(cpu.as_ptr(), 0, null(), &mut context));
        check(rnl_context_default_stream(context, &mut stream));
        check(rnl_function_compile(
            context,
            source.as_ptr(),
            name.as_ptr(),
            null(),
            &mut add,
        ));
        let mut args: [rnl_arg; 4] = zeroed();
        let mut buffers: [rnl_buffer; 3] = [null_mut(); 3];
        for i in 0..3 {
            check(rnl_buffer_create_typed(
                context,
                RNL_ELEMENT_FLOAT32,
                COUNT,
                null(),
                &mut buffers[i],
            ));
            check(rnl_enqueue_copy_to_buffer(
                stream,
                buffers[i],
                0,
                host.as_ptr() as *const c_void,
                COUNT * 4,
            ));
            args[i].kind = RNL_ARG_BUFFER as u32;
            args[i].size = 8;
            args[i].value.buffer = buffers[i];
        }
        args[3].kind = RNL_VALUE_INTEGER as u32;
        args[3].size = 4;
        args[3].value.integer = COUNT as u64;
        let mut list: rnl_args = zeroed();
        list.struct_size = size_of::<rnl_args>();
        list.count = 4;
        list.items = args.as_ptr();
        let mut launch: rnl_launch = zeroed();
        launch.struct_size = size_of::<rnl_launch>();
        launch.threads = COUNT as u64;
        check(rnl_enqueue_function(stream, add, &launch, &list));
        check(rnl_copy_from_buffer_and_wait(
            stream,
            host.as_mut_ptr() as *mut c_void,
            buffers[2],
            0,
            RNL_WHOLE as usize,
        ));
        assert!((0..COUNT).all(|i| host[i] == 2.0 * i as f32));

        // An error has a status and a sentence.
        args[3].size = 8;
        list.items = args.as_ptr();
        let status = rnl_enqueue_function(stream, add, &launch, &list);
        assert_eq!(status, RNL_ERROR_ARGUMENT_MISMATCH);
        let failure = &*rnl_last_error();
        assert_eq!(failure.status, status);
        let message = CStr::from_ptr(failure.message).to_str().unwrap();
        assert!(message.len() > 10);
        for buffer in buffers {
            check(rnl_buffer_release(buffer));
        }
        check(rnl_function_release(add));
        check(rnl_context_release(context));
        assert!(ALLOCATED.load(Ordering::Relaxed) > 0);
    }
    println!("rust: 1000 sums are right");
}
