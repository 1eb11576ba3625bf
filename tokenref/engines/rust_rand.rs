// Rust's crates of random numbers as a program: one question per line, its answer on a line.
//
//     words GENERATOR VIEW SEED KEY COUNTER TAKEN COUNT
//     uniforms KIND WORD...
//
// Numbers are hexadecimal; KEY holds bytes, and "-" stands for nothing.

use rand::distributions::{Distribution, Standard, Uniform};
use rand_core::{Error, RngCore, SeedableRng};
use std::io::{self, BufRead};

struct Given(Vec<u64>);

impl RngCore for Given {
    fn next_u32(&mut self) -> u32 { self.0.remove(0) as u32 }
    fn next_u64(&mut self) -> u64 { self.0.remove(0) }
    fn fill_bytes(&mut self, _: &mut [u8]) { unimplemented!() }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Error> { unimplemented!() }
}

fn number(digits: &str) -> u64 { u64::from_str_radix(digits, 16).unwrap() }

fn started<R: SeedableRng + RngCore + 'static>(seed: &str, key: &str) -> Box<dyn RngCore> {
    if key == "-" {
        return Box::new(R::seed_from_u64(number(seed)));
    }
    let mut bytes = R::Seed::default();
    for (place, byte) in bytes.as_mut().iter_mut().enumerate() {
        *byte = u8::from_str_radix(&key[2 * place..2 * place + 2], 16).unwrap();
    }
    Box::new(R::from_seed(bytes))
}

macro_rules! chacha {
    ($kind:ty, $seed:expr, $key:expr, $counter:expr) => {{
        if $counter == "-" {
            started::<$kind>($seed, $key)
        } else {
            let mut bytes = [0u8; 32];
            for (place, byte) in bytes.iter_mut().enumerate() {
                *byte = u8::from_str_radix(&$key[2 * place..2 * place + 2], 16).unwrap();
            }
            let (stream, block) = $counter.split_at(16);
            let mut made = <$kind>::from_seed(bytes);
            made.set_stream(number(stream));
            made.set_word_pos((number(block) as u128) << 4);
            Box::new(made) as Box<dyn RngCore>
        }
    }};
}

fn pcg64(seed: &str, key: &str) -> Box<dyn RngCore> {
    if key == "-" {
        return Box::new(rand_pcg::Pcg64::seed_from_u64(number(seed)));
    }
    let halves: Vec<u128> = (0..2)
        .map(|place| u128::from_str_radix(&key[32 * place..32 * place + 32], 16).unwrap().swap_bytes())
        .collect();
    Box::new(rand_pcg::Pcg64::new(halves[0], halves[1]))
}

fn words(parts: &[&str]) -> String {
    let (name, view, seed, key, counter) = (parts[0], parts[1], parts[2], parts[3], parts[4]);
    let (taken, count) = (number(parts[5]), number(parts[6]));
    let mut source = match name {
        "chacha8" => chacha!(rand_chacha::ChaCha8Rng, seed, key, counter),
        "chacha12" => chacha!(rand_chacha::ChaCha12Rng, seed, key, counter),
        "chacha20" => chacha!(rand_chacha::ChaCha20Rng, seed, key, counter),
        "isaac64" => started::<rand_isaac::Isaac64Rng>(seed, key),
        "splitmix64" => started::<rand_xoshiro::SplitMix64>(seed, key),
        "xoshiro256plusplus" => started::<rand_xoshiro::Xoshiro256PlusPlus>(seed, key),
        "pcg64" => pcg64(seed, key),
        _ => unreachable!(),
    };
    let mut found = Vec::new();
    for place in 0..taken + count {
        let word = match view {
            "32" => format!("{:08x}", source.next_u32()),
            _ => format!("{:016x}", source.next_u64()),
        };
        if place >= taken {
            found.push(word);
        }
    }
    found.join(" ")
}

fn uniforms(parts: &[&str]) -> String {
    let mut given = Given(parts[1..].iter().map(|word| number(word)).collect());
    let mut found = Vec::new();
    for _ in 1..parts.len() {
        found.push(match parts[0] {
            "float" => format!("{:08x}", Distribution::<f32>::sample(&Standard, &mut given).to_bits()),
            "index" => format!("{:08x}", Uniform::new(0f32, 1f32).sample(&mut given).to_bits()),
            _ => format!("{:016x}", Distribution::<f64>::sample(&Standard, &mut given).to_bits()),
        });
    }
    found.join(" ")
}

fn main() {
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let parts: Vec<&str> = line.split_whitespace().collect();
        println!("{}", if parts[0] == "words" { words(&parts[1..]) } else { uniforms(&parts[1..]) });
    }
}
