#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A crate that keeps rustc busy, in the current folder: rust-source.sh FUNCTIONS
set -eu

mkdir -p src
cat >Cargo.toml <<'TOML'
[package]
name = "work"
version = "0.1.0"
edition = "2021"
TOML
awk -v n="$1" 'BEGIN {
	print "use std::collections::{BTreeMap, HashMap};"
	for (i = 0; i < n; i++) {
		printf "#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]\n"
		printf "pub enum E%d { A(u32), B(String), C { x: Vec<u%d> } }\n", i, i % 2 ? 8 : 16
		printf "pub fn f%d(words: &[&str]) -> String {\n", i
		printf "    let mut m: BTreeMap<E%d, usize> = BTreeMap::new();\n", i
		printf "    let mut h: HashMap<String, E%d> = HashMap::new();\n", i
		printf "    for w in words {\n"
		printf "        *m.entry(E%d::B(w.to_string())).or_insert(%d) += w.len();\n", i, i
		printf "        h.insert(w.to_uppercase(), E%d::A(w.len() as u32));\n    }\n", i
		printf "    let mut v: Vec<_> = h.into_iter().collect();\n    v.sort();\n"
		printf "    format!(\"{:?} {:?} {:?}\", m, v, E%d::C { x: vec![%d] })\n}\n", i, i % 200
	}
	print "fn main() {"
	for (i = 0; i < n; i++)
		printf "    println!(\"{}\", f%d(&[\"a\", \"b\"]));\n", i
	print "}"
}' >src/main.rs
