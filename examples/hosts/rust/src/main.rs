// SPDX-License-Identifier: Apache-2.0
//! The profiler in a tokio program: its descriptor is one of those that the runtime waits for, so
//! there is no thread for it. The declarations are made by bindgen. Profiles this host for the
//! seconds given as argument (3), or until Ctrl-C.
//!
//!     cargo run

use std::ffi::CStr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::raw::{c_char, c_int, c_void};
use std::time::Duration;
use std::{env, mem, process, ptr};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::time::{interval_at, sleep, Instant};

#[allow(dead_code, non_camel_case_types, non_snake_case, non_upper_case_globals)]
mod sys {
    include!(concat!(env!("OUT_DIR"), "/otelprof.rs"));
}

fn text(bytes: &[c_char]) -> String {
    // The library ends its texts with a NUL.
    unsafe { CStr::from_ptr(bytes.as_ptr()) }.to_string_lossy().into_owned()
}

fn no_error() -> sys::otelprof_error_info {
    let mut why: sys::otelprof_error_info = unsafe { mem::zeroed() };
    why.size = mem::size_of_val(&why);
    why
}

#[derive(Default)]
struct Seen {
    requests: u64,
    samples: u64,
}

/// Takes one request. A panic must not go through C.
unsafe extern "C" fn take(userdata: *mut c_void, _: *const c_void, len: usize, samples: u64) -> c_int {
    let taken = std::panic::catch_unwind(|| {
        let seen = unsafe { &mut *(userdata as *mut Seen) };
        seen.requests += 1;
        seen.samples += samples;
        println!("request of {len} bytes with {samples} samples");
    });
    if taken.is_ok() { 0 } else { -5 }
}

struct Profiler {
    handle: *mut sys::otelprof,
    /// The library has its address, so it stays where it is.
    seen: *mut Seen,
}

/// The descriptor belongs to the handle: it is not closed here.
struct Waits(RawFd);

impl AsRawFd for Waits {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Profiler {
    fn new(rate_hz: u32) -> Result<Profiler, String> {
        let mut config: sys::otelprof_config = unsafe { mem::zeroed() };
        unsafe { sys::otelprof_config_init(&mut config, mem::size_of_val(&config)) };
        config.sample_rate_hz = rate_hz;
        let (mut handle, mut why) = (ptr::null_mut(), no_error());
        if unsafe { sys::otelprof_init(&config, &mut why, &mut handle) } < 0 {
            return Err(text(&why.message));
        }
        let p = Profiler { handle, seen: Box::into_raw(Box::default()) };
        let mut callback: sys::otelprof_callback_config = unsafe { mem::zeroed() };
        unsafe { sys::otelprof_callback_config_init(&mut callback, mem::size_of_val(&callback)) };
        callback.fn_ = Some(take);
        callback.userdata = p.seen as *mut c_void;
        p.check(unsafe { sys::otelprof_exporter_callback(p.handle, &callback) })?;
        p.check(unsafe { sys::otelprof_start(p.handle) })?;
        Ok(p)
    }

    fn check(&self, r: c_int) -> Result<c_int, String> {
        if r >= 0 || r == -4 {
            return Ok(r); // -EINTR: a signal came
        }
        let mut why = no_error();
        unsafe { sys::otelprof_last_error(self.handle, &mut why) };
        Err(if why.code == r { text(&why.message) } else { format!("error {r}") })
    }

    /// Works whenever the descriptor is readable; a call does a bounded piece of work.
    async fn work(&self) -> Result<(), String> {
        let fd = Waits(self.check(unsafe { sys::otelprof_get_fd(self.handle) })?);
        #[allow(deprecated)] // tokio before 1.54 has no other
        let fd = AsyncFd::with_interest(fd, Interest::READABLE).map_err(|e| e.to_string())?;
        loop {
            let mut ready = fd.readable().await.map_err(|e| e.to_string())?;
            // tokio tells of changes alone: wait again only when there was nothing to do.
            if self.check(unsafe { sys::otelprof_poll(self.handle, 0) })? == 0 {
                ready.clear_ready();
            }
            tokio::task::yield_now().await; // other tasks of this thread have their turn
        }
    }

    /// Closes a window each second.
    async fn export(&self) -> Result<(), String> {
        let second = Duration::from_secs(1);
        let mut ticks = interval_at(Instant::now() + second, second);
        loop {
            ticks.tick().await;
            self.check(unsafe { sys::otelprof_export(self.handle) })?;
        }
    }

    fn finish(&self) -> Result<u64, String> {
        self.check(unsafe { sys::otelprof_stop(self.handle) })?;
        self.check(unsafe { sys::otelprof_export(self.handle) })?;
        let seen = unsafe { &*self.seen };
        println!("{} samples in {} requests", seen.samples, seen.requests);
        Ok(seen.samples)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        unsafe {
            sys::otelprof_free(self.handle);
            drop(Box::from_raw(self.seen));
        }
    }
}

async fn run(seconds: u64) -> Result<u64, String> {
    let p = Profiler::new(99)?;
    tokio::select! {
        ended = p.work() => ended?,
        ended = p.export() => ended?,
        _ = tokio::signal::ctrl_c() => {}
        _ = sleep(Duration::from_secs(seconds)) => {}
    }
    p.finish()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let seconds = env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(3);
    match run(seconds).await {
        Ok(samples) => process::exit((samples == 0) as i32),
        Err(why) => {
            eprintln!("{why}");
            process::exit(1)
        }
    }
}
