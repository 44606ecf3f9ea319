// SPDX-License-Identifier: Apache-2.0
//! Declarations of otelprof.h by bindgen, which needs libclang; flags by pkg-config.

use std::{env, path::Path, process::Command};

fn pkg_config(what: &str) -> Vec<String> {
    let out = Command::new("pkg-config").args([what, "otelprof"]).output().expect("pkg-config");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).split_whitespace().map(String::from).collect()
}

fn main() {
    let bindings = bindgen::builder()
        .header_contents("otelprof.c", "#include <otelprof/otelprof.h>\n")
        .clang_args(pkg_config("--cflags"))
        .allowlist_item("(otelprof|OTELPROF)_.*")
        .formatter(bindgen::Formatter::None)
        .generate()
        .expect("bindgen");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    bindings.write_to_file(Path::new(&out).join("otelprof.rs")).expect("the declarations are written");
    for flag in pkg_config("--libs") {
        println!("cargo:rustc-link-arg={flag}");
    }
}
