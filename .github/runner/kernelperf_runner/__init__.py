"""What stands between GitHub's jobs and the box: who may run, whether the machine is fit, and what is left behind."""
