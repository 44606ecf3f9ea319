// SPDX-License-Identifier: Apache-2.0
// The same in Rust.
fn inner(x: u64) -> u64 {
    (0..10).fold(x, |a, b| a.wrapping_mul(31).wrapping_add(b))
}

#[inline(never)]
fn outer(n: u64) -> u64 {
    let v: Vec<u64> = (0..n).map(inner).collect();
    v.iter().sum()
}

fn main() {
    println!("{}", outer(std::env::args().count() as u64 * 100));
}
