"""``report.html``: one run as one page that opens anywhere, without a network. A pure function of the run."""
