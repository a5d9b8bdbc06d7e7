package machine

import (
	"debug/buildinfo"
	"runtime/debug"
	"strings"
)

// watched are the libraries whose versions change results.
var watched = []string{
	"github.com/go-zeromq/zmq4",
	"go.nanomsg.org/mangos/v3",
	"github.com/HdrHistogram/hdrhistogram-go",
}

// Version is the version of msgbench: that of its module, or "(devel)" and the revision it was built from where known, with
// "-dirty" if that was changed.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	return version(info)
}

// VersionOf is the version of the msgbench at path; empty where the file is none, or does not tell.
func VersionOf(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil || info.Main.Path != "msgbench" {
		return ""
	}
	return version(info)
}

func version(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	v := "(devel)"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			v += " " + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			v += "-dirty"
		}
	}
	return v
}

func libraries() map[string]string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return versions(info)
}

func versions(info *debug.BuildInfo) map[string]string {
	out := map[string]string{}
	for _, m := range info.Deps {
		for _, w := range watched {
			if m.Path != w {
				continue
			}
			v := m.Version
			if m.Replace != nil {
				v = strings.TrimSpace(m.Replace.Path + " " + m.Replace.Version)
			}
			out[w] = v
		}
	}
	return out
}

// goEnv is the variables that steer the Go runtime, where they are set.
func goEnv(getenv func(string) string) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOAMD64"} {
		if v := getenv(name); v != "" {
			out[name] = v
		}
	}
	return out
}
