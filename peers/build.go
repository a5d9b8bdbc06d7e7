package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// State says what came of building a peer.
type State string

// The states of a peer on this machine.
const (
	Built   State = "built"   // just now
	Cached  State = "cached"  // before, from the same sources with the same compiler
	Missing State = "missing" // this machine lacks something to build it
	Failed  State = "failed"  // the compiler refused it
	Ready   State = "ready"   // not built yet, but nothing is missing
)

// Result is a peer on this machine.
type Result struct {
	Peer   Peer
	State  State
	Path   string // of the program, when built or cached
	Reason string // why it is missing or failed, one line; names the Debian package
	Output string // of the compiler that failed
}

// Options change how peers are built; the zero value is how they are measured.
type Options struct {
	Sanitize bool   // C: with AddressSanitizer and UndefinedBehaviorSanitizer, which abort on the first finding
	Dir      string // of the cache; empty: MSGBENCH_CACHE, or msgbench/peers in the user's cache
}

// buildTime bounds one call of a compiler.
const buildTime = 2 * time.Minute

// All builds every peer of the table.
func All(ctx context.Context, o Options) []Result {
	var out []Result
	for _, p := range Table {
		out = append(out, Build(ctx, p, o))
	}
	return out
}

// Build returns the program of a peer: the one built before from the same sources with the same compiler and flags, or a
// new one.
func Build(ctx context.Context, p Peer, o Options) Result {
	r, b := look(ctx, p, o)
	if r.State != Ready {
		return r
	}
	if err := b.compile(ctx); err != nil {
		r.State, r.Reason = Failed, fmt.Sprintf("peer %s: %v", p.Name, err)
		var ce *compileError
		if errors.As(err, &ce) {
			r.Output = ce.output
		}
		return r
	}
	r.State, r.Path = Built, b.path
	return r
}

// Look is Build without building: a peer that could be built is Ready.
func Look(ctx context.Context, p Peer, o Options) Result {
	r, _ := look(ctx, p, o)
	return r
}

func look(ctx context.Context, p Peer, o Options) (Result, *builder) {
	missing := func(format string, args ...any) (Result, *builder) {
		return Result{Peer: p, State: Missing, Reason: "peer " + p.Name + ": " + fmt.Sprintf(format, args...)}, nil
	}
	if runtime.GOOS != "linux" {
		return missing("it needs Linux")
	}
	b, err := newBuilder(ctx, p, o)
	if err != nil {
		return missing("%v", err)
	}
	if b.usable(ctx) {
		return Result{Peer: p, State: Cached, Path: b.path}, b
	}
	if l := p.build.library; l != nil && !b.links(ctx, l) {
		return missing("%s not found (Debian package %s)", l.name, l.debian)
	}
	return Result{Peer: p, State: Ready}, b
}

// builder knows how one peer is compiled here.
type builder struct {
	peer     Peer
	compiler string
	version  string   // what it says of itself, first line
	flags    []string // before the sources
	libs     []string // after them
	path     string   // of the program
}

func newBuilder(ctx context.Context, p Peer, o Options) (*builder, error) {
	b := &builder{peer: p}
	if p.rust() {
		b.compiler = "rustc"
		b.flags = []string{"--edition=2021", "-Copt-level=3", "-Cpanic=abort", "--crate-name=msgbench_peer"}
	} else {
		b.compiler = "cc"
		if cc := os.Getenv("CC"); cc != "" {
			b.compiler = cc
		}
		b.flags = []string{"-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"}
		if o.Sanitize {
			b.flags = append(b.flags, "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
		}
	}
	version, err := output(ctx, b.compiler, "--version")
	if err != nil {
		if p.rust() {
			return nil, errors.New("rustc not found (Debian package rustc)")
		}
		return nil, fmt.Errorf("%s not found (Debian packages gcc, libc6-dev)", b.compiler)
	}
	b.version, _, _ = strings.Cut(version, "\n")
	if l := p.build.library; l != nil {
		b.libs = l.flags(ctx)
	}
	dir, err := cacheDir(o)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%q\n%q\n", p.Name, version, b.flags, b.libs)
	for _, f := range p.files() {
		data, err := sources.ReadFile(f)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%s %d\n", f, len(data))
		h.Write(data)
	}
	b.path = filepath.Join(dir, p.Name+"-"+hex.EncodeToString(h.Sum(nil))[:16])
	return b, nil
}

// flags is what pkg-config says of the library, or the usual if it does not know it.
func (l *library) flags(ctx context.Context) []string {
	if l.pkg != "" {
		if out, err := output(ctx, "pkg-config", "--cflags", "--libs", l.pkg); err == nil {
			flags := strings.Fields(out)
			if v, err := output(ctx, "pkg-config", "--modversion", l.pkg); err == nil {
				flags = append(flags, "-DLIBRARY_VERSION=\""+strings.TrimSpace(v)+"\"")
			}
			return flags
		}
	}
	return []string{l.link}
}

func cacheDir(o Options) (string, error) {
	dir := o.Dir
	if dir == "" {
		dir = os.Getenv("MSGBENCH_CACHE")
	}
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for built peers: %w (MSGBENCH_CACHE names one)", err)
		}
		dir = filepath.Join(user, "msgbench", "peers")
	}
	return filepath.Abs(dir)
}

// usable tells whether the program is there and starts: a library may have gone since.
func (b *builder) usable(ctx context.Context) bool {
	out, err := output(ctx, b.path, "worker", "--describe")
	return err == nil && strings.HasPrefix(out, "hello ")
}

// links tells whether a program that uses the library can be built.
func (b *builder) links(ctx context.Context, l *library) bool {
	dir, err := os.MkdirTemp("", "msgbench-probe-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "probe.c")
	text := fmt.Sprintf("#include <%s>\nint main(void) { return %s == 0; }\n", l.header, l.symbols)
	if os.WriteFile(source, []byte(text), 0o600) != nil {
		return false
	}
	_, err = output(ctx, b.compiler, slices.Concat([]string{"-o", filepath.Join(dir, "probe"), source}, b.libs)...)
	return err == nil
}

// compileError is what a compiler says that fails.
type compileError struct{ compiler, output string }

// Error is the first line that tells an error.
func (e *compileError) Error() string {
	first := ""
	for line := range strings.Lines(e.output) {
		if first == "" {
			first = line
		}
		if strings.Contains(line, "error") {
			first = line
			break
		}
	}
	return fmt.Sprintf("%s fails: %s", e.compiler, strings.TrimSpace(first))
}

// compile writes the sources into a folder of their own, compiles them there and moves the program to its place, so that
// two runs at once do no harm.
func (b *builder) compile(ctx context.Context) error {
	cache := filepath.Dir(b.path)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("folder for built peers: %w (MSGBENCH_CACHE names another)", err)
	}
	dir, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return fmt.Errorf("folder for built peers: %w (MSGBENCH_CACHE names another)", err)
	}
	defer os.RemoveAll(dir)
	for _, f := range b.peer.files() {
		data, err := sources.ReadFile(f)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f), data, 0o644); err != nil {
			return err
		}
	}
	program := filepath.Join(dir, "program")
	args := slices.Concat(b.flags, []string{"-o", program, b.peer.build.main}, b.peer.build.shared, b.libs)
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.compiler, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "COMPILER_VERSION="+b.version) // Rust has no macro for it
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		if said.Len() == 0 {
			return fmt.Errorf("%s: %w", b.compiler, err)
		}
		return &compileError{b.compiler, said.String()}
	}
	return os.Rename(program, b.path)
}

// output is the standard output of a short-lived program.
func output(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = io.Discard
	out, err := cmd.Output()
	return string(out), err
}
