//! Writers in Rust. A plugin implements [`Writer`] and names it to [`serve!`]:
//!
//! ```ignore
//! struct Excel;
//! impl ubunye_sdk::Writer for Excel { /* … */ }
//! ubunye_sdk::serve!(Excel);
//! ```
//!
//! and is built as a `cdylib` for `wasm32-wasip1` (`wasm32-wasi` before Rust 1.78). The same code runs natively in unit tests,
//! against a [`testing::FakeHost`]. The crate needs nothing but the standard library, of Rust 1.63 or later.

mod abi;
pub mod json;
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))] // a native program serves nobody
mod messages;
mod rows;
mod text;

#[cfg(target_arch = "wasm32")]
mod guest;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use abi::*;
pub use rows::{Batch, Column, Field, Kind, Rows};

/// The version of the contract with the engine that this crate speaks.
pub const ABI: i64 = 1;

/// Decides what lands and how. A failure reaches the person who runs the pipeline, with its hint.
pub trait Writer {
    /// Says what the writer can do. It must not depend on anything: the answer is kept.
    fn describe(&self) -> Description;
    /// Looks at one output of a pipeline, before any input is read.
    fn plan(&self, request: &PlanRequest) -> Result<PlanAnswer, Failure>;
    /// Writes the output's relation where no reader looks, and names every file that it made.
    fn stage(&self, host: &dyn Host, request: &StageRequest) -> Result<StageAnswer, Failure>;
}

/// The engine, as far as a writer may ask it. A writer that gets a failure hands it on.
pub trait Host {
    /// The columns of a relation, in order.
    fn schema(&self, relation: &str) -> Result<Vec<ColumnType>, Failure>;
    /// How many rows a relation has.
    fn count(&self, relation: &str) -> Result<i64, Failure>;
    /// Has the compute engine write a relation as files: no row passes through the writer.
    fn encode(&self, request: &EncodeRequest) -> Result<Vec<StagedFile>, Failure>;
    /// Makes a relation of a SELECT over others: pairs of the name that the SQL has for one, and its handle.
    fn derive(&self, sql: &str, inputs: &[(&str, &str)]) -> Result<String, Failure>;
    /// Opens a relation's rows, of these columns or, if there are none, of all.
    fn rows(&self, relation: &str, columns: &[&str]) -> Result<Rows, Failure>;
    /// Makes a new staged file in a partition; the engine names it. Needs the capability "files".
    fn create_file(&self, partition: Option<&Texts>, extension: &str) -> Result<Box<dyn File>, Failure>;
    /// Says a line to the person who runs the pipeline.
    fn log(&self, level: Level, text: &str);
}

/// A staged file being written. Every file must be closed before `stage` returns.
pub trait File {
    /// Appends bytes.
    fn write(&mut self, data: &[u8]) -> Result<(), Failure>;
    /// Ends the file, and gives its name and size; its rows are the writer's to count.
    fn close(self: Box<Self>, rows: i64) -> Result<StagedFile, Failure>;
}

/// Has the module answer for writers: `serve!(First, Second)`.
#[macro_export]
macro_rules! serve {
    ($($writer:expr),+ $(,)?) => {
        #[cfg(target_arch = "wasm32")]
        mod ubunye_exports {
            use super::*;
            // A cdylib is linked without the start of a reactor. That this calls the constructors keeps the linker from calling them
            // around each export.
            #[no_mangle]
            pub extern "C" fn _initialize() {
                extern "C" {
                    fn __wasm_call_ctors();
                }
                unsafe { __wasm_call_ctors() }
            }
            #[no_mangle]
            pub extern "C" fn ubunye_abi_1() -> i32 { 0 }
            #[no_mangle]
            pub extern "C" fn describe() -> i32 { $crate::call("describe", &[$(&$writer as &dyn $crate::Writer),+]) }
            #[no_mangle]
            pub extern "C" fn plan() -> i32 { $crate::call("plan", &[$(&$writer as &dyn $crate::Writer),+]) }
            #[no_mangle]
            pub extern "C" fn stage() -> i32 { $crate::call("stage", &[$(&$writer as &dyn $crate::Writer),+]) }
        }
    };
}

/// Answers one call of the engine; for [`serve!`] alone.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub fn call(name: &str, writers: &[&dyn Writer]) -> i32 {
    let (answer, failed) = messages::answer(name, &guest::request(), writers, &guest::Engine);
    guest::respond(&answer);
    i32::from(failed)
}
