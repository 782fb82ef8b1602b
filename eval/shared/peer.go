package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/farhash/farhash/eval/internal/cstore"
	"github.com/farhash/farhash/eval/internal/redis"
)

// peer is a store that processes share.
type peer string

const (
	farhash        peer = "farhash"
	lmdb           peer = "lmdb"
	lmdbSync       peer = "lmdb-sync"
	aRedis         peer = "redis"
	aMemcached     peer = "memcached"
	boltDB         peer = "bbolt"
	sharedHashFile peer = "sharedhashfile"
)

func peers() []peer {
	return []peer{farhash, lmdb, lmdbSync, aRedis, aMemcached, boltDB, sharedHashFile}
}

// alone reports whether one process at a time can open the store.
func (p peer) alone() bool { return p == boltDB }

// label is how the peer and its version are shown. An error says how to install what is missing.
func (p peer) label() (string, error) {
	name, version, err := string(p), "", error(nil)
	switch p {
	case lmdb, lmdbSync:
		if version, err = cstore.LMDBVersion(); p == lmdbSync {
			version += " with sync"
		}
		name = "LMDB"
	case aRedis:
		name = "Redis"
		version, err = programVersion(redis.Program, "--version", "v=")
	case aMemcached:
		version, err = programVersion(memcachedProgram, "--version", "memcached ")
	case boltDB:
		version = moduleVersion("go.etcd.io/bbolt")
	case sharedHashFile:
		name = "SharedHashFile"
		_, err = cstore.SharedHashFileVersion()
	}
	return strings.TrimSpace(name + " " + version), err
}

// programVersion is the word after prefix of what a program says of itself.
func programVersion(program, flag, prefix string) (string, error) {
	out, err := exec.Command(program, flag).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("there is no program %s: apt-get install it", program)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, flag, err)
	}
	_, after, _ := strings.Cut(string(out), prefix)
	version, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	return version, nil
}

// moduleVersion is the version of a module that this program contains.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == path {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}

// place is where the store of a peer is. Processes open it by its path.
type place struct {
	Peer    peer
	Path    string
	Records uint64

	stop func() error
}

// newPlace makes a place for an empty store in a folder, or starts the server.
func newPlace(ctx context.Context, p peer, folder string, records uint64) (*place, error) {
	at := &place{Peer: p, Records: records}
	switch p {
	case aRedis:
		s, err := redis.Start(ctx)
		if err != nil {
			return nil, err
		}
		at.Path, at.stop = s.Address, s.Stop
	case aMemcached:
		s, path, err := startMemcached(ctx, records)
		if err != nil {
			return nil, err
		}
		at.Path, at.stop = path, s.Stop
	default:
		dir, err := os.MkdirTemp(folder, "farhash-shared-")
		if err != nil {
			return nil, fmt.Errorf("a folder for %s: %w", p, err)
		}
		at.Path, at.stop = dir, func() error { return os.RemoveAll(dir) }
	}
	return at, nil
}

// open opens the store.
func (at *place) open(ctx context.Context) (store, error) {
	switch at.Peer {
	case lmdb, lmdbSync:
		return cstore.LMDB(at.Path, at.Records*maxRecordBytes+minStoreBytes, at.Peer == lmdbSync)
	case sharedHashFile:
		return cstore.SharedHashFile(at.Path)
	case boltDB:
		return openBolt(filepath.Join(at.Path, "bbolt"))
	case aRedis:
		c, err := redis.Dial(ctx, at.Path)
		return pipeline{c}, err
	case aMemcached:
		c, err := dialMemcached(at.Path)
		return pipeline{c}, err
	}
	return openMap(filepath.Join(at.Path, "map"))
}
