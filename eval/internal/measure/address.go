package measure

import (
	"fmt"
	"net"
)

// OwnAddress is by which address this host is reached by one that knows another's.
func OwnAddress(other string) (string, error) {
	conn, err := net.Dial("udp", other) // nothing is sent
	if err != nil {
		return "", fmt.Errorf("finding the address of this host: %w", err)
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}
