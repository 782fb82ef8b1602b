package launch

import (
	"fmt"
	"strings"
)

// maxCut is how much of a value a message repeats.
const maxCut = 100

// Cut shortens a value of the user's for a message.
func Cut(value string) string {
	if len(value) <= maxCut {
		return value
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(value[:maxCut], ""), len(value))
}
