"""Run the findings about torch, on a CPU."""

import torch


def log_softmax_in_16_bits() -> tuple[str, str]:
    row = torch.tensor([0.0, -6.0], dtype=torch.bfloat16)
    exact = row.double().log_softmax(-1)
    errors = [abs(float(one[0] - exact[0])) for one in (row.log_softmax(-1), row.softmax(-1).log())]
    accurate, inaccurate = "log_softmax is at least as accurate", "log_softmax is less accurate"
    return accurate, inaccurate if errors[0] > errors[1] else accurate


def cross_entropy_in_16_bits() -> tuple[str, str]:
    row, target = torch.tensor([[0.0, -6.0]]), torch.tensor([0])
    exact = torch.nn.functional.cross_entropy(row, target).bfloat16()
    actual = torch.nn.functional.cross_entropy(row.bfloat16(), target)
    return f"{exact:.6f}", f"{actual:.6f}"


FINDINGS = [log_softmax_in_16_bits, cross_entropy_in_16_bits]

if __name__ == "__main__":
    for finding in FINDINGS:
        print(finding.__name__, *finding(), sep="\n\t")
