"""Draws: which token random numbers choose. Every random number is an argument.

inverse_cdf           one number; walk along the weights
gumbel_max            one number per token; the largest noisy logit
exponential_race      one number per token; the first to arrive
without_replacement   one number per draw; several different tokens
torch_cpu             the words of MT19937; torch.multinomial, bit for bit
noise                 what the races share
"""
