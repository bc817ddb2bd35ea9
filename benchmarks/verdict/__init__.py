"""What `scripts/bench verdicts` is made of: samples from files or taken live, rules, truth, counts and bounds."""
