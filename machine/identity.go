package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
)

// Boot tells machines of one kind apart: 12 hex digits that are the same for all processes, also those in containers, that
// run under one kernel until it is booted again, and nowhere else. They say nothing else of the machine. Empty where the
// system does not tell.
func Boot() string {
	return digest(reader{os.DirFS("/")}.text("proc/sys/kernel/random/boot_id"))
}

// Installation tells the systems of machines of one kind apart: 12 hex digits that stay over boots. Where two differ and Boot does,
// too, it is another machine; where they are alike it need not be the same one, since images are copied. Empty where the system
// does not tell.
func Installation() string {
	return digest(reader{os.DirFS("/")}.text("etc/machine-id"))
}

// digest hides an identifier that others may know the machine by.
func digest(id string) string {
	if id == "" || id == "uninitialized" {
		return ""
	}
	sum := sha256.Sum256([]byte("msgbench " + id))
	return hex.EncodeToString(sum[:6])
}

// PIDSpace names the PID namespace of this process: where two processes have the same, a PID means the same process to both.
// Empty where the system does not tell.
func PIDSpace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	boot := Boot()
	if err != nil || boot == "" {
		return ""
	}
	return boot + "/" + ns
}

// Build tells programs apart whose Version does not: 12 hex digits of the program's own bytes. It is empty where Version is
// that of a module or of a revision without changes.
func Build() (string, error) {
	if v := Version(); !strings.HasPrefix(v, "(devel)") || strings.Contains(v, " ") && !strings.HasSuffix(v, "-dirty") {
		return "", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	sum, err := FileSum(path)
	if err != nil {
		return "", err
	}
	return sum[:12], nil
}

// FileSum is the SHA-256 of a file in hex.
func FileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
