"""Draws: which token random numbers choose. Every random number is an argument.

inverse_cdf           one number per draw; walk along the weights; several different tokens
gumbel_max            one number per token; the largest noisy logit
exponential_race      one number per token; the first to arrive
torch_cpu             the words of MT19937; torch.multinomial, bit for bit
noise                 what the races share
"""
