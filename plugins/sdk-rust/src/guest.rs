//! The import table of a module: what its [`Host`] is made of.

use crate::json::{self, Value};
use crate::messages::{self, encode};
use crate::*;

#[link(wasm_import_module = "ubunye")]
extern "C" {
    #[link_name = "request"]
    fn import_request(ptr: *mut u8, room: usize) -> i32;
    #[link_name = "respond"]
    fn import_respond(ptr: *const u8, size: usize);
    #[link_name = "call"]
    fn import_call(op: *const u8, op_size: usize, request: *const u8, size: usize, out: *mut u8, room: usize) -> i32;
    #[link_name = "result"]
    fn import_result(ptr: *mut u8, room: usize) -> i32;
    #[link_name = "rows_next"]
    fn import_rows_next(cursor: i32, ptr: *mut u8, room: usize) -> i32;
    #[link_name = "file_write"]
    fn import_file_write(file: i32, ptr: *const u8, size: usize) -> i32;
    #[link_name = "log"]
    fn import_log(level: i32, ptr: *const u8, size: usize);
}

/// The buffer that an answer is awaited with; larger ones are fetched by a second call.
const FIRST_ROOM: usize = 4 << 10;

/// Fetches what the engine offers, whatever its size.
fn read(offer: unsafe extern "C" fn(*mut u8, usize) -> i32) -> Vec<u8> {
    let mut buffer = vec![0; FIRST_ROOM];
    loop {
        let n = unsafe { offer(buffer.as_mut_ptr(), buffer.len()) } as usize;
        if n <= buffer.len() {
            buffer.truncate(n);
            return buffer;
        }
        buffer = vec![0; n];
    }
}

pub(crate) fn request() -> Vec<u8> {
    read(import_request)
}

pub(crate) fn respond(answer: &[u8]) {
    unsafe { import_respond(answer.as_ptr(), answer.len()) }
}

/// Why the last operation did not happen.
fn failure() -> Failure {
    match json::parse(&read(import_result)) {
        Ok(v) => messages::read_failure(&v),
        Err(e) => Failure::error(format!("the engine gave a reason that cannot be read: {}", e)),
    }
}

/// Has the engine do one operation.
fn ask(op: &str, request: &Value) -> Result<Value, Failure> {
    let data = encode(request);
    let mut buffer = vec![0; FIRST_ROOM];
    let n = unsafe { import_call(op.as_ptr(), op.len(), data.as_ptr(), data.len(), buffer.as_mut_ptr(), buffer.len()) };
    if n < 0 {
        return Err(failure());
    }
    if n as usize > buffer.len() {
        buffer = read(import_result);
    } else {
        buffer.truncate(n as usize);
    }
    json::parse(&buffer).map_err(|e| format!("{}: the answer cannot be read: {}", op, e).into())
}

/// The engine at the other end of the import table.
pub(crate) struct Engine;

impl Host for Engine {
    fn schema(&self, relation: &str) -> Result<Vec<ColumnType>, Failure> {
        Ok(messages::read_columns(ask("relation.schema", &messages::relation_request(relation))?.get("columns")))
    }

    fn count(&self, relation: &str) -> Result<i64, Failure> {
        Ok(ask("relation.count", &messages::relation_request(relation))?.get("rows").number())
    }

    fn encode(&self, request: &EncodeRequest) -> Result<Vec<StagedFile>, Failure> {
        Ok(messages::read_files(ask("relation.encode", &messages::encode_request(request))?.get("files")))
    }

    fn derive(&self, sql: &str, inputs: &[(&str, &str)]) -> Result<String, Failure> {
        Ok(ask("relation.derive", &messages::derive_request(sql, inputs))?.get("relation").text())
    }

    fn rows(&self, relation: &str, columns: &[&str]) -> Result<Rows, Failure> {
        let cursor = ask("relation.rows", &messages::rows_request(relation, columns))?.get("cursor").number();
        Ok(Rows::new(Box::new(Cursor { number: cursor as i32, room: 64 << 10, done: false })))
    }

    fn create_file(&self, partition: Option<&Texts>, extension: &str) -> Result<Box<dyn File>, Failure> {
        let a = ask("files.file_create", &messages::file_create_request(partition, extension))?;
        let partition = partition.cloned().unwrap_or_default();
        Ok(Box::new(Staged { number: a.get("file").number(), partition }))
    }

    fn log(&self, level: Level, text: &str) {
        unsafe { import_log(level as i32, text.as_ptr(), text.len()) }
    }
}

struct Cursor {
    number: i32,
    room: usize,
    done: bool,
}

impl Iterator for Cursor {
    type Item = Result<Vec<u8>, Failure>;

    fn next(&mut self) -> Option<Result<Vec<u8>, Failure>> {
        while !self.done {
            let mut buffer = vec![0; self.room];
            let n = unsafe { import_rows_next(self.number, buffer.as_mut_ptr(), buffer.len()) };
            if n > 0 && n as usize > buffer.len() {
                self.room = n as usize;
                continue;
            }
            self.done = n <= 0;
            if n < 0 {
                return Some(Err(failure()));
            }
            buffer.truncate(n as usize);
            return if n == 0 { None } else { Some(Ok(buffer)) };
        }
        None
    }
}

struct Staged {
    number: i64,
    partition: Texts,
}

/// The most bytes of a file that cross at once.
const PIECE: usize = 1 << 20;

impl File for Staged {
    fn write(&mut self, data: &[u8]) -> Result<(), Failure> {
        for piece in data.chunks(PIECE) {
            if unsafe { import_file_write(self.number as i32, piece.as_ptr(), piece.len()) } < 0 {
                return Err(failure());
            }
        }
        Ok(())
    }

    fn close(self: Box<Self>, rows: i64) -> Result<StagedFile, Failure> {
        let a = ask("files.file_close", &messages::file_close_request(self.number))?;
        Ok(StagedFile { name: a.get("name").text(), partition: self.partition, rows, bytes: a.get("bytes").number() })
    }
}
