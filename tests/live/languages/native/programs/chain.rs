// SPDX-License-Identifier: Apache-2.0
// The chain in Rust; chain.h says what is true of it by construction.
use std::arch::asm;

#[repr(C)]
struct Timespec {
    sec: i64,
    nsec: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, ts: *mut Timespec) -> i32;
}

const PROCESS_CPUTIME: i32 = 2;
const THREAD_CPUTIME: i32 = 3;

#[inline(always)]
fn cpu_ns(clock: i32) -> u64 {
    let mut ts = Timespec { sec: 0, nsec: 0 };
    unsafe { clock_gettime(clock, &mut ts) };
    ts.sec as u64 * 1_000_000_000 + ts.nsec as u64
}

pub struct Job {
    leaf: u32,
    until_ns: u64,
    spins: u64,
}

/// Keeps the call before it from becoming a tail call.
#[inline(always)]
fn keep() {
    unsafe { asm!("", options(nostack)) };
}

/// The compiler has to think that `x` is read, so it has to exist. (std's black_box is
/// younger than Debian 12's compiler.)
#[inline(always)]
fn read<T: ?Sized>(x: &T) {
    unsafe { asm!("/* {0} */", in(reg) x as *const T as *const u8, options(nostack)) };
}

macro_rules! leaf {
    ($name:ident) => {
        #[inline(never)]
        pub fn $name(j: &mut Job) {
            while cpu_ns(THREAD_CPUTIME) < j.until_ns {
                let mut i = 0u64;
                while i < 20000 {
                    unsafe { asm!("/* {0} */", inout(reg) i) };
                    i += 1;
                }
                j.spins += i;
            }
            // Otherwise identical functions are folded into one.
            read(stringify!($name));
            keep();
        }
    };
}

macro_rules! link {
    ($name:ident, $next:ident) => {
        #[inline(never)]
        pub fn $name(j: &mut Job) {
            let room = [j.spins; 3];
            read(&room);
            $next(j);
            read(&room);
            keep();
        }
    };
}

leaf!(leaf_a);
leaf!(leaf_b);
leaf!(leaf_c);

#[inline(never)]
pub fn f1(j: &mut Job) {
    match j.leaf {
        0 => leaf_a(j),
        1 => leaf_b(j),
        _ => leaf_c(j),
    }
    keep();
}

link!(f2, f1);
link!(f3, f2);
link!(f4, f3);
link!(f5, f4);
link!(f6, f5);
link!(f7, f6);
link!(f8, f7);
link!(f9, f8);
link!(f10, f9);
link!(f11, f10);
link!(f12, f11);
link!(f13, f12);
link!(f14, f13);
link!(f15, f14);
link!(f16, f15);
link!(f17, f16);
link!(f18, f17);
link!(f19, f18);
link!(f20, f19);
link!(f21, f20);
link!(f22, f21);
link!(f23, f22);
link!(f24, f23);

fn main() {
    let seconds: f64 = std::env::args().nth(1).map_or(1.0, |s| s.parse().unwrap());
    let mut j = Job { leaf: 0, until_ns: 0, spins: 0 };
    let start = cpu_ns(THREAD_CPUTIME);
    let mut at = start;
    let mut random: u64 = 88172645463325252;

    println!("ready {}", std::process::id());
    while at - start < (seconds * 1e9) as u64 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let cycle = 15_000_000 + random % 10_000_000;
        for (leaf, share) in [(0, 5), (1, 8), (2, 10)] {
            j.leaf = leaf;
            j.until_ns = at + cycle * share / 10;
            f24(&mut j);
        }
        at += cycle;
    }
    println!("cpu_ns {}", cpu_ns(PROCESS_CPUTIME));
}
