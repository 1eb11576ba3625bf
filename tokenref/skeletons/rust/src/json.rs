//! JSON, as much of it as the protocol needs: a reader and a writer.

use std::fmt;

const DEEPEST: usize = 100; // a deeper nesting is refused, or a hostile line could overflow the stack

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Real(f64), // also a whole number that 64 bits do not hold
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The value of a member, or null where there is none.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map_or(&Json::Null, |(_, value)| value),
            _ => &Json::Null,
        }
    }

    pub fn has(&self, name: &str) -> bool {
        matches!(self, Json::Object(members) if members.iter().any(|(key, _)| key == name))
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    pub fn integer(&self) -> Option<i64> {
        if let Json::Integer(number) = self {
            Some(*number)
        } else {
            None
        }
    }

    pub fn list(&self) -> &[Json] {
        if let Json::List(entries) = self {
            entries
        } else {
            &[]
        }
    }
}

pub fn text(text: &str) -> Json {
    Json::Text(text.to_string())
}

pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect(),
    )
}

/// Writes on one line.
impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => write!(out, "null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Integer(number) => write!(out, "{number}"),
            Json::Real(number) if number.is_finite() => write!(out, "{number:e}"),
            Json::Real(_) => write!(out, "null"), // JSON has no such number
            Json::Text(text) => write_text(text, out),
            Json::List(entries) => {
                write!(out, "[")?;
                for (at, entry) in entries.iter().enumerate() {
                    write!(out, "{}{entry}", if at > 0 { "," } else { "" })?;
                }
                write!(out, "]")
            }
            Json::Object(members) => {
                write!(out, "{{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    write!(out, "{}", if at > 0 { "," } else { "" })?;
                    write_text(name, out)?;
                    write!(out, ":{value}")?;
                }
                write!(out, "}}")
            }
        }
    }
}

fn write_text(text: &str, out: &mut fmt::Formatter) -> fmt::Result {
    write!(out, "\"")?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(out, "\\{character}")?,
            ' '..='~' => write!(out, "{character}")?,
            _ => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
    }
    write!(out, "\"")
}

/// Reads one value that is the whole text.
pub fn read(text: &str) -> Result<Json, String> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
    };
    let value = reader.value(0)?;
    reader.spaces();
    if reader.at < text.len() {
        Err(reader.wrong("the end"))
    } else {
        Ok(value)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, expected: &str) -> String {
        format!("not JSON: expected {expected} at byte {}", self.at)
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn take(&mut self, word: &str) -> Result<(), String> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.wrong(word));
        }
        self.at += word.len();
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(self.wrong("less nesting"));
        }
        self.spaces();
        match self.peek() {
            b'n' => self.take("null").map(|()| Json::Null),
            b't' => self.take("true").map(|()| Json::Bool(true)),
            b'f' => self.take("false").map(|()| Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' => {
                let mut entries = Vec::new();
                self.members(b']', |reader| Ok(entries.push(reader.value(depth + 1)?)))?;
                Ok(Json::List(entries))
            }
            b'{' => {
                let mut members = Vec::new();
                self.members(b'}', |reader| {
                    reader.spaces();
                    let name = reader.string()?;
                    reader.spaces();
                    reader.take(":")?;
                    Ok(members.push((name, reader.value(depth + 1)?)))
                })?;
                Ok(Json::Object(members))
            }
            _ => self.number(),
        }
    }

    /// Reads what stands between brackets, with commas in between.
    fn members(
        &mut self,
        end: u8,
        mut one: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.at += 1;
        self.spaces();
        if self.peek() != end {
            one(self)?;
            self.spaces();
            while self.peek() == b',' {
                self.at += 1;
                one(self)?;
                self.spaces();
            }
        }
        if self.peek() != end {
            return Err(self.wrong("a comma or the closing bracket"));
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        while matches!(self.peek(), b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
            self.at += 1;
        }
        let digits = std::str::from_utf8(&self.bytes[start..self.at]).expect("digits are ASCII");
        if let Ok(number) = digits.parse() {
            return Ok(Json::Integer(number));
        }
        digits
            .parse()
            .map(Json::Real)
            .map_err(|_| self.wrong("a value"))
    }

    fn string(&mut self) -> Result<String, String> {
        self.take("\"")?;
        let mut bytes = Vec::new();
        loop {
            let byte = self.peek();
            if byte < b' ' {
                return Err(self.wrong("a closing quote"));
            }
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(bytes).map_err(|_| self.wrong("UTF-8")),
                b'\\' => {
                    let character = self.escape()?;
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => bytes.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        self.at += 1;
        Ok(match self.bytes.get(self.at - 1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
            Some(b'u') => {
                let mut code = self.unit()?;
                if (0xd800..0xdc00).contains(&code) {
                    self.take("\\u")?;
                    let low = self.unit()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(self.wrong("the second half of a surrogate pair"));
                    }
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                }
                char::from_u32(code).ok_or_else(|| self.wrong("no lone surrogate"))?
            }
            _ => return Err(self.wrong("an escape")),
        })
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self
            .bytes
            .get(self.at..self.at + 4)
            .and_then(|four| std::str::from_utf8(four).ok());
        let unit = digits.and_then(|four| u32::from_str_radix(four, 16).ok());
        self.at += 4;
        unit.ok_or_else(|| self.wrong("four hexadecimal digits"))
    }
}
