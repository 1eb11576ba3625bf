"""The sampler of the Antigravity runner: one function, from logits to a token.

Antigravity is a program in Rust that runs Llama 3.2. Its documentation describes one
function `sample()`, chapter 5 "Tokenizer & Sampling", section 5.3; the program is
https://github.com/hedone21/llm_rs2, `src/bin/generate.rs`. In our words:

    1. For each of the last `repetition_window` tokens, once per occurrence: a negative
       logit is multiplied by `repetition_penalty`, any other is divided by it.
    2. At temperature 0 the greatest logit wins. Else divide all logits by the temperature.
    3. Softmax.
    4. Sort by falling probability and keep the first `top_k`.
    5. Keep up to and including the first token at which the running sum of these
       probabilities is greater than `top_p`.
    6. Take a random number in [0, 1) times the sum of what is kept, and subtract the
       probabilities in order; the first token that leaves no more than 0 is drawn.

It is offered twice, with the same steps: exact, where no number is rounded, and in 32-bit
floats, each operation rounded as the program rounds it. The chapter leaves open, or settles
in its code alone:

Per occurrence
    A token that stands in the window three times is penalised three times.
Ties at temperature 0
    The last of equal maxima wins, by Rust's total order: +0 is above -0. In 32-bit floats
    a NaN is then a number like others, and a positive one the greatest.
Ties in the sort
    It is stable: equals stay in the order of their ids. In 32-bit floats tokens with
    different logits can have equal probabilities, so the two versions can differ here.
The mass of top-p
    The probabilities are those of step 3. They are not made to sum to 1 after top-k, so
    where the first `top_k` tokens hold no more than `top_p`, all of them stay.
Strictly greater
    A running sum of exactly `top_p` is not enough; the next token is kept as well.
`top_k` of 0
    The chapter's code then keeps no token, and no token can be drawn. That is an error here
    (`zero_top_k="none left"`). The program takes 0 as no limit (`"no limit"`).
No token reached
    In 32-bit floats the subtraction may end above 0; the chapter's code then returns
    nothing. Here the last candidate whose probability is not 0 is drawn (`exhausted="last
    candidate"`): the one that exact arithmetic would have reached. The program takes the
    likeliest (`"first candidate"`); `"error"` refuses. Exact sums always reach 0.
A random number of 0
    The first candidate is drawn, since subtracting it leaves no more than 0.
A random number near 1
    The program's are multiples of 2^-24. One that 32 bits would round to 1 is taken for the
    largest of those, 1 - 2^-24, in the 32-bit version.
Impossible tokens
    A logit of minus infinity stays so and has probability 0. It is never drawn, though the
    32-bit version counts it among the `top_k`, as the program does.
Domains
    The chapter checks none. Here a penalty must be above 0, a temperature at least 0, and
    `top_p` in [0, 1]. The exact version takes them as the exact numbers they are, the
    other one rounds them to 32 bits first.
What leaves the 32-bit range
    Where a penalty or a temperature makes a logit infinite, every probability would be
    NaN and no token would be drawn. That is an error, and so is NaN above temperature 0.
"""
