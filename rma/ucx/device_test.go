package ucx

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
