package doctor

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/internal/ucxdevices"
)

// The ports of a job are reported, with who can connect to them.
func TestDoctorPorts(t *testing.T) {
	tcp := func(name string, used bool) ucxdevices.Device {
		return ucxdevices.Device{Transport: "tcp", Name: name, Kind: ucxdevices.Network, Used: used}
	}
	addresses := func(device string) []net.IP {
		return []net.IP{net.ParseIP(map[string]string{"lo": "127.0.0.1", "eth0": "10.1.2.3",
			"eth1": "198.51.100.7"}[device])}
	}
	card := ucxdevices.Device{Transport: "rc_mlx5", Name: "mlx5_0:1", Kind: ucxdevices.Network,
		Used: true}
	t.Setenv(launch.RendezvousVariable, "")
	for _, c := range []struct {
		named    string
		devices  []ucxdevices.Device
		level    Level
		messages []string
	}{
		{"", []ucxdevices.Device{tcp("lo", true), tcp("eth0", true), tcp("eth1", false), card},
			Note, []string{"one of these", "eth0 [10.1.2.3]: its network",
				"without the token"}},
		{"", []ucxdevices.Device{tcp("eth0", true), tcp("eth1", true)}, Warning,
			[]string{"eth1 [198.51.100.7]: everybody"}},
		{"lo", []ucxdevices.Device{tcp("lo", true)}, OK,
			[]string{"each of these", "this host"}},
		{"mlx5_0:1", []ucxdevices.Device{card}, OK, []string{"rank 0 listens"}},
	} {
		t.Setenv(ucxdevices.Variable, c.named)
		s := &ucxReport{Survey: ucxdevices.Survey{Devices: c.devices}}
		f := s.ports(addresses)
		if f.Level != c.level || (f.Level == OK) != (f.Remedy == "") {
			t.Errorf("%+v", f)
		}
		for _, want := range c.messages {
			if !strings.Contains(f.Message, want) {
				t.Errorf("%q is not in %q", want, f.Message)
			}
		}
		if strings.Contains(f.Message, "mlx5") {
			t.Errorf("a card that needs no TCP listens: %q", f.Message)
		}
	}
	// Where the rendezvous is known, so is the device.
	t.Setenv(ucxdevices.Variable, "")
	t.Setenv(launch.RendezvousVariable, "127.0.0.1:29500")
	devices := []ucxdevices.Device{tcp("lo", true), tcp("eth1", true)}
	s := &ucxReport{Survey: ucxdevices.Survey{Devices: devices}}
	if f := s.ports(addresses); f.Level != OK || strings.Contains(f.Message, "eth1") {
		t.Errorf("%+v", f)
	}
}

// TestLossLimit: a limit that cannot be used is a warning.
func TestLossLimit(t *testing.T) {
	f := lossLimit(3*time.Second, nil)
	if f.Level != OK || f.Values["silentSeconds"] != 3.0 ||
		!strings.Contains(f.Message, "out of reach for 3s;") {
		t.Errorf("%+v", f)
	}
	f = lossLimit(0, errors.New("no time"))
	if f.Level != Warning || f.Message != "no time" {
		t.Errorf("%+v", f)
	}
	silent, signals := new(ucxReport).progress(), ucxReport{}
	signals.Survey.Events = true
	if is := signals.progress(); silent.Level != Warning || silent.Remedy == "" ||
		is.Level != OK {
		t.Errorf("%+v, %+v", silent, is)
	}
}

// TestReachOf: the widest reach of all addresses counts, in any order.
func TestReachOf(t *testing.T) {
	for addresses, want := range map[string]reach{"": thisHost, "127.0.0.1 ::1": thisHost,
		"10.1.2.3 127.0.0.1": itsNetwork, "fe80::1": itsNetwork, "198.51.100.7 10.1.2.3": everybody,
		"127.0.0.1 10.1.2.3 198.51.100.7": everybody} {
		var all []net.IP
		for _, text := range strings.Fields(addresses) {
			all = append(all, net.ParseIP(text))
		}
		if got := reachOf(all); got != want {
			t.Errorf("%q: %v, want %v", addresses, got, want)
		}
	}
}
