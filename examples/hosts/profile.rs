// SPDX-License-Identifier: Apache-2.0
//! The profiler in a Rust program, by declarations of its own (bindgen makes the same ones of
//! otelprof.h): a handle that frees itself, errors as Result. Profiles this host for the seconds
//! given as argument (3).
//!
//!     rustc profile.rs $(pkg-config --libs otelprof)

#![allow(unused_unsafe)] // before Rust 1.65 an unsafe fn needs none for its body

use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};
use std::time::{Duration, Instant};
use std::{env, mem, process, ptr};

#[repr(C)]
struct Handle {
    private: [u8; 0],
}

#[repr(C)]
struct ErrorInfo {
    size: usize,
    code: i32,
    reserved0: u32,
    message: [c_char; 512],
    detail: [c_char; 3072],
}

type RequestFn =
    unsafe extern "C" fn(userdata: *mut c_void, request: *const c_void, len: usize, samples: u64) -> c_int;

#[repr(C)]
struct CallbackConfig {
    size: usize,
    callback: Option<RequestFn>,
    userdata: *mut c_void,
    max_request_bytes: u64,
}

#[link(name = "otelprof")]
extern "C" {
    fn otelprof_init(config: *const c_void, why: *mut ErrorInfo, ret: *mut *mut Handle) -> c_int;
    fn otelprof_free(p: *mut Handle) -> *mut Handle;
    fn otelprof_start(p: *mut Handle) -> c_int;
    fn otelprof_stop(p: *mut Handle) -> c_int;
    fn otelprof_poll(p: *mut Handle, timeout_ms: c_int) -> c_int;
    fn otelprof_export(p: *mut Handle) -> c_int;
    fn otelprof_wakeup(p: *mut Handle) -> c_int;
    fn otelprof_callback_config_init(config: *mut CallbackConfig, size: usize);
    fn otelprof_exporter_callback(p: *mut Handle, config: *const CallbackConfig) -> c_int;
    fn otelprof_last_error(p: *mut Handle, ret: *mut ErrorInfo) -> c_int;
}

fn text(bytes: &[c_char]) -> String {
    // The library ends its texts with a NUL.
    unsafe { CStr::from_ptr(bytes.as_ptr()) }.to_string_lossy().into_owned()
}

fn no_error() -> ErrorInfo {
    let mut why: ErrorInfo = unsafe { mem::zeroed() };
    why.size = mem::size_of::<ErrorInfo>();
    why
}

#[derive(Default)]
struct Seen {
    requests: u64,
    samples: u64,
}

/// Takes one request. A panic must not go through C.
unsafe extern "C" fn take(userdata: *mut c_void, request: *const c_void, len: usize, samples: u64) -> c_int {
    let taken = std::panic::catch_unwind(|| {
        let seen = unsafe { &mut *(userdata as *mut Seen) };
        let bytes = unsafe { std::slice::from_raw_parts(request as *const u8, len) };
        seen.requests += 1;
        seen.samples += samples;
        println!("request of {} bytes with {} samples", bytes.len(), samples);
    });
    if taken.is_ok() { 0 } else { -5 }
}

struct Profiler {
    handle: *mut Handle,
    /// The library has its address, so it stays where it is.
    seen: *mut Seen,
}

// Calls on a handle may come from any thread.
unsafe impl Send for Profiler {}
unsafe impl Sync for Profiler {}

impl Profiler {
    fn new() -> Result<Profiler, String> {
        let mut handle = ptr::null_mut();
        let mut why = no_error();
        if unsafe { otelprof_init(ptr::null(), &mut why, &mut handle) } < 0 {
            return Err(text(&why.message));
        }
        let p = Profiler { handle, seen: Box::into_raw(Box::default()) };
        let mut config: CallbackConfig = unsafe { mem::zeroed() };
        unsafe { otelprof_callback_config_init(&mut config, mem::size_of::<CallbackConfig>()) };
        config.callback = Some(take);
        config.userdata = p.seen as *mut c_void;
        p.check(unsafe { otelprof_exporter_callback(p.handle, &config) })?;
        Ok(p)
    }

    fn check(&self, r: c_int) -> Result<c_int, String> {
        if r >= 0 || r == -4 {
            return Ok(r); // -EINTR: a signal came
        }
        let mut why = no_error();
        unsafe { otelprof_last_error(self.handle, &mut why) };
        Err(if why.code == r { text(&why.message) } else { format!("error {r}") })
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        unsafe {
            otelprof_free(self.handle);
            drop(Box::from_raw(self.seen));
        }
    }
}

fn run(seconds: u64) -> Result<u64, String> {
    let p = Profiler::new()?;
    let end = Instant::now() + Duration::from_secs(seconds);
    p.check(unsafe { otelprof_start(p.handle) })?;
    std::thread::scope(|s| {
        // As an executor would: the poll waits in a thread of its own, until it is woken.
        let worker = s.spawn(|| {
            while Instant::now() < end {
                p.check(unsafe { otelprof_poll(p.handle, -1) })?;
            }
            Ok::<(), String>(())
        });
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        p.check(unsafe { otelprof_wakeup(p.handle) })?;
        worker.join().map_err(|_| "the worker ended badly".to_string())?
    })?;
    p.check(unsafe { otelprof_stop(p.handle) })?;
    p.check(unsafe { otelprof_export(p.handle) })?;
    let seen = unsafe { &*p.seen };
    println!("{} samples in {} requests", seen.samples, seen.requests);
    Ok(seen.samples)
}

fn main() {
    let seconds = env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(3);
    match run(seconds) {
        Ok(samples) => process::exit((samples == 0) as i32),
        Err(why) => {
            eprintln!("{why}");
            process::exit(1)
        }
    }
}
