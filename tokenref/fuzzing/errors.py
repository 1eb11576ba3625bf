"""What is wrong with a campaign that cannot be begun, gone on with, merged or promoted."""


class CampaignError(Exception):
    """A journal, an executor or a finding that cannot be used; the sentence says which and why."""
