// SPDX-License-Identifier: Apache-2.0
//! A Rust program that says which span each thread works on, for profilers to see. A scope
//! attaches a context and puts back what was there before, also when it ends by a panic. Serves
//! made-up requests in two threads for the seconds given as argument (3).
//!
//!     rustc -C debuginfo=1 -C opt-level=2 spans.rs $(pkg-config --libs otelprof-context)

use std::hint::black_box;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_uint};
use std::time::{Duration, Instant};
use std::{env, mem, panic, process, ptr, thread};

/// As in context.h; bindgen makes the same of it.
mod sys {
    use super::*;

    #[repr(C)]
    pub struct Context {
        pub trace_id: [u8; 16],
        pub span_id: [u8; 8],
        pub valid: u8,
        pub trace_flags: u8,
        pub attributes_bytes: u16,
        pub attributes: [u8; 612],
    }

    #[repr(C)]
    pub struct ProcessContext {
        pub size: usize,
        pub attributes: *const [*const c_char; 2],
        pub attributes_len: usize,
        pub keys: *const *const c_char,
        pub keys_len: usize,
    }

    #[link(name = "otelprof-context")]
    extern "C" {
        pub fn otelprof_context_publish(process: *const ProcessContext) -> c_int;
        pub fn otelprof_context_init(context: *mut Context, trace: *const u8, span: *const u8);
        pub fn otelprof_context_add(context: *mut Context, key: c_uint, value: *const c_char, len: usize) -> c_int;
        pub fn otelprof_context_attach(context: *mut Context) -> *mut Context;
    }
}

/// The number of a key is its place in the list that the process publishes.
const HTTP_ROUTE: c_uint = 0;

/// What a thread works on. On the heap: it stays where it is, as readers have its address.
struct Context(Box<sys::Context>);

impl Context {
    fn new(trace: &[u8; 16], span: &[u8; 8], route: &str) -> Context {
        // Zeroes are a context that is not valid, which init() makes one that is.
        let mut context: Box<sys::Context> = Box::new(unsafe { mem::zeroed() });
        unsafe {
            sys::otelprof_context_init(&mut *context, trace.as_ptr(), span.as_ptr());
            // One that does not fit is left out.
            let text = route.as_ptr() as *const c_char;
            sys::otelprof_context_add(&mut *context, HTTP_ROUTE, text, route.len());
        }
        Context(context)
    }

    /// The thread works on it until the scope is dropped, and then on what it did before. Scopes
    /// end in the order in which blocks do.
    fn attach(&mut self) -> Scope<'_> {
        let before = unsafe { sys::otelprof_context_attach(&mut *self.0) };
        Scope { before, context: PhantomData }
    }
}

/// It borrows the context, which so outlives it, and a pointer keeps it in its thread.
struct Scope<'a> {
    before: *mut sys::Context,
    context: PhantomData<&'a mut Context>,
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        unsafe { sys::otelprof_context_attach(self.before) };
    }
}

fn publish(keys: &[*const c_char]) -> c_int {
    let process = sys::ProcessContext {
        size: mem::size_of::<sys::ProcessContext>(),
        attributes: ptr::null(),
        attributes_len: 0,
        keys: keys.as_ptr(),
        keys_len: keys.len(),
    };
    unsafe { sys::otelprof_context_publish(&process) }
}

fn work(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        for i in 0..1000u32 {
            black_box(i);
        }
    }
}

// Not inlined, so that a profile shows them.
#[inline(never)]
fn load_cart() {
    work(Duration::from_micros(500));
    black_box(0);
}

#[inline(never)]
fn price_cart(request: u32) {
    work(Duration::from_micros(300));
    if request % 4 == 0 {
        panic::resume_unwind(Box::new("no price"));
    }
    black_box(0);
}

#[inline(never)]
fn render_page() {
    work(Duration::from_micros(200));
    black_box(0);
}

/// In a real program the ids are those of the spans that its SDK makes.
fn span_id(number: u8) -> [u8; 8] {
    [0xcd, 0, 0, 0, 0, 0, 0, number]
}

fn handle_request(thread: u8, request: u32) {
    let mut trace = [0u8; 16];
    trace[0] = 0xab;
    trace[1] = thread;
    trace[12..].copy_from_slice(&request.to_ne_bytes());

    let mut root = Context::new(&trace, &span_id(1), "/cart");
    let _in_root = root.attach();
    {
        let mut load = Context::new(&trace, &span_id(2), "/cart/load");
        let _in_load = load.attach();
        load_cart();
    }
    // Where it panics the thread is back in the root span.
    let _ = panic::catch_unwind(|| {
        let mut price = Context::new(&trace, &span_id(3), "/cart/price");
        let _in_price = price.attach();
        price_cart(request);
    });
    render_page();
}

fn serve(thread: u8, end: Instant) {
    let mut request = 0;
    while Instant::now() < end {
        handle_request(thread, request);
        request += 1;
    }
}

fn main() {
    let seconds = env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    let error = publish(&[b"http.route\0".as_ptr() as *const c_char]);
    if error < 0 {
        eprintln!("otelprof_context_publish: error {}", -error);
        process::exit(1);
    }
    println!("ready");
    let other = thread::spawn(move || serve(2, end));
    serve(1, end);
    other.join().expect("a thread that serves");
}
