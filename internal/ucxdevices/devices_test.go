package ucxdevices

import (
	"net"
	"testing"
)

// Of what UCX reaches by TCP a rank takes the interface by which it is connected to the others.
// Cards that need no TCP stay.
func TestReaching(t *testing.T) {
	all, err := net.Interfaces()
	lo := ""
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 {
			lo = i.Name
		}
	}
	if err != nil || lo == "" {
		t.Skipf("no loopback interface: %v", err)
	}
	devices := []Device{{Transport: "tcp", Name: "eth77", Kind: Network},
		{Transport: "rc_mlx5", Name: "mlx5_0:1", Kind: Network},
		{Transport: "posix", Name: "memory", Kind: Memory},
		{Transport: "tcp", Name: lo, Kind: Network},
		{Transport: "ud_mlx5", Name: "mlx5_0:1", Kind: Network}}
	for _, c := range []struct {
		at      string
		devices []Device
		want    string
	}{
		{"127.0.0.1", devices, "mlx5_0:1," + lo}, {"127.0.0.9", devices, "mlx5_0:1," + lo},
		{"192.0.2.1", devices, ""}, {"127.0.0.1", devices[:3], ""}, {"127.0.0.1", nil, ""},
	} {
		at := &net.TCPAddr{IP: net.ParseIP(c.at), Port: 1}
		if got := Reaching(c.devices, at); got != c.want {
			t.Errorf("%s: %q, want %q", c.at, got, c.want)
		}
	}
}

// UCX uses TCP unless the settings exclude it, or name no device that it could use.
func TestOverTCP(t *testing.T) {
	devices := []Device{{Transport: "tcp", Name: "eth0", Kind: Network},
		{Transport: "rc_verbs", Name: "rxe0:1", Kind: Network}}
	for _, c := range []struct {
		transports, choice string
		want               bool
	}{
		{"", "", true}, {"all", "", true}, {"tcp,self", "all", true}, {`\tcp`, "", true},
		{"^tcp", "", false}, {"^ud_verbs", "", true}, {"rc_verbs,ud_verbs,self", "", false},
		{"", "rxe0:1", false}, {"", "rxe0:1,eth0", true}, {"", "eth[0-3]", true},
	} {
		if got := OverTCP(c.transports, c.choice, devices); got != c.want {
			t.Errorf("UCX_TLS=%q UCX_NET_DEVICES=%q: %v", c.transports, c.choice, got)
		}
	}
}
