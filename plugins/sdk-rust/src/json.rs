//! A small reader and writer of JSON (RFC 8259). Numbers stay as they are written.

/// Any value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// As it is written.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object, in the order of its members.
    Object(Vec<(String, Value)>),
    /// JSON that is there already, to be written as it is.
    Raw(String),
}

impl Value {
    /// A member of an object; null if there is none.
    pub fn get(&self, name: &str) -> &Value {
        match self {
            Value::Object(members) => members.iter().find(|(n, _)| n == name).map_or(&Value::Null, |(_, v)| v),
            _ => &Value::Null,
        }
    }

    /// The text; empty if it is none.
    pub fn text(&self) -> String {
        match self {
            Value::Text(t) => t.clone(),
            _ => String::new(),
        }
    }

    /// The whole number; 0 if it is none.
    pub fn number(&self) -> i64 {
        match self {
            Value::Number(n) => n.parse().unwrap_or(0),
            _ => 0,
        }
    }

    /// The items; none if it is no array.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The members; none if it is no object.
    pub fn members(&self) -> &[(String, Value)] {
        match self {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    /// Appends the value as JSON.
    pub fn write(&self, to: &mut String) {
        match self {
            Value::Null => to.push_str("null"),
            Value::Bool(b) => to.push_str(if *b { "true" } else { "false" }),
            Value::Number(n) | Value::Raw(n) => to.push_str(n),
            Value::Text(t) => write_text(t, to),
            Value::List(items) => {
                to.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        to.push(',');
                    }
                    item.write(to);
                }
                to.push(']');
            }
            Value::Object(members) => {
                to.push('{');
                for (i, (name, value)) in members.iter().enumerate() {
                    if i > 0 {
                        to.push(',');
                    }
                    write_text(name, to);
                    to.push(':');
                    value.write(to);
                }
                to.push('}');
            }
        }
    }
}

fn write_text(text: &str, to: &mut String) {
    to.push('"');
    for c in text.chars() {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            c if (c as u32) < 0x20 => to.push_str(&format!("\\u{:04x}", c as u32)),
            c => to.push(c),
        }
    }
    to.push('"');
}

/// How deep values may lie in each other.
const DEEPEST: usize = 100;

/// Reads one value; nothing but white space may follow it.
pub fn parse(text: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(text).map_err(|e| e.to_string())?;
    let mut p = Parser { text: text.as_bytes(), at: 0 };
    let value = p.value(0)?;
    p.blanks();
    if p.at < p.text.len() {
        return Err(p.wrong("something follows the value"));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn wrong(&self, what: &str) -> String {
        format!("JSON, byte {}: {}", self.at, what)
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') && self.at < self.text.len() {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, String> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.wrong("no value"))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(self.wrong("values lie too deep in each other"));
        }
        self.blanks();
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => Ok(Value::Text(self.string()?)),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let begin = self.at;
        while matches!(self.peek(), b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.text[begin..self.at]).into_owned();
        if text.parse::<f64>().is_err() {
            return Err(self.wrong("no value"));
        }
        Ok(Value::Number(text))
    }

    /// Tells whether a list or an object goes on.
    fn goes_on(&mut self, first: bool, end: u8) -> Result<bool, String> {
        self.blanks();
        if self.peek() == end {
            self.at += 1;
            return Ok(false);
        }
        if !first {
            if self.peek() != b',' {
                return Err(self.wrong("a comma is missing"));
            }
            self.at += 1;
        }
        Ok(true)
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        while self.goes_on(items.is_empty(), b']')? {
            items.push(self.value(depth + 1)?);
        }
        Ok(Value::List(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut members = Vec::new();
        while self.goes_on(members.is_empty(), b'}')? {
            self.blanks();
            let name = self.string()?;
            self.blanks();
            if self.peek() != b':' {
                return Err(self.wrong("a colon is missing"));
            }
            self.at += 1;
            members.push((name, self.value(depth + 1)?));
        }
        Ok(Value::Object(members))
    }

    fn string(&mut self) -> Result<String, String> {
        if self.peek() != b'"' {
            return Err(self.wrong("no string"));
        }
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            if self.at >= self.text.len() {
                return Err(self.wrong("a string without an end"));
            }
            let b = self.text[self.at];
            self.at += 1;
            match b {
                b'"' => return String::from_utf8(bytes).map_err(|e| e.to_string()),
                b'\\' => self.escape(&mut bytes)?,
                _ => bytes.push(b),
            }
        }
    }

    fn escape(&mut self, to: &mut Vec<u8>) -> Result<(), String> {
        let b = self.peek();
        self.at += 1;
        let plain = match b {
            b'"' | b'\\' | b'/' => b,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(self.wrong("half a character"));
                    }
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                }
                let c = char::from_u32(code).ok_or_else(|| self.wrong("half a character"))?;
                to.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.wrong("no escape")),
        };
        to.push(plain);
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|d| std::str::from_utf8(d).ok());
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or_else(|| self.wrong("no code of a character"))?;
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written() {
        for text in [
            "null",
            "[true,false,-1.50e3,\"\"]",
            "{\"a\":{\"b\":[]},\"c\":\"d\\\"\\\\é🌞\"}",
            "\"\\u0001\"",
            "123456789012345678901234567890",
        ] {
            let mut again = String::new();
            parse(text.as_bytes()).unwrap().write(&mut again);
            assert_eq!(again, text);
        }
    }

    #[test]
    fn escapes_are_characters() {
        assert_eq!(parse(br#" "\u00e9\ud83c\udf1e\n\/\t" "#), Ok(Value::Text("é🌞\n/\t".into())));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(200);
        for text in ["", "{", "[1", "[1 2]", "{\"a\" 1}", "{a:1}", "\"", "\"\\x\"", "\"\\ud83c\"", "\"\\u12\"", "tru", "1 2", "--", "nul", &deep] {
            assert!(parse(text.as_bytes()).is_err(), "{}", text);
        }
        assert!(parse(&[b'"', 0xff, b'"']).is_err());
    }
}
