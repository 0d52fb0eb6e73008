//! The messages of the contract, as far as writers of files need them. Their JSON is that of the engine's package `abi`.

use std::collections::BTreeMap;

/// Names and texts, sorted by name.
pub type Texts = BTreeMap<String, String>;

/// What a writer promises when its run dies, and when its batch runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Files are staged, and the engine lands them after its commit.
    Claims,
    /// Each run replaces the rows of the batch in one step.
    Replaces,
    /// Neither can be promised.
    Named,
}

impl Class {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Class::Claims => "claims",
            Class::Replaces => "replaces",
            Class::Named => "named",
        }
    }
}

/// What a writer says of itself.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// What outputs call it as their format.
    pub name: String,
    /// Of the writer itself.
    pub version: String,
    /// What it writes, on one line.
    pub doc: String,
    /// What an output may have as its mode, and how that is delivered.
    pub modes: Vec<(String, Class)>,
    /// JSON Schema of an output's options.
    pub options: String,
    /// Whether it makes files of its own, beside those that the engine encodes.
    pub files: bool,
}

impl Description {
    /// The class of a mode; `None` if there is no such mode.
    pub fn class(&self, mode: &str) -> Option<Class> {
        self.modes.iter().find(|(name, _)| name == mode).map(|(_, class)| *class)
    }
}

/// The part of a pipeline's output that a writer is told.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Name of the output in the pipeline.
    pub name: String,
    /// One of the modes that the writer describes.
    pub mode: String,
    /// Absolute path of the folder.
    pub target: String,
    /// Columns that become folders and leave the files.
    pub partition_by: Vec<String>,
    /// SQL order terms.
    pub sort_by: Vec<String>,
    /// Bytes; 0: not given.
    pub target_file_size: i64,
    /// Options of the pipeline, values as text.
    pub options: Texts,
}

/// The request of `plan`.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// The output to look at.
    pub output: Output,
    /// Of the batch's document.
    pub epoch: i64,
    /// Now, by RFC 3339: a module has no clock.
    pub time: String,
    /// Bytes that the module may use.
    pub memory: i64,
}

/// Its answer. With problems nothing goes on.
#[derive(Clone, Debug)]
pub struct PlanAnswer {
    /// What the writer promises for this output; as described.
    pub class: Class,
    /// What identifies the target: the folder's path.
    pub target: String,
    /// What is wrong with the output.
    pub problems: Vec<Problem>,
    /// One line: what the writer is going to do.
    pub will: String,
}

/// Something in a pipeline's output that cannot work.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// Where in the output, as "options.compression".
    pub field: String,
    /// What is wrong, on one line.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

/// The request of `stage`.
#[derive(Clone, Debug, Default)]
pub struct StageRequest {
    /// The output to write.
    pub output: Output,
    /// Handle of the rows to be written.
    pub relation: String,
    /// Their columns, in order.
    pub schema: Vec<ColumnType>,
    /// Of the batch's document.
    pub epoch: i64,
    /// Now, by RFC 3339.
    pub time: String,
    /// Bytes that the module may use.
    pub memory: i64,
}

/// Its answer: every file that was staged, and no other.
#[derive(Clone, Debug, Default)]
pub struct StageAnswer {
    /// Every file, none left out.
    pub files: Vec<StagedFile>,
}

/// A file in staging.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StagedFile {
    /// Below the staging folder, with slashes.
    pub name: String,
    /// Partition column to value as text; a NULL is absent.
    pub partition: Texts,
    /// Rows in it.
    pub rows: i64,
    /// Its size.
    pub bytes: i64,
}

/// A column's name and SQL type, as "DECIMAL(18,2)".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnType {
    /// The column's name.
    pub name: String,
    /// Its SQL type.
    pub sql_type: String,
}

/// Has a relation written as staged files by the compute engine. `partition_by` and `target_file_size` exclude each other.
#[derive(Clone, Debug, Default)]
pub struct EncodeRequest {
    /// Handle of the relation.
    pub relation: String,
    /// One that the compute engine can write: parquet, csv or json.
    pub format: String,
    /// Options of the format.
    pub options: Texts,
    /// Columns that become folders and leave the files.
    pub partition_by: Vec<String>,
    /// SQL order terms for the rows in a file.
    pub order_by: Vec<String>,
    /// Bytes at which a new file is begun; 0: one file.
    pub target_file_size: i64,
}

/// How grave a line of log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For the author.
    Debug = 0,
    /// For everybody.
    Info = 1,
    /// Something is odd.
    Warn = 2,
    /// Something is wrong.
    Error = 3,
}

/// Why something did not happen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// What kind of failure it is, for programs; the engine's own are refused, unknown, invalid and failed.
    pub code: String,
    /// What happened, for people, on one line.
    pub message: String,
    /// What the person can do.
    pub hint: String,
    /// The same again may succeed.
    pub retryable: bool,
}

impl Failure {
    /// A failure that is the data's: a value that the format cannot hold, in a column and a row that the message names.
    pub fn value(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { code: "value".into(), message: message.into(), hint: hint.into(), retryable: false }
    }

    pub(crate) fn error(message: impl Into<String>) -> Failure {
        Failure { code: "error".into(), message: message.into(), ..Failure::default() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<&str> for Failure {
    fn from(message: &str) -> Failure {
        Failure::error(message)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::error(message)
    }
}
