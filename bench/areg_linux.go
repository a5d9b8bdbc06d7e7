package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// listens tells whether the process itself listens on a TCP port, and whether somebody else does. It asks the kernel: a connection
// made to find out would be one more client of the router.
func listens(pid, port int) (own, taken bool, err error) {
	inodes := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		more, err := listeners(fmt.Sprintf("/proc/%d/net/%s", pid, table), port)
		if err != nil && !os.IsNotExist(err) { // there may be no IPv6
			return false, false, err
		}
		for _, i := range more {
			inodes["socket:["+i+"]"] = true
		}
	}
	if len(inodes) == 0 {
		return false, false, nil
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false, false, err
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && inodes[target] {
			return true, false, nil
		}
	}
	return false, true, nil
}

// listeners are the inodes of the sockets that listen on a port, of a table of /proc/net.
func listeners(table string, port int) ([]string, error) {
	f, err := os.Open(table)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const (
		local, state, inode = 1, 3, 9
		listening           = "0A"
	)
	var found []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) > inode && f[state] == listening && strings.HasSuffix(f[local], fmt.Sprintf(":%04X", port)) {
			found = append(found, f[inode])
		}
	}
	return found, lines.Err()
}
