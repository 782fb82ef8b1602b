package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// ports are files as of a machine with soft-RoCE, a card of Mellanox with both versions of RoCE,
// and one of InfiniBand.
var ports = map[string]string{
	"rxe0/ports/1/link_layer":         "Ethernet\n",
	"rxe0/ports/1/gids/0":             "fe80:0000:0000:0000:f09c:2fff:fed1:f675\n",
	"rxe0/ports/1/gids/1":             "0000:0000:0000:0000:0000:ffff:0a63:0001\n",
	"rxe0/ports/1/gids/2":             "0000:0000:0000:0000:0000:0000:0000:0000\n",
	"rxe0/ports/1/gids/10":            "fd99:0000:0000:0000:0000:0000:0000:0001\n",
	"rxe0/ports/1/gid_attrs/types/0":  "RoCE v2\n",
	"rxe0/ports/1/gid_attrs/types/1":  "RoCE v2\n",
	"rxe0/ports/1/gid_attrs/types/10": "RoCE v2\n",

	"mlx5_0/device/uevent":             "PCI_CLASS=20000\nDRIVER=mlx5_core\n",
	"mlx5_0/ports/2/link_layer":        "Ethernet\n",
	"mlx5_0/ports/2/gids/0":            "0000:0000:0000:0000:0000:ffff:0a63:0001\n",
	"mlx5_0/ports/2/gids/1":            "fe80:0000:0000:0000:0000:0000:0000:0001\n",
	"mlx5_0/ports/2/gid_attrs/types/0": "IB/RoCE v1\n",
	"mlx5_0/ports/2/gid_attrs/types/1": "RoCE v2\n",

	"mlx4_0/ports/1/link_layer": "InfiniBand\n",
}

// TestPorts reads the ports of a machine, and finds what UCX would choose.
func TestPorts(t *testing.T) {
	m := Machine{Root: t.TempDir()}
	for name, text := range ports {
		file := filepath.Join(m.Root, "sys/class/infiniband", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := make(map[string]Port)
	for _, p := range m.Ports() {
		found[p.Name] = p
	}
	if len(found) != 3 {
		t.Errorf("%+v", found)
	}
	for _, c := range []struct{ name, setting, want string }{
		{"rxe0:1", "", "driver \"\", Ethernet true, reports false, " +
			"GID 1, 10.99.0.1, IPv6 0, fe80::f09c:2fff:fed1:f675"},
		{"rxe0:1", "auto", "driver \"\", Ethernet true, reports false, " +
			"GID 1, 10.99.0.1, IPv6 0, fe80::f09c:2fff:fed1:f675"},
		{"rxe0:1", "10", "driver \"\", Ethernet true, reports false, " +
			"GID 10, fd99::1, IPv6 0, fe80::f09c:2fff:fed1:f675"},
		{"rxe0:1", "2", "driver \"\", Ethernet true, reports false, no GID, " +
			"IPv6 0, fe80::f09c:2fff:fed1:f675"},
		{"mlx5_0:2", "", "driver \"mlx5_core\", Ethernet true, reports true, " +
			"GID 1, fe80::1, IPv6 1, fe80::1"},
		{"mlx4_0:1", "", "driver \"\", Ethernet false, reports false, no GID, no IPv6"},
	} {
		p := found[c.name]
		got := fmt.Sprintf("driver %q, Ethernet %v, reports %v", p.Driver, p.Ethernet,
			p.ReportsPackets())
		if g, ok := p.GID(c.setting); ok {
			got += ", GID " + g.String()
		} else {
			got += ", no GID"
		}
		if g, ok := p.IPv6(); ok {
			got += ", IPv6 " + g.String()
		} else {
			got += ", no IPv6"
		}
		if got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.name, c.setting, got, c.want)
		}
	}
}
