//go:build !ucx || !cgo

package ucx

import (
	"context"
	"strings"
	"testing"
)

// Without the engine Join says how to build it.
func TestNotBuilt(t *testing.T) {
	_, err := Join(context.Background(), Config{})
	if err == nil || Built || Library() != "" {
		t.Fatalf("Join: %v; built: %v", err, Built)
	}
	if !strings.Contains(err.Error(), "go build -tags ucx") {
		t.Errorf("Join does not say how to build the engine: %v", err)
	}
	t.Skip("the other tests need the engine: " + err.Error())
}
