package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// stream prints answers of a search that runs, so that a process that is killed has given them.
type stream struct {
	f    *exploreFlags
	net  *petri.Net
	show *display
	*lines
}

// lines is what is printed of answers before the last one. Streams of one command share it.
type lines struct {
	mu      sync.Mutex
	printed map[string]bool // by the names of properties
	ended   bool
	err     error
	plan    explore.Plan // that an earlier search has announced
}

// stream begins to print answers to so many properties.
func (f *exploreFlags) stream(net *petri.Net, asked int) *stream {
	if f.lines == nil {
		f.lines = &lines{printed: map[string]bool{}}
	}
	show := &display{quiet: f.quiet, asked: asked, plan: f.lines.plan}
	return &stream{f, net, show, f.lines}
}

// answered prints an answer, where lines are asked for.
func (s *stream) answered(_ int, a property.Answer) {
	s.give(newPropertyAnswer(s.net, a))
}

// give prints an answer, where lines are asked for and it is not printed yet.
func (s *stream) give(p propertyAnswer) {
	if k := s.f.known; k != nil {
		k.learn(p, nil)
	}
	lines := s.f.mcc || s.f.json == cli.JSONLines
	s.show.knows(lines)
	s.mu.Lock()
	defer s.mu.Unlock()
	if lines && !s.ended && s.err == nil && !s.printed[p.Name] {
		s.err = s.write(p)
	}
}

func (s *stream) write(p propertyAnswer) error {
	var line bytes.Buffer
	if s.f.mcc {
		printFormulas(&line, []propertyAnswer{p}, techniques(engineExplicit))
	} else if err := json.NewEncoder(&line).Encode(p); err != nil {
		return fmt.Errorf("printing an answer: %w", err)
	}
	out, err := cli.Stdout()
	if err == nil {
		_, err = out.Write(line.Bytes())
	}
	if err != nil {
		return fmt.Errorf("printing an answer: %w", err)
	}
	s.printed[p.Name] = true
	return nil
}

// end returns the names of the properties whose answers are printed. None follows.
func (s *stream) end() (printed map[string]bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return s.printed, s.err
}

// print prints what is left to print of a search that has ended.
func (s *stream) print(a answer) (err error) {
	if a.printed, err = s.end(); err != nil {
		return err
	}
	return s.f.print(a)
}
