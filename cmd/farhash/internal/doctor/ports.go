package doctor

import (
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Port is a port of a card.
type Port struct {
	Name     string // for UCX_NET_DEVICES: "mlx5_0:1"
	Driver   string // of the card; "" for one without hardware, such as soft-RoCE
	Ethernet bool   // it speaks RoCE
	GIDs     []GID  // that are set, by index
}

// GID is an address of a port.
type GID struct {
	Index   int
	Address netip.Addr
	Version int // of RoCE
}

// IPv4 reports whether it is an address of IPv4.
func (g GID) IPv4() bool { return g.Address.Is4In6() }

func (g GID) String() string { return fmt.Sprintf("%d, %v", g.Index, g.Address.Unmap()) }

// Ports are the ports of all cards.
func (m Machine) Ports() []Port {
	var all []Port
	for _, card := range m.Cards() {
		dir := path.Join("sys/class/infiniband", card)
		driver, _ := m.field(path.Join(dir, "device/uevent"), "DRIVER=")
		for _, n := range m.numbers(path.Join(dir, "ports")) {
			port := path.Join(dir, "ports", strconv.Itoa(n))
			layer, _ := m.read(path.Join(port, "link_layer"))
			all = append(all, Port{Name: fmt.Sprint(card, ":", n), Driver: driver,
				Ethernet: layer == "Ethernet", GIDs: m.gids(port)})
		}
	}
	return all
}

// gids are the GIDs of a port.
func (m Machine) gids(port string) []GID {
	var all []GID
	for _, i := range m.numbers(path.Join(port, "gids")) {
		text, _ := m.read(path.Join(port, "gids", strconv.Itoa(i)))
		address, err := netip.ParseAddr(text)
		if err != nil || address.IsUnspecified() {
			continue
		}
		kind, _ := m.read(path.Join(port, "gid_attrs/types", strconv.Itoa(i)))
		g := GID{Index: i, Address: address, Version: 1}
		if kind == "RoCE v2" {
			g.Version = 2
		}
		all = append(all, g)
	}
	return all
}

// numbers are the names in a folder that are numbers, in order.
func (m Machine) numbers(dir string) []int {
	entries, _ := os.ReadDir(m.path(dir))
	var all []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// ReportsPackets reports whether the driver says of each packet whether it came by IPv4 or IPv6.
func (p Port) ReportsPackets() bool { return strings.HasPrefix(p.Driver, "mlx") }

// GID is the one that UCX uses of a port with RoCE, by UCX_IB_GID_INDEX: the one with that index,
// or else RoCE v2 before v1, and then IPv4 before IPv6.
func (p Port) GID(setting string) (g GID, found bool) {
	if index, err := strconv.Atoi(setting); err == nil {
		i := slices.IndexFunc(p.GIDs, func(g GID) bool { return g.Index == index })
		if i < 0 {
			return g, false
		}
		return p.GIDs[i], true
	}
	for _, other := range p.GIDs {
		if !found || other.Version > g.Version ||
			other.Version == g.Version && other.IPv4() && !g.IPv4() {
			g, found = other, true
		}
	}
	return g, found
}

// IPv6 is the first GID of IPv6 and RoCE v2.
func (p Port) IPv6() (GID, bool) {
	i := slices.IndexFunc(p.GIDs, func(g GID) bool { return !g.IPv4() && g.Version == 2 })
	if i < 0 {
		return GID{}, false
	}
	return p.GIDs[i], true
}
