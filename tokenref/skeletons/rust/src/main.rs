//! An engine that tokenref can judge. Put your own code where it says YOUR CODE.
//!
//! tokenref writes one JSON message per line to standard input; each is answered by
//! one line on standard output. Print anything else to standard error (`eprintln!`).

mod json;

use json::{object, text, Json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};

const PROFILES: [(&str, &[&str]); 2] = [
    ("encode", &["definition", "tiktoken"]),
    ("top_k", &["standard"]),
];
const LONGEST: usize = 2000; // bytes of the longest text: the example takes quadratic time

/// Why a question has no answer.
enum Trouble {
    Refused(&'static str, String), // a code from fixtures/README.md, and a message
    Skipped(String),               // this engine cannot be asked that
}
use Trouble::{Refused, Skipped};

struct Vocabulary {
    tokens: HashMap<Vec<u8>, (i64, i64)>, // bytes to id and rank
    whole_piece: bool,
}

// ---- YOUR CODE: the two functions below are examples. Call your own engine instead. ----

/// The tokens of a text: of all neighbours the lowest rank is merged first.
fn encode(vocabulary: &Vocabulary, content: &[u8]) -> Result<Vec<i64>, Trouble> {
    if let (true, Some((id, _))) = (vocabulary.whole_piece, vocabulary.tokens.get(content)) {
        return Ok(vec![*id]);
    }
    for byte in content {
        if !vocabulary.tokens.contains_key(&[*byte][..]) {
            return Err(Refused(
                "MISSING_BYTE",
                format!("no token is the byte {byte:02x}"),
            ));
        }
    }
    // Part number i is content[starts[i]..starts[i + 1]].
    let mut starts: Vec<usize> = (0..=content.len()).collect();
    let joined =
        |starts: &[usize], at: usize| vocabulary.tokens.get(&content[starts[at]..starts[at + 2]]);
    while let Some((_, at)) = (0..starts.len().saturating_sub(2))
        .filter_map(|at| joined(&starts, at).map(|(_, rank)| (*rank, at)))
        .min()
    {
        starts.remove(at + 1);
    }
    Ok(starts
        .windows(2)
        .map(|part| vocabulary.tokens[&content[part[0]..part[1]]].0)
        .collect())
}

/// The k tokens of the largest number; of equals, those of the lowest ids.
fn top_k(row: &[f64], impossible: f64, k: usize) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..row.len())
        .filter(|token| row[*token] > impossible)
        .collect();
    ids.sort_by(|a, b| row[*b].partial_cmp(&row[*a]).expect("no NaN is here")); // stable: equals stay as they are
    ids.truncate(k);
    ids.sort();
    ids
}

// ---- What follows is the protocol. It rarely needs a change. ----

/// The answer of one case.
fn answer(op: &str, question: &Json, vocabulary: Option<&Vocabulary>) -> Result<Json, Trouble> {
    match op {
        "encode" => {
            let vocabulary =
                vocabulary.ok_or_else(|| Skipped("no vocabulary is loaded".to_string()))?;
            let ids = encode(vocabulary, &read_text(question)?)?;
            Ok(object([(
                "ids",
                Json::List(ids.into_iter().map(Json::Integer).collect()),
            )]))
        }
        "top_k" => {
            let lowest = if question.has("probs") {
                0.0
            } else {
                f64::NEG_INFINITY
            };
            let row = read_floats(question.get(if question.has("probs") {
                "probs"
            } else {
                "logits"
            }));
            if !row
                .iter()
                .all(|number| (lowest..f64::INFINITY).contains(number))
                || !row.iter().any(|number| *number > lowest)
            {
                return Err(Refused(
                    "INVALID_ROW",
                    "no token is possible, or a number is not allowed".to_string(),
                ));
            }
            let params = question.get("params");
            let least = if params.has("least") {
                params.get("least").integer()
            } else {
                Some(1)
            };
            match (params.get("k").integer(), least) {
                (Some(k), Some(least)) if k >= 1 && least >= 1 => {
                    let kept = top_k(&row, lowest, k.max(least) as usize);
                    Ok(object([(
                        "keep",
                        Json::List(
                            kept.into_iter()
                                .map(|token| Json::Integer(token as i64))
                                .collect(),
                        ),
                    )]))
                }
                _ => Err(Refused(
                    "INVALID_PARAMETER",
                    "k must be a whole number from 1".to_string(),
                )),
            }
        }
        _ => Err(Skipped(format!("has no operation {op}"))),
    }
}

/// Reads a vocabulary file, or says why this engine has none such.
fn read_vocabulary(path: &str) -> Result<Vocabulary, Trouble> {
    let content = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let plain = json::read(&content).unwrap_or_else(|error| panic!("{path}: {error}"));
    for (name, only) in [
        ("rule", text("concatenation")),
        ("pattern", Json::Null),
        ("normalization", Json::Null),
    ] {
        if *plain.get(name) != only {
            return Err(Skipped(format!("has no {name} {}", plain.get(name))));
        }
    }
    let mut tokens = HashMap::new();
    for token in plain.get("tokens").list() {
        match token.list() {
            [Json::Text(spelled), Json::Integer(id), Json::Integer(rank)] => {
                tokens.insert(read_hex(spelled), (*id, *rank))
            }
            _ => return Err(Skipped("has ids of 63 bits only".to_string())),
        };
    }
    Ok(Vocabulary {
        tokens,
        whole_piece: *plain.get("whole_piece") == Json::Bool(true),
    })
}

/// The bytes of a text, which is given in one of three ways.
fn read_text(question: &Json) -> Result<Vec<u8>, Trouble> {
    let content = match (
        question.get("text"),
        question.get("bytes"),
        question.get("recipe"),
    ) {
        (Json::Text(given), _, _) => given.clone().into_bytes(),
        (_, Json::Text(hex), _) => read_hex(hex),
        (_, _, recipe) => {
            let part = |name| read_hex(recipe.get(name).text().expect("a recipe has all parts"));
            let times = recipe
                .get("times")
                .integer()
                .expect("a recipe says how often") as usize;
            let unit = part("unit");
            if unit.len().saturating_mul(times) > LONGEST {
                return Err(Skipped(format!(
                    "takes no text of more than {LONGEST} bytes"
                )));
            }
            [part("before"), unit.repeat(times), part("after")].concat()
        }
    };
    if content.len() > LONGEST {
        return Err(Skipped(format!(
            "takes no text of more than {LONGEST} bytes"
        )));
    }
    Ok(content)
}

fn read_hex(digits: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("hexadecimal digits") as u8;
    digits
        .as_bytes()
        .chunks(2)
        .map(|two| digit(two[0]) << 4 | digit(two[1]))
        .collect()
}

/// The numbers of a row: big-endian hexadecimal digits, or a recipe for them.
fn read_floats(floats: &Json) -> Vec<f64> {
    if let Some(dtype) = floats.get("dtype").text() {
        let mut row = Vec::new();
        let seed = floats.get("seed").text().expect("a recipe has a seed");
        let mut state = u64::from_str_radix(&seed[2..], 16).expect("0x and hexadecimal digits");
        let whole = |name| floats.get(name).integer().expect("a whole number") as u64;
        let shift = match dtype {
            "f16" => 7,
            "bf16" => 4,
            _ => 20,
        };
        for _ in 0..whole("n") {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15); // SplitMix64
            let word = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            row.push(((word ^ word >> 31) % whole("span")) as f64 / f64::from(1 << shift));
        }
        for one in floats.get("put").list() {
            if let [Json::Integer(place), Json::Text(digits)] = one.list() {
                row[*place as usize] = from_digits(dtype, digits)[0];
            }
        }
        return row;
    }
    match floats {
        Json::Object(members) => from_digits(&members[0].0, members[0].1.text().expect("digits")),
        _ => panic!("no numbers"),
    }
}

fn from_digits(dtype: &str, digits: &str) -> Vec<f64> {
    let size = match dtype {
        "f64" => 8,
        "f32" => 4,
        _ => 2,
    };
    read_hex(digits)
        .chunks(size)
        .map(|number| {
            let bits = number
                .iter()
                .fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            match dtype {
                "f64" => f64::from_bits(bits),
                "f32" => f64::from(f32::from_bits(bits as u32)),
                "bf16" => f64::from(f32::from_bits((bits as u32) << 16)), // the upper half of an f32
                _ => half(bits as u16),
            }
        })
        .collect()
}

/// The number that the 16 bits of an IEEE half stand for.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    match i32::from(bits >> 10 & 0x1f) {
        0 => sign * fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => sign * f64::INFINITY,
        0x1f => f64::NAN,
        exponent => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// What became of a call: exactly one of ok, err, skip, crash.
fn guarded<T>(call: impl FnOnce() -> Result<T, Trouble>) -> Result<T, (&'static str, Json)> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Refused(code, message))) => Err((
            "err",
            object([("code", text(code)), ("msg", text(&message))]),
        )),
        Ok(Err(Skipped(reason))) => Err(("skip", object([("reason", text(&reason))]))),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| said.to_string()));
            Err((
                "crash",
                object([("msg", text(&said.unwrap_or_else(|| "panicked".to_string())))]),
            ))
        }
    }
}

fn main() -> io::Result<()> {
    let mut vocabulary: Option<(Json, Vocabulary)> = None; // only the last one is kept
    for line in io::stdin().lock().lines() {
        let message = json::read(&line?).map_err(io::Error::other)?;
        let reply = match message.get("cmd").text() {
            Some("hello") => {
                let profiles =
                    |names: &[&str]| Json::List(names.iter().map(|name| text(name)).collect());
                let ops = PROFILES
                    .iter()
                    .map(|(op, names)| (op.to_string(), object([("profiles", profiles(names))])));
                let impl_ = object([
                    ("name", text("my-engine")),
                    ("version", text("0.1")),
                    ("language", text("rust")),
                ]);
                object([
                    ("proto", Json::Integer(1)),
                    ("impl", impl_),
                    ("ops", Json::Object(ops.collect())),
                ])
            }
            Some("load") => {
                vocabulary = None;
                let path = message.get("path").text().unwrap_or("");
                let (outcome, value) = match guarded(|| read_vocabulary(path)) {
                    Ok(loaded) => {
                        vocabulary = Some((message.get("vocab").clone(), loaded));
                        ("ok", object([]))
                    }
                    Err(trouble) => trouble,
                };
                object([("id", message.get("id").clone()), (outcome, value)])
            }
            Some("run") => {
                let op = message.get("op").text().unwrap_or("");
                let loaded = vocabulary
                    .as_ref()
                    .filter(|(name, _)| name == message.get("vocab"))
                    .map(|(_, loaded)| loaded);
                let results = message.get("cases").list().iter().map(|case| {
                    let (outcome, value) = match guarded(|| answer(op, case.get("in"), loaded)) {
                        Ok(value) => ("ok", value),
                        Err(trouble) => trouble,
                    };
                    object([("k", case.get("k").clone()), (outcome, value)])
                });
                object([
                    ("id", message.get("id").clone()),
                    ("results", Json::List(results.collect())),
                ])
            }
            _ => return Ok(()), // bye
        };
        let mut output = io::stdout().lock();
        writeln!(output, "{reply}")?;
        output.flush()?;
    }
    Ok(())
}
