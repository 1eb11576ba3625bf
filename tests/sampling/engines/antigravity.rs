// The sampling function that the Antigravity runner's documentation describes, in 32-bit
// floats, as a program that tells every intermediate result. One request per line:
//
//     sample temperature top_p penalty r top_k window : history : row
//     format first mean
//
// Floats are bit patterns in hexadecimal, so no digit is lost on the way. The answer to
// `sample` has one part per step, separated by ";": penalised logits, scaled logits,
// probabilities, candidates after top-k, candidates after top-p, and the token or "none".
// At temperature 0 only the first and the last part have something in them. `format`
// answers with the two lines of the runner's report for numbers of 64 bits.

use std::io::{self, BufRead, Write};

fn float(word: &str) -> f32 {
    f32::from_bits(u32::from_str_radix(word, 16).unwrap())
}

fn double(word: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(word, 16).unwrap())
}

fn patterns(row: &[f32]) -> String {
    let words: Vec<String> = row.iter().map(|x| format!("{:08x}", x.to_bits())).collect();
    words.join(" ")
}

fn ids(tokens: &[usize]) -> String {
    let words: Vec<String> = tokens.iter().map(|token| token.to_string()).collect();
    words.join(" ")
}

fn sample(request: &str) -> String {
    let parts: Vec<&str> = request.split(':').collect();
    let settings: Vec<&str> = parts[0].split_whitespace().collect();
    let (temperature, top_p) = (float(settings[0]), float(settings[1]));
    let (penalty, r) = (float(settings[2]), float(settings[3]));
    let top_k: usize = settings[4].parse().unwrap();
    let window: usize = settings[5].parse().unwrap();
    let history: Vec<usize> =
        parts[1].split_whitespace().map(|word| word.parse().unwrap()).collect();
    let mut row: Vec<f32> = parts[2].split_whitespace().map(float).collect();

    for &token in &history[history.len().saturating_sub(window)..] {
        if row[token] < 0.0 {
            row[token] *= penalty;
        } else {
            row[token] /= penalty;
        }
    }
    let penalised = patterns(&row);
    if temperature == 0.0 {
        let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        return format!("{penalised};;;;;{best}");
    }

    row.iter_mut().for_each(|logit| *logit /= temperature);
    let scaled = patterns(&row);

    let greatest = row.iter().fold(f32::NEG_INFINITY, |most, &logit| most.max(logit));
    let mut total = 0.0f32;
    for logit in row.iter_mut() {
        *logit = (*logit - greatest).exp();
        total += *logit;
    }
    row.iter_mut().for_each(|weight| *weight /= total);
    let probabilities = patterns(&row);

    let mut kept: Vec<usize> = (0..row.len()).collect();
    kept.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
    kept.truncate(top_k);
    let candidates = ids(&kept);

    let mut running = 0.0f32;
    let crossing = kept.iter().position(|&token| {
        running += row[token];
        running > top_p
    });
    if let Some(place) = crossing {
        kept.truncate(place + 1);
    }

    let mut sum = 0.0f32;
    for &token in &kept {
        sum += row[token];
    }
    let mut left = r * sum;
    let drawn = kept.iter().find(|&&token| {
        left -= row[token];
        left <= 0.0
    });
    let token = drawn.map_or("none".to_string(), |token| token.to_string());
    format!("{penalised};{scaled};{probabilities};{candidates};{};{token}", ids(&kept))
}

fn report(request: &str) -> String {
    let numbers: Vec<f64> = request.split_whitespace().map(double).collect();
    let (first, mean) = (numbers[0], numbers[1]);
    format!("TTFT: {:.2} ms|Avg TBT: {:.2} ms ({:.1} tokens/sec)", first, mean, 1000.0 / mean)
}

fn main() {
    let mut output = io::BufWriter::new(io::stdout());
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let answer = match line.split_once(' ').unwrap() {
            ("sample", request) => sample(request),
            ("format", request) => report(request),
            (other, _) => panic!("no such request: {other}"),
        };
        writeln!(output, "{answer}").unwrap();
    }
}
