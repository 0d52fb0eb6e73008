//! The rows of a relation: Arrow IPC messages, of which only what the engine sends is read (uncompressed, flat columns).
//! Everything that the methods of a column rely on is checked when its batch is read.

use crate::Failure;

/// Rows as they come from the engine, some thousand at a time.
pub struct Rows {
    messages: Box<dyn Iterator<Item = Result<Vec<u8>, Failure>>>,
    fields: Option<Vec<Field>>,
    made: Vec<Batch>, // by a test, the last one first
}

/// A column's name, and what its values are.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
}

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// true or false
    Bool,
    /// A signed integer of so many bits.
    Int(usize),
    /// An unsigned one.
    Uint(usize),
    /// A float of 32 or 64 bits.
    Float(usize),
    /// A decimal with this scale: a 128-bit integer times ten to the power of minus the scale.
    Decimal(usize),
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
    /// Days since 1970-01-01.
    Date,
    /// Since midnight, in units of which a second has ten to this power.
    Time(usize),
    /// Since 1970-01-01, in such units; and whether it is a moment (in UTC), or what a clock showed.
    Timestamp(usize, bool),
}

/// A part of the rows.
pub struct Batch {
    /// How many there are.
    pub rows: usize,
    /// Their columns, in order.
    pub columns: Vec<Column>,
}

/// A column of a batch.
pub struct Column {
    /// Its name and kind.
    pub field: Field,
    valid: Option<Vec<u8>>,
    offsets: Vec<u8>,
    data: Vec<u8>,
}

fn bad(what: &str) -> Failure {
    Failure::error(format!("the rows cannot be read: {}", what))
}

impl Rows {
    /// Rows of Arrow IPC messages: the schema, then record batches.
    pub fn new(messages: Box<dyn Iterator<Item = Result<Vec<u8>, Failure>>>) -> Rows {
        Rows { messages, fields: None, made: Vec::new() }
    }

    /// The next batch; `None` after the last.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, Failure> {
        if let Some(batch) = self.made.pop() {
            return Ok(Some(batch));
        }
        if self.fields.is_none() {
            let message = self.messages.next().ok_or_else(|| bad("there is no schema"))??;
            self.fields = Some(read_schema(&message)?);
        }
        match self.messages.next() {
            None => Ok(None),
            Some(message) => Ok(Some(read_batch(&message?, self.fields.as_deref().unwrap_or(&[]))?)),
        }
    }
}

impl Column {
    /// Whether a row has no value.
    pub fn is_null(&self, row: usize) -> bool {
        self.valid.as_ref().map_or(false, |v| v[row >> 3] >> (row & 7) & 1 == 0)
    }

    /// A value of kind Bool.
    pub fn bool(&self, row: usize) -> bool {
        self.data[row >> 3] >> (row & 7) & 1 == 1
    }

    /// A value of kind Int, Date, Time or Timestamp.
    pub fn int(&self, row: usize) -> i64 {
        let width = width(&self.field.kind);
        let b = &self.data[row * width..(row + 1) * width];
        match width {
            1 => b[0] as i8 as i64,
            2 => i16::from_le_bytes([b[0], b[1]]) as i64,
            4 => i32::from_le_bytes([b[0], b[1], b[2], b[3]]) as i64,
            _ => i64::from_le_bytes(eight(b)),
        }
    }

    /// A value of kind Uint.
    pub fn uint(&self, row: usize) -> u64 {
        let width = width(&self.field.kind);
        let mut b = [0; 8];
        b[..width].copy_from_slice(&self.data[row * width..(row + 1) * width]);
        u64::from_le_bytes(b)
    }

    /// A value of kind Float.
    pub fn float(&self, row: usize) -> f64 {
        if width(&self.field.kind) == 4 {
            return f32::from_bits(self.uint(row) as u32) as f64;
        }
        f64::from_bits(self.uint(row))
    }

    /// A value of kind Decimal, times ten to the power of its scale.
    pub fn decimal(&self, row: usize) -> i128 {
        let mut b = [0; 16];
        b.copy_from_slice(&self.data[row * 16..row * 16 + 16]);
        i128::from_le_bytes(b)
    }

    /// A value of kind Text, which is UTF-8, or Binary.
    pub fn bytes(&self, row: usize) -> &[u8] {
        &self.data[self.offset(row)..self.offset(row + 1)]
    }

    fn offset(&self, row: usize) -> usize {
        let b = &self.offsets[row * 4..row * 4 + 4];
        u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize
    }

    fn check(&self, rows: usize, node_rows: i64) -> Result<(), Failure> {
        if node_rows != rows as i64 {
            return Err(bad("columns of different lengths"));
        }
        let bits = (rows + 7) / 8;
        if self.valid.as_ref().map_or(false, |v| v.len() < bits) {
            return Err(bad("NULLs without their bits"));
        }
        let need = match self.field.kind {
            Kind::Bool => bits,
            Kind::Text | Kind::Binary => return self.check_offsets(rows),
            _ => rows * width(&self.field.kind),
        };
        if self.data.len() < need {
            return Err(bad("a column is cut"));
        }
        Ok(())
    }

    fn check_offsets(&self, rows: usize) -> Result<(), Failure> {
        if rows > 0 && self.offsets.len() < 4 * (rows + 1) {
            return Err(bad("texts without their lengths"));
        }
        let mut last = 0;
        for row in 0..if rows > 0 { rows + 1 } else { 0 } {
            let offset = self.offset(row);
            if offset < last || offset > self.data.len() {
                return Err(bad("texts with wrong lengths"));
            }
            last = offset;
        }
        Ok(())
    }
}

fn eight(b: &[u8]) -> [u8; 8] {
    let mut all = [0; 8];
    all.copy_from_slice(b);
    all
}

/// The bytes of a value; 0: it has bits, or any number of bytes.
fn width(kind: &Kind) -> usize {
    match kind {
        Kind::Int(bits) | Kind::Uint(bits) | Kind::Float(bits) => bits / 8,
        Kind::Date => 4,
        Kind::Time(_) | Kind::Timestamp(_, _) => 8,
        Kind::Decimal(_) => 16,
        Kind::Bool | Kind::Text | Kind::Binary => 0,
    }
}

/// A FlatBuffer, in which Arrow describes its messages (flatbuffers.dev, "Internals"). A place outside of it reads as 0, and
/// makes it bad.
struct Flat<'a> {
    data: &'a [u8],
    bad: std::cell::Cell<bool>,
}

impl<'a> Flat<'a> {
    fn at(&self, place: usize, n: usize) -> u64 {
        let end = place.checked_add(n).filter(|end| *end <= self.data.len());
        let mut b = [0; 8];
        match end {
            Some(end) => b[..n].copy_from_slice(&self.data[place..end]),
            None => self.bad.set(true),
        }
        u64::from_le_bytes(b)
    }

    fn int(&self, place: usize) -> i64 {
        self.at(place, 4) as i32 as i64
    }

    fn long(&self, place: usize) -> i64 {
        self.at(place, 8) as i64
    }

    fn follow(&self, place: usize) -> usize {
        place.wrapping_add(self.int(place) as usize)
    }

    /// The place of a table's field; `None`: it is not there and has its default.
    fn field(&self, table: usize, id: usize) -> Option<usize> {
        let vtable = table.wrapping_sub(self.int(table) as usize);
        let slot = 4 + 2 * id;
        if slot + 2 > self.at(vtable, 2) as usize {
            return None;
        }
        match self.at(vtable.wrapping_add(slot), 2) as usize {
            0 => None,
            offset => Some(table.wrapping_add(offset)),
        }
    }

    fn child(&self, table: usize, id: usize) -> Option<usize> {
        self.field(table, id).map(|place| self.follow(place))
    }

    fn short_field(&self, table: usize, id: usize, otherwise: i64) -> i64 {
        self.field(table, id).map_or(otherwise, |place| self.at(place, 2) as i16 as i64)
    }

    fn int_field(&self, table: usize, id: usize, otherwise: i64) -> i64 {
        self.field(table, id).map_or(otherwise, |place| self.int(place))
    }

    fn byte_field(&self, table: usize, id: usize) -> u64 {
        self.field(table, id).map_or(0, |place| self.at(place, 1))
    }

    /// The place of a vector's first element, of the size given, and their number.
    fn vector(&self, table: usize, id: usize, size: usize) -> (usize, usize) {
        match self.child(table, id) {
            None => (0, 0),
            Some(v) => {
                let n = self.int(v);
                let first = v.wrapping_add(4);
                if n < 0 || first > self.data.len() || n as usize > (self.data.len() - first) / size {
                    self.bad.set(true);
                    return (0, 0);
                }
                (first, n as usize)
            }
        }
    }

    fn text(&self, table: usize, id: usize) -> String {
        let (first, n) = self.vector(table, id, 1);
        String::from_utf8_lossy(&self.data[first..first + n]).into_owned()
    }
}

/// Takes an encapsulated message apart: its description, the table that heads it, and its body.
fn open(message: &[u8], header: u64) -> Result<(Flat<'_>, usize, &[u8]), Failure> {
    let head = Flat { data: message, bad: std::cell::Cell::new(false) };
    let (mark, size) = (head.at(0, 4), head.at(4, 4) as usize);
    if head.bad.get() || mark != 0xffff_ffff {
        return Err(bad("no Arrow message"));
    }
    if size > message.len() - 8 {
        return Err(bad("an Arrow message is cut"));
    }
    let (description, body) = message[8..].split_at(size);
    let f = Flat { data: description, bad: std::cell::Cell::new(false) };
    let root = f.follow(0);
    let kind = f.byte_field(root, 1);
    match f.child(root, 2) {
        Some(table) if kind == header && !f.bad.get() => Ok((f, table, body)),
        _ => Err(bad("an Arrow message of another kind than was due")),
    }
}

fn read_schema(message: &[u8]) -> Result<Vec<Field>, Failure> {
    let (f, schema, _) = open(message, 1)?;
    if f.short_field(schema, 0, 0) != 0 {
        return Err(bad("big-endian"));
    }
    let (first, n) = f.vector(schema, 1, 4);
    let mut fields = Vec::with_capacity(n);
    for i in 0..n {
        let table = f.follow(first + 4 * i);
        let name = f.text(table, 0);
        match read_kind(&f, table) {
            Some(kind) => fields.push(Field { name, kind }),
            None if f.bad.get() => break,
            None => return Err(Failure::error(format!("column {}: its type cannot be read here: leave it out, or cast it to text in a step", name))),
        }
    }
    if f.bad.get() {
        return Err(bad("a damaged schema"));
    }
    Ok(fields)
}

/// What Arrow's Schema.fbs numbers. A type that is not read is `None`.
fn read_kind(f: &Flat<'_>, table: usize) -> Option<Kind> {
    if f.field(table, 4).is_some() {
        return None; // a dictionary
    }
    let t = f.child(table, 3)?;
    let digits = |unit: i64| if (0..4).contains(&unit) { Some(3 * unit as usize) } else { None };
    match f.byte_field(table, 2) {
        6 => Some(Kind::Bool),
        5 => Some(Kind::Text),
        4 => Some(Kind::Binary),
        2 => {
            let bits = f.int_field(t, 0, 0) as usize;
            if ![8, 16, 32, 64].contains(&bits) {
                return None;
            }
            Some(if f.byte_field(t, 1) != 0 { Kind::Int(bits) } else { Kind::Uint(bits) })
        }
        3 => match f.short_field(t, 0, 0) {
            1 => Some(Kind::Float(32)),
            2 => Some(Kind::Float(64)),
            _ => None,
        },
        7 => {
            let (precision, scale) = (f.int_field(t, 0, 0), f.int_field(t, 1, 0));
            if f.int_field(t, 2, 128) != 128 || scale < 0 || scale > precision || precision > 38 {
                return None;
            }
            Some(Kind::Decimal(scale as usize))
        }
        8 if f.short_field(t, 0, 1) == 0 => Some(Kind::Date),
        9 if f.int_field(t, 1, 32) == 64 => digits(f.short_field(t, 0, 1)).map(Kind::Time),
        10 => digits(f.short_field(t, 0, 0)).map(|d| Kind::Timestamp(d, !f.text(t, 1).is_empty())),
        _ => None,
    }
}

fn read_batch(message: &[u8], fields: &[Field]) -> Result<Batch, Failure> {
    let (f, table, body) = open(message, 3)?;
    let rows = f.field(table, 0).map_or(0, |place| f.long(place));
    let (nodes, node_count) = f.vector(table, 1, 16);
    let (buffers, buffer_count) = f.vector(table, 2, 16);
    if f.field(table, 3).is_some() {
        return Err(bad("compressed record batches"));
    }
    if f.bad.get() || rows < 0 || rows > 8 * body.len() as i64 && !fields.is_empty() || node_count != fields.len() {
        return Err(bad("a damaged record batch"));
    }
    let mut next = 0;
    let mut take = || -> Result<Vec<u8>, Failure> {
        if next == buffer_count {
            return Err(bad("a damaged record batch"));
        }
        let at = buffers + 16 * next;
        next += 1;
        let (offset, size) = (f.long(at), f.long(at + 8));
        if offset < 0 || size < 0 || offset > body.len() as i64 || size > body.len() as i64 - offset {
            return Err(bad("a damaged record batch"));
        }
        Ok(body[offset as usize..(offset + size) as usize].to_vec())
    };
    let rows = rows as usize;
    let mut columns = Vec::with_capacity(fields.len());
    for (i, field) in fields.iter().enumerate() {
        let valid = take()?;
        let offsets = if matches!(field.kind, Kind::Text | Kind::Binary) { take()? } else { Vec::new() };
        let nulls = f.long(nodes + 16 * i + 8);
        let column = Column { field: field.clone(), valid: if nulls == 0 { None } else { Some(valid) }, offsets, data: take()? };
        column.check(rows, f.long(nodes + 16 * i))?;
        columns.push(column);
    }
    Ok(Batch { rows, columns })
}

#[cfg(not(target_arch = "wasm32"))]
impl Rows {
    /// Rows that a test has made.
    pub(crate) fn of(mut batches: Vec<Batch>) -> Rows {
        batches.reverse();
        Rows { messages: Box::new(std::iter::empty()), fields: Some(Vec::new()), made: batches }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Column {
    pub(crate) fn made(field: Field, valid: Vec<u8>, offsets: Vec<u8>, data: Vec<u8>) -> Column {
        Column { field, valid: Some(valid), offsets, data }
    }
}
