package check

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/statespace/report"
)

// begin makes sure that files can be written, and writes what --export asks for. It returns an exit
// code if that has failed.
func (f *flags) begin(ctx context.Context, opts *Options) (code int, err error) {
	if f.html != "" {
		if err := report.PageWritable(f.html, opts.Checkpoint, opts.Resume); err != nil {
			return exitFailure, fmt.Errorf("--html: %w", err)
		}
	}
	if f.itf != "" {
		err := report.ITFWritable(f.itf, opts.Checkpoint, opts.Resume, f.html, f.export.Path)
		if err != nil {
			return exitFailure, fmt.Errorf("--itf: %w", err)
		}
	}
	if f.export.Path == "" {
		return 0, nil
	}
	if launcher, launched, err := farhash.Launched(); err != nil || launched {
		return exitUsage, errors.Join(err, fmt.Errorf("--export works in one process, and %s has "+
			"started ranks", launcher))
	}
	err = report.GraphWritable(f.export.Path, opts.Checkpoint, opts.Resume, f.html)
	if err == nil {
		err = f.model.export(ctx, f.export.Path, f.export.Most)
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupt, fmt.Errorf("interrupted: %s was not written", f.export.Path)
	case err != nil:
		return exitFailure, fmt.Errorf("--export: %w; --max-export sets limits", err)
	}
	return 0, nil
}

// export writes the states of a model to a file.
func (m Model[S]) export(ctx context.Context, path string, most int) (err error) {
	s, err := newSystem(&m)
	if err != nil {
		return err
	}
	at, action := m.Init[0], ""
	wrong := func(detail string) error {
		return &Error{Model: m.Name, Detail: detail, State: text(at), Action: action}
	}
	defer func() {
		if p := recover(); p != nil {
			if err, _ = p.(error); err == nil {
				err = wrong(fmt.Sprintf("it panicked: %v\n%s", p, debug.Stack()))
			}
		}
	}()
	canonical := func(state S) S {
		if m.Canonical == nil {
			return state
		}
		return m.Canonical(state)
	}
	of := &report.Graph[S]{Name: m.Name, Text: func(state S) string { return text(state) },
		Key: func(state S) string {
			words, err := s.pack(state)
			if err != nil {
				panic(wrong(err.Error()))
			}
			return fmt.Sprint(words)
		},
		Next: func(state S, emit func(string, S)) {
			at, action = state, ""
			m.Next(state, func(name string, next S) {
				action = name
				emit(name, canonical(next))
			})
		}}
	for _, state := range m.Init {
		of.Initial = append(of.Initial, canonical(state))
	}
	return of.Write(ctx, path, most)
}
