package twohosts

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestPair(t *testing.T) {
	p := New(t)
	for host, want := range []string{"-0\n", "-1\n"} {
		out, err := p.Command(host, "hostname").Output()
		if err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("host %d is called %q: %v", host, out, err)
		}
		if err := p.reaches(host, "60"); err != nil {
			t.Errorf("host %d does not reach the other: %v", host, err)
		}
	}
	p.Cut(t)
	if err := p.reaches(0, "0.3"); err == nil {
		t.Error("the cable is cut, and the other host is reached")
	}
}

// reaches has a host connect to a port of the other, where nobody listens: it gets an
// error at once, or no answer within some seconds.
func (p *Pair) reaches(host int, seconds string) error {
	script := fmt.Sprintf("exec 2>&1; : < /dev/tcp/%s/9", p.Address(1-host))
	out, _ := p.Command(host, "timeout", seconds, "bash", "-c", script).CombinedOutput()
	if !strings.Contains(string(out), "refused") {
		return fmt.Errorf("it got %q", out)
	}
	return nil
}

// Addresses are free, and no two are the same.
func TestFreeAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		address := FreeAddress(t)
		l, err := net.Listen("tcp", address)
		if err != nil || seen[address] {
			t.Fatalf("%s is taken: %v", address, err)
		}
		defer l.Close()
		seen[address] = true
	}
}
