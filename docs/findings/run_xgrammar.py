"""Run the findings about xgrammar."""

import torch
import xgrammar


def row_behind_a_full_one() -> tuple[str, str]:
    rows, words = torch.zeros(2, 1), torch.tensor([[1], [1]], dtype=torch.int32)
    xgrammar.apply_token_bitmask_inplace(rows, words)
    return "[[0.0], [0.0]]", str(rows.tolist())


FINDINGS = [row_behind_a_full_one]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t")
