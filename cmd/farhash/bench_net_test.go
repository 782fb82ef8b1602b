package main

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/rma/ucx"
)

func TestBenchNetUsage(t *testing.T) {
	for _, flags := range []string{
		"x", "--none", "--ranks-per-host 0", "--ranks-per-host 2000", "--hosts two", "--impl=",
		"--impl x", "--impl raw,raw", "--traffic=", "--traffic x", "--batch 0", "--batch 1",
		"--in-flight 0", "--in-flight 1", "--get-bytes 63", "--get-bytes=", "--buckets 0",
		"--buckets 1GB", "--new -1", "--new 2", "--new NaN", "--runs 0", "--runs 1001",
		"--piece 0", "--piece -1s", "--piece 1h", "--json --benchfmt", "--plot x.pdf",
		"--plot no/such/folder/x.svg",
	} {
		args := append([]string{"bench", "net"}, strings.Fields(flags)...)
		if code := runArgs(args...); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
	}
	mustFail(t, exitUsage, "needs ranks on two hosts", launched(t, "2", "bench", "net", "-q")...)
	if !ucx.Built {
		mustFail(t, exitFailure, "go build -tags ucx", "bench", "net", "-q")
	}
}
