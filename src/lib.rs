#![cfg_attr(not(feature = "node"), forbid(unsafe_code))]

pub mod core;
pub mod storage;
