# What is installed: the command, and the libraries for C, C++, Fortran and Python. The Makefile
# includes this.

PREFIX ?= /usr/local

# As one word of the shell, whatever is in it.
PREFIX_WORD = '$(subst ','\'',$(PREFIX))'

.PHONY: generate install uninstall test-clib bench-clib

generate: ## write what repeats farhash.h in C, Fortran and Python
	CGO_ENABLED=1 $(GO) generate ./bind/c

install: ## install the command and the libraries for C, C++, Fortran and Python in PREFIX (/usr/local)
	GO='$(GO)' scripts/install $(PREFIX_WORD)

uninstall: ## remove what make install has put into PREFIX
	scripts/install -u $(PREFIX_WORD)

# Tests of what lacks its compiler or MPI are skipped.
test-clib: ## test the libraries for C, C++, Fortran and Python
	CGO_ENABLED=1 $(TEST) -tags clib ./bind/c ./bind/python

bench-clib: ## compare calls from C and Python with calls from Go
	CGO_ENABLED=1 $(GO) test -count=1 -timeout 30m -tags clib -run '^$$' -bench Speed ./bind/c ./bind/python
