// What mistral.rs's file `sampler.rs` needs of other crates, and a program that asks it: one
// question per line, its answer on a line. Instead of `@SOURCE@` there is the path of the file.
//
//     penalties FREQUENCY PRESENCE MULTIPLIER BASE ALLOWED BREAKERS CONTEXT WORD ROW T K P M
//     sample ...
//
// BREAKERS and CONTEXT are tokens with commas between them, ROW has 32-bit floats in hexadecimal,
// and "-" stands for nothing. `penalties` answers with the row; `sample` with the token, and after
// it with every token that is left.

use std::io::{self, BufRead};

#[allow(dead_code, unused_imports, unused_macros)]
mod sampler {
    mod candle_core {
        pub type Result<T> = std::result::Result<T, Error>;
        #[derive(Debug)]
        pub enum Error { Msg(String) }
        impl Error {
            pub fn wrap(error: impl std::fmt::Display) -> Self { Error::Msg(error.to_string()) }
        }
        macro_rules! bail { ($($part:tt)*) => { return Err(Error::Msg(format!($($part)*))) } }
        pub(crate) use bail;
        pub enum Device { Cpu }
        pub enum D { Minus1 }
        #[derive(Clone)]
        pub struct Tensor(pub Vec<f32>);
        impl Tensor {
            pub fn from_vec(row: Vec<f32>, _: usize, _: &Device) -> Result<Self> { Ok(Tensor(row)) }
            pub fn from_slice(row: &[f32], _: usize, _: &Device) -> Result<Self> {
                Ok(Tensor(row.to_vec()))
            }
            pub fn shape(&self) -> usize { self.0.len() }
            pub fn to_vec1<T: From<f32>>(&self) -> Result<Vec<T>> {
                Ok(self.0.iter().map(|&number| number.into()).collect())
            }
            pub fn argmax(&self, _: D) -> Result<Tensor> { bail!("the best token is not asked for") }
            pub fn to_scalar<T: TryFrom<u64>>(&self) -> Result<T> {
                T::try_from(self.0[0] as u64).map_err(|_| Error::Msg("not whole".into()))
            }
        }
        impl std::ops::Div<f64> for &Tensor {
            type Output = Result<Tensor>;
            fn div(self, number: f64) -> Result<Tensor> {
                let factor = (1.0 / number) as f32;
                Ok(Tensor(self.0.iter().map(|logit| logit * factor).collect()))
            }
        }
    }
    mod candle_nn {
        pub mod ops {
            use super::super::candle_core::{Result, Tensor};
            pub fn softmax_last_dim(row: &Tensor) -> Result<Tensor> {
                let most = row.0.iter().fold(f32::NEG_INFINITY, |most, &logit| most.max(logit));
                let weights: Vec<f32> = row.0.iter().map(|logit| (logit - most).exp()).collect();
                let sum: f32 = weights.iter().sum();
                Ok(Tensor(weights.iter().map(|weight| weight / sum).collect()))
            }
        }
    }
    mod once_cell { pub mod sync { pub use std::sync::LazyLock as Lazy; } }
    mod rand_isaac {
        pub struct Isaac64Rng(pub u32);
        impl rand::RngCore for Isaac64Rng {
            fn next_u32(&mut self) -> u32 { self.0 }
            fn next_u64(&mut self) -> u64 { unimplemented!() }
            fn fill_bytes(&mut self, _: &mut [u8]) { unimplemented!() }
            fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), rand::Error> { unimplemented!() }
        }
    }
    mod rayon {
        pub mod iter {
            pub trait IndexedParallelIterator {}
            pub trait ParallelIterator {}
            pub trait IntoParallelRefIterator<T> { fn par_iter(&self) -> std::slice::Iter<'_, T>; }
            impl<T> IntoParallelRefIterator<T> for [T] {
                fn par_iter(&self) -> std::slice::Iter<'_, T> { self.iter() }
            }
        }
    }
    mod anyhow {
        #[derive(Debug)]
        pub struct Error;
        pub type Result<T> = std::result::Result<T, Error>;
        impl Error { pub fn msg<M>(_: M) -> Self { Error } }
    }
    mod tokenizers {
        pub struct Tokenizer;
        pub struct Encoding;
        impl Encoding { pub fn get_ids(&self) -> &[u32] { unimplemented!() } }
        impl Tokenizer {
            pub fn encode(&self, _: String, _: bool) -> Result<Encoding, String> { unimplemented!() }
            pub fn decode(&self, _: &[u32], _: bool) -> Result<String, String> { unimplemented!() }
        }
    }

    include!("@SOURCE@");

    fn given<T: std::str::FromStr>(word: &str) -> Option<T> { word.parse().ok() }

    fn tokens(word: &str) -> Vec<u32> { word.split(',').filter_map(given).collect() }

    pub fn answer(parts: &[&str]) -> Result<String> {
        let row: Vec<f32> = (0..parts[9].len() / 8)
            .map(|at| u32::from_str_radix(&parts[9][8 * at..8 * at + 8], 16).unwrap())
            .map(f32::from_bits)
            .collect();
        let dry = given(parts[3]).map(|multiplier| DrySamplingParamsInner {
            sequence_breakers: tokens(parts[6]).into_iter().collect(),
            multiplier,
            base: given(parts[4]).unwrap(),
            allowed_length: given(parts[5]).unwrap(),
        });
        let sampler = Sampler {
            temperature: given(parts[10]),
            top_n_logprobs: row.len(),
            tokenizer: None,
            frequency_penalty: given(parts[1]),
            presence_penalty: given(parts[2]),
            dry_params: dry,
            top_k: given(parts[11]).unwrap(),
            top_p: given(parts[12]).unwrap(),
            min_p: given(parts[13]).unwrap(),
            logits_processors: vec![],
        };
        let context = tokens(parts[7]);
        if parts[0] == "penalties" {
            let left = sampler.apply_penalties(row, &context)?.0;
            return Ok(left.iter().map(|logit| format!("{:08x}", logit.to_bits())).collect());
        }
        let words = Isaac64Rng(u32::from_str_radix(parts[8], 16).unwrap());
        let random = Arc::new(Mutex::new(words));
        let found = sampler.sample(Tensor(row), &context, true, random, false)?;
        let mut left = vec![found.token];
        for one in found.top_logprobs.unwrap() {
            if one.logprob > f32::NEG_INFINITY {
                left.push(one.token);
            }
        }
        Ok(left.iter().map(|token| token.to_string()).collect::<Vec<_>>().join(" "))
    }
}

fn main() {
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let parts: Vec<&str> = line.split_whitespace().collect();
        println!("{}", sampler::answer(&parts).unwrap());
    }
}
