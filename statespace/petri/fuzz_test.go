package petri_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/farhash/farhash/statespace/petri"
)

// FuzzRead holds Read to a net that passes Check and survives a round trip, or
// to an error with a line, and the same if timing is left out.
func FuzzRead(f *testing.F) {
	for _, c := range goodFiles {
		f.Add([]byte(c.file))
	}
	for _, c := range append(badFiles, otherFiles...) {
		f.Add([]byte(c.file))
	}
	leaveOut := petri.Options{LeaveOut: func(*petri.SyntaxError) {}}
	f.Add([]byte("\xff\xfe<\x00p\x00n\x00m\x00l\x00/\x00>\x00"))
	f.Add([]byte("<?xml version='1.0' encoding='ISO-8859-1'?><pnml><net id='\xe9'/></pnml>"))
	for _, d := range dialects {
		file, err := os.ReadFile(filepath.Join("testdata", "dialects", d.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		n, err := petri.Read(bytes.NewReader(file))
		if err != nil {
			var bad *petri.SyntaxError
			if !errors.As(err, &bad) || bad.Line < 1 || bad.Line > 1+len(file) || bad.Msg == "" {
				t.Fatalf("no line or no message in the error %#v", err)
			}
			n, err = leaveOut.Read(bytes.NewReader(file))
			if err != nil {
				return
			}
		} else if same, err := leaveOut.Read(bytes.NewReader(file)); err != nil ||
			!reflect.DeepEqual(same, n) {
			t.Fatalf("got  %+v, %v when nothing is to be left out\nwant %+v", same, err, n)
		}
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := petri.Write(&again, n); err != nil {
			t.Fatal(err)
		}
		got, err := petri.Read(&again)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, n) {
			t.Fatalf("got  %+v\nwant %+v", got, n)
		}
	})
}
