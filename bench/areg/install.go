package areg

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"msgbench/machine"
)

// The programs, without the extension that their build gives them.
const (
	router   = "mtrouter"
	provider = "30_pubprovider"
	consumer = "30_pubconsumer"
)

// extensions are those that programs have on Linux.
var extensions = []string{".elf", ""}

// Install is a built areg-sdk.
type Install struct {
	Dir     string // of the programs
	Version string // of areg-sdk and how it was built, as far as its build tells; else what the consumer's content hashes to
	ext     string
}

// maxDepth is how many folders below the one that was named are looked into.
const maxDepth = 6

// Find looks for the programs in dir and below. Several builds there are an error, as none is.
func Find(dir string) (Install, error) {
	if runtime.GOOS != "linux" {
		return Install{}, errors.New("its programs are started on Linux only")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Install{}, err
	}
	var found []Install
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return nil // a folder that may not be read holds no build of ours
		}
		if !d.IsDir() {
			return nil
		}
		if i, ok := here(path); ok {
			found = append(found, i)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if strings.Count(rel, string(filepath.Separator)) >= maxDepth || d.Name() == ".git" {
			return fs.SkipDir
		}
		return nil
	})
	switch {
	case err != nil:
		return Install{}, err
	case len(found) == 0:
		return Install{}, fmt.Errorf("no folder in %s has all of %s, %s and %s (with or without .elf): build areg-sdk with its examples",
			dir, router, provider, consumer)
	case len(found) > 1:
		return Install{}, fmt.Errorf("%s has several builds (%s, %s): name one of them", dir, found[0].Dir, found[1].Dir)
	}
	i := found[0]
	if i.Version = cacheVersion(i.Dir); i.Version == "" {
		i.Version, err = i.hash()
	}
	return i, err
}

// here is the programs in one folder.
func here(dir string) (Install, bool) {
	for _, ext := range extensions {
		i := Install{Dir: dir, ext: ext}
		if !slices.ContainsFunc(i.programs(), func(name string) bool {
			st, err := os.Stat(filepath.Join(dir, name))
			return err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0
		}) {
			return i, true
		}
	}
	return Install{}, false
}

func (i Install) programs() []string {
	return []string{router + i.ext, provider + i.ext, consumer + i.ext}
}

// parents is how many folders above the programs the build's own may be.
const parents = 5

// cacheVersion reads version and kind of build from CMake's cache, if the programs lie in the build's folder.
func cacheVersion(dir string) string {
	for range parents {
		data, err := os.ReadFile(filepath.Join(dir, "CMakeCache.txt"))
		if err != nil {
			dir = filepath.Dir(dir)
			continue
		}
		var words []string
		for _, key := range []string{"CMAKE_PROJECT_VERSION", "CMAKE_BUILD_TYPE"} {
			if v := cached(data, key); v != "" {
				words = append(words, v)
			}
		}
		if strings.EqualFold(cached(data, "AREG_LOGGING"), "ON") {
			words = append(words, "with logging")
		}
		return strings.Join(words, " ")
	}
	return ""
}

// cached is the value of KEY:TYPE=VALUE.
func cached(cache []byte, key string) string {
	for l := range bytes.Lines(cache) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(l)), "=")
		if name, _, _ = strings.Cut(name, ":"); name == key {
			return value
		}
	}
	return ""
}

// hash tells builds apart that do not tell their version.
func (i Install) hash() (string, error) {
	sum, err := machine.FileSum(filepath.Join(i.Dir, consumer+i.ext))
	if err != nil {
		return "", err
	}
	return "sha256:" + sum[:12], nil
}

// Sum is the SHA-256 of the three programs, one after the other, in hex.
func (i Install) Sum() (string, error) {
	h := sha256.New()
	for _, name := range i.programs() {
		f, err := os.Open(filepath.Join(i.Dir, name))
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// probeTime bounds how long the provider may take to tell its usage; one that is too old opens its console and stays.
const probeTime = 3 * time.Second

// Probe asks the provider for its usage, which tells whether it can run without a console.
func (i Install) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	path := filepath.Join(i.Dir, provider+i.ext)
	cmd := exec.CommandContext(ctx, path, "-h")
	cmd.Env = i.Env()
	cmd.WaitDelay = time.Second
	var said limited
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if bytes.Contains(said.b, []byte("--headless")) && err == nil {
		return nil
	}
	why := "its usage has no --headless"
	switch {
	case ctx.Err() != nil:
		why = fmt.Sprintf("it did not tell its usage within %s", probeTime)
	case err != nil:
		why = strings.Join(strings.Fields(err.Error()+": "+said.tail(200)), " ")
	}
	return fmt.Errorf("%s is too old to run headless, or does not run: %s -h: %s", i.Dir, provider+i.ext, strings.TrimSuffix(why, ":"))
}

// limited keeps the first bytes of an output.
type limited struct{ b []byte }

func (l *limited) Write(b []byte) (int, error) {
	l.b = append(l.b, b[:min(len(b), 64<<10-len(l.b))]...)
	return len(b), nil
}

func (l *limited) tail(n int) string {
	return strings.ToValidUTF8(string(l.b[max(0, len(l.b)-n):]), "?")
}

// Env is the environment of its programs: that of this process, and where their libraries are.
func (i Install) Env() []string {
	const path = "LD_LIBRARY_PATH"
	dirs := []string{i.Dir, filepath.Join(filepath.Dir(i.Dir), "lib")}
	if old := os.Getenv(path); old != "" {
		dirs = append(dirs, old)
	}
	return append(os.Environ(), path+"="+strings.Join(dirs, ":"))
}
