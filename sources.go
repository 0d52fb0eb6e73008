// Package ubunye holds the sources of the SDKs for plugins, so that the program can put them into a new plugin's folder: who writes
// one needs no other copy of this repository, and has the SDK that fits the program.
package ubunye

import "embed"

// GoSDK is the module of the SDK for Go, as far as plugins need it.
//
//go:embed LICENSE engine/abi/*.go internal/exactjson/*.go
//go:embed plugins/sdk/*.go plugins/sdk/internal/jsontext/*.go plugins/sdk/sdktest/*.go plugins/sdk/writertest/*.go
var GoSDK embed.FS

// RustSDK is the crate of the SDK for Rust.
//
//go:embed LICENSE plugins/sdk-rust/Cargo.toml plugins/sdk-rust/src/*.rs
var RustSDK embed.FS
