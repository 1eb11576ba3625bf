"""The record of a question, answered by the reference now: no answer that is kept is believed."""

import msgspec

from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.reference import ReferenceEngine
from tokenref.fuzzing.errors import CampaignError
from tokenref.fuzzing.question import Question
from tokenref.fuzzing.records import case_of
from tokenref.judge import judge
from tokenref.record import Case, Exact, answer_type, meaning_digest, op_of
from tokenref.runner import guarded
from tokenref.subjects import Subject, load_subject
from tokenref.verdicts import Close


def answered_anew(question: Question, name: str, *, slug: str, why: str) -> Case:
    """Return the record of a question. Raises `CampaignError`, which begins with `name`.

    >>> from tokenref.subjects import SAMPLERS
    >>> request = {"probs": {"f32": "3f0000003f000000"}, "params": {"k": 1}}
    >>> question = Question("top_k", "standard", SAMPLERS, "", request)
    >>> answered_anew(question, "one", slug="one", why="Of two equal tokens the first stays.").out
    KeepOutput(keep=[0])
    """
    answer = _right_answer(question, name)
    try:
        case = case_of(question, answer, slug=slug, why=why)
    except (msgspec.ValidationError, ValueError) as error:
        raise CampaignError(f"{name}: it is no question: {error}") from None
    if case is None:
        raise CampaignError(f"{name}: rounding decides the answer, so that it is no golden")
    return case


def kept_anew(case: Case, subject: Subject) -> Case:
    """Return a record as it is, with the answer and the sum that it has now.

    How an answer is judged stays as it was when the record was made, unless the answer
    has become another one of those that it names, or a refusal. Raises `CampaignError`,
    which names the record.

    >>> from tokenref.catalogue import open_catalogue
    >>> catalogue = open_catalogue()
    >>> case = next(case for case in catalogue.cases if case.id.startswith("bpe/count/"))
    >>> kept_anew(case, catalogue.subject(case.vocab)) == case
    True
    """
    op, request = op_of(case), msgspec.to_builtins(case.input)
    question = Question(op, case.profile, subject, "", request)
    answer = _right_answer(question, case.id)
    if isinstance(answer, Ok) and isinstance(case.verdict, Exact | Close):
        out = msgspec.convert(dict(answer.out), answer_type(op))
        anew = msgspec.structs.replace(case, out=out)
        return msgspec.structs.replace(anew, sum=meaning_digest(anew))
    if judge(case, answer, subject).status == "pass":
        return case
    other = answered_anew(question, case.id, slug="kept", why=case.why)
    return msgspec.structs.replace(other, id=case.id, flags=case.flags, spec=case.spec)


def _right_answer(question: Question, name: str) -> Answer:
    session = load_subject(ReferenceEngine(), question.subject, name, question.profile)
    if isinstance(session, Unsupported):
        raise CampaignError(f"{name}: the reference cannot answer it: {session.reason}")
    answer = guarded(lambda: session.answer(question.op, question.request))
    if not isinstance(answer, Ok | Refused):
        raise CampaignError(f"{name}: the reference cannot answer it: {answer}")
    return answer
