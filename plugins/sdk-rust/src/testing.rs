//! A host for unit tests: it gives rows that a test makes, and keeps the files that the writer makes.

use std::cell::RefCell;
use std::rc::Rc;

use crate::*;

/// What a cell of a test's table holds.
#[derive(Clone, Debug)]
pub enum Cell {
    /// No value.
    Null,
    /// For columns of kind Int with 64 bits.
    Int(i64),
    /// For columns of kind Text.
    Text(&'static str),
}

/// A table of columns of kind Int(64) and Text, in one batch.
pub struct Table {
    /// Its columns.
    pub fields: Vec<Field>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A batch of these rows.
    pub fn batch(&self) -> Batch {
        let column = |(i, field): (usize, &Field)| {
            let mut valid = vec![0; (self.rows.len() + 7) / 8];
            let (mut offsets, mut data) = (0_u32.to_le_bytes().to_vec(), Vec::new());
            for (n, row) in self.rows.iter().enumerate() {
                match (&row[i], &field.kind) {
                    (Cell::Null, Kind::Text) => {}
                    (Cell::Null, _) => data.extend_from_slice(&[0; 8]),
                    (Cell::Int(v), Kind::Int(64)) => data.extend_from_slice(&v.to_le_bytes()),
                    (Cell::Text(v), Kind::Text) => data.extend_from_slice(v.as_bytes()),
                    (cell, kind) => panic!("{:?} is no value of {:?}", cell, kind),
                }
                if !matches!(row[i], Cell::Null) {
                    valid[n >> 3] |= 1 << (n & 7);
                }
                offsets.extend_from_slice(&(data.len() as u32).to_le_bytes());
            }
            Column::made(field.clone(), valid, offsets, data)
        };
        Batch { rows: self.rows.len(), columns: self.fields.iter().enumerate().map(column).collect() }
    }
}

/// What a writer made: the partition, the extension, and the bytes.
pub type Made = (Texts, String, Vec<u8>);

/// A host with one relation.
#[derive(Default)]
pub struct FakeHost {
    /// The rows of every relation.
    pub table: RefCell<Option<Table>>,
    /// What was made.
    pub files: Rc<RefCell<Vec<Made>>>,
    /// What was logged.
    pub log: RefCell<Vec<String>>,
}

impl FakeHost {
    /// A host whose relation is this table.
    pub fn new(table: Table) -> FakeHost {
        FakeHost { table: RefCell::new(Some(table)), ..FakeHost::default() }
    }

    fn none<T>(&self, what: &str) -> Result<T, Failure> {
        Err(Failure::error(format!("the fake host cannot {}", what)))
    }
}

impl Host for FakeHost {
    fn schema(&self, _: &str) -> Result<Vec<ColumnType>, Failure> {
        self.none("tell a schema")
    }

    fn count(&self, _: &str) -> Result<i64, Failure> {
        Ok(self.table.borrow().as_ref().map_or(0, |t| t.rows.len() as i64))
    }

    fn encode(&self, _: &EncodeRequest) -> Result<Vec<StagedFile>, Failure> {
        self.none("encode")
    }

    fn derive(&self, _: &str, _: &[(&str, &str)]) -> Result<String, Failure> {
        self.none("run SQL")
    }

    fn rows(&self, _: &str, _: &[&str]) -> Result<Rows, Failure> {
        match self.table.borrow().as_ref() {
            Some(t) => Ok(Rows::of(vec![t.batch()])),
            None => self.none("give rows twice"),
        }
    }

    fn create_file(&self, partition: Option<&Texts>, extension: &str) -> Result<Box<dyn File>, Failure> {
        let file = FakeFile { files: self.files.clone(), made: (partition.cloned().unwrap_or_default(), extension.into(), Vec::new()) };
        Ok(Box::new(file))
    }

    fn log(&self, _: Level, text: &str) {
        self.log.borrow_mut().push(text.into());
    }
}

struct FakeFile {
    files: Rc<RefCell<Vec<Made>>>,
    made: Made,
}

impl File for FakeFile {
    fn write(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.made.2.extend_from_slice(data);
        Ok(())
    }

    fn close(self: Box<Self>, rows: i64) -> Result<StagedFile, Failure> {
        let mut files = self.files.borrow_mut();
        let staged = StagedFile { name: format!("file-{}.{}", files.len(), self.made.1), partition: self.made.0.clone(), rows, bytes: self.made.2.len() as i64 };
        files.push(self.made);
        Ok(staged)
    }
}
