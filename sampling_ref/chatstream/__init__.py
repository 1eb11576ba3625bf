"""ChatStream's three penalties: processors, how they are put together, a worked example.

Qualiteg, "Three penalties in LLM sampling" (in Japanese;
https://blog.qualiteg.com/making_penalty_processor).
"""
