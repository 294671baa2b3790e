# Every target is a script in bin/ that also runs without make.

demo:  ## install, ingest the sample trace, run it, keep the app up
	sh bin/demo

test:  ## install and run the tests
	sh bin/test

check:  ## ruff and mypy
	sh bin/check

.PHONY: demo test check
