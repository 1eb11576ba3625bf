"""Programs that speak the protocol rightly, or break it in one way each."""
