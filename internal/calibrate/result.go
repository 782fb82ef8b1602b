package calibrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/farhash/farhash/internal/system/regular"
	"github.com/farhash/farhash/internal/system/replace"
)

// Result is what reads cost. The fields are named as in the file.
type Result struct {
	Engine string    `json:"engine"` // set by the caller that saves it; the model does not use it
	Ranks  int       `json:"ranks"`
	Time   time.Time `json:"time"`

	LatencyNs          float64 `json:"latencyNs"`          // c
	ByteNs             float64 `json:"byteNs"`             // alpha
	LinkBytesPerSecond float64 `json:"linkBytesPerSecond"` // l, all ranks together
	MessagesPerSecond  float64 `json:"messagesPerSecond"`  // rho0, all ranks together
	HeaderBytes        float64 `json:"headerBytes"`        // h, not measured

	Points []Point `json:"points"` // that the line is fitted to

	// The model does not use these.
	Rates   []Rate   `json:"rates,omitempty"`   // of reads
	Shipped *Shipped `json:"shipped,omitempty"` // nil where the engine carries no requests
	// Missing is what was not measured, for lack of time.
	Missing []string `json:"missing,omitempty"`
}

// Rate is how many operations of one length all ranks together do in a second.
type Rate struct {
	Bytes     int     `json:"bytes"`
	Flight    int     `json:"flight"` // in flight at each rank
	PerSecond float64 `json:"perSecond"`
}

// Shipped is what requests cost that the program of another rank answers. Each is as long as
// its answer.
type Shipped struct {
	LatencyNs float64 `json:"latencyNs"` // of one of no bytes
	ByteNs    float64 `json:"byteNs"`    // more for each byte of it, there and back
	Points    []Point `json:"points"`    // that the line is fitted to
	Rates     []Rate  `json:"rates"`
	// Auto is what a table with rma.Auto does here, and why, if an operation takes one
	// message; MinBatch is from how many operations for a rank on it ships them, 0 for never.
	Auto     string `json:"auto"`
	MinBatch int    `json:"least"`
}

// Point is what reads of one length took.
type Point struct {
	Bytes int     `json:"bytes"`
	Ns    float64 `json:"ns"` // median
}

// median of values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// fit fits a line to points with least squares of the relative errors. Where noise
// gives a line that falls, or one that meets zero bytes below zero, the answer is the
// nearest that makes sense.
func fit(points []Point) (latencyNs, byteNs float64) {
	var w, x, y, xx, xy float64
	least := math.Inf(1)
	for _, p := range points {
		weight := 1 / (p.Ns * p.Ns)
		bytes := float64(p.Bytes)
		w, x, y = w+weight, x+weight*bytes, y+weight*p.Ns
		xx, xy = xx+weight*bytes*bytes, xy+weight*bytes*p.Ns
		least = min(least, p.Ns)
	}
	byteNs = max((w*xy-x*y)/(w*xx-x*x), 0)
	latencyNs = (y - byteNs*x) / w
	if latencyNs <= 0 {
		return least, byteNs
	}
	return latencyNs, byteNs
}

// check refuses what no measurement gives.
func (r *Result) check() error {
	for _, v := range []struct {
		name  string
		value float64
		zero  bool
	}{{"latencyNs", r.LatencyNs, false}, {"byteNs", r.ByteNs, true},
		{"linkBytesPerSecond", r.LinkBytesPerSecond, false},
		{"messagesPerSecond", r.MessagesPerSecond, false}, {"headerBytes", r.HeaderBytes, false},
	} {
		if !(v.value >= 0) || math.IsInf(v.value, 1) || v.value == 0 && !v.zero {
			return fmt.Errorf("%s is %v, which no measurement gives", v.name, v.value)
		}
	}
	return nil
}

// DefaultPath is where results are kept unless a file is named.
func DefaultPath() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("calibrate: there is no folder to keep results in; name a file: %w",
			err)
	}
	return filepath.Join(dir, "farhash", "calibration.json"), nil
}

// Format is the format of files of results.
var Format = replace.Format{Name: "result of farhash calibrate", Known: func(head []byte) bool {
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"latencyNs":`))
}}

// Save writes a result into a file, whose folder is made if there is none. The file is the
// old one or the new one at any time. A file that is no result is refused.
func (r *Result) Save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("calibrate: saving the result: %w", err)
	}
	err = replace.File(path, Format, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("calibrate: saving the result: %w", err)
	}
	return nil
}

// maxResultBytes is more than Save writes.
const maxResultBytes = 1 << 20

// Load reads what Save has written.
func Load(path string) (*Result, error) {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("calibrate: there is no %s; farhash calibrate makes it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxResultBytes))
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("calibrate: %s is no result of farhash calibrate: %w", path, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("calibrate: %s: %w; farhash calibrate makes it anew", path, err)
	}
	return r, nil
}
