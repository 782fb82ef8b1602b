package dedup_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/farhash/farhash/dedup"
)

// A program asks for each record whether it is new.
func ExampleFilter_Seen() {
	f, err := dedup.New(dedup.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for _, line := range []string{"a", "b", "a"} {
		seen, err := f.Seen([]byte(line))
		fmt.Println(line, seen, err)
	}
	// Output:
	// a false <nil>
	// b false <nil>
	// a true <nil>
}

// The first line of each user is copied.
func ExampleFilter_Copy() {
	f, err := dedup.New(dedup.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	var out strings.Builder
	stats, err := f.Copy(context.Background(), &out, strings.NewReader("ann 1\nbob 2\nann 3\n"),
		dedup.Format{Field: 1, Delimiter: ' '})
	fmt.Print(out.String())
	fmt.Println(stats.Read, "read,", stats.Kept, "kept", err)
	// Output:
	// ann 1
	// bob 2
	// 3 read, 2 kept <nil>
}
