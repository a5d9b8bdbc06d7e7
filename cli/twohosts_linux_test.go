package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"msgbench/results"
)

const apartSuite = `
name: apart
samples: 3
duration: 500ms
max-duration: 500ms
warmup: 5
reruns: 0
core-ratio: 100
max-ramp: 1000
max-interference: off
cells:
  - scenario: ping-pong
    transport: [tcp, zmq-tcp, nng-tcp, broker]
    payload: 64
`

// apart runs a suite with the client in one namespace and the rest in the other, and returns its rows by transport and
// its samples.
func (l *link) apart(t *testing.T, suite string, more ...string) (map[string]results.Row, []results.Sample) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte(suite), 0o644); err != nil {
		t.Fatal(err)
	}
	program := []string{"env", asProgram + "=1", "GORACE=" + raceEnv, os.Args[0]}
	words := append([]string{"netns", "exec", l.a}, program...)
	words = append(words, "run", "suite.yaml", "--out", "r", "-q", "--seed", "1", "--server-host", "there", "--server-address", l.addrB,
		"--server-command", "ip netns exec "+l.b+" "+strings.Join(program, " "))
	cmd := exec.Command("ip", append(words, more...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != exitUnstable {
		t.Fatalf("%v: %s", err, out)
	}
	return readRows(t, filepath.Join(dir, "r"))
}

func readRows(t *testing.T, dir string) (map[string]results.Row, []results.Sample) {
	t.Helper()
	d, err := loadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]results.Row{}
	for _, r := range d.Rows {
		rows[r.Transport] = r
	}
	samples, _, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	return rows, samples
}

// TestTwoHostsApart has the two sides in two network namespaces. What lies between is in the figures: a round trip takes the
// delay twice, and losses delay messages, but lose none.
func TestTwoHostsApart(t *testing.T) {
	long(t)
	const delay = 4 * time.Millisecond
	t.Run("delay", func(t *testing.T) {
		rows, samples := newLink(t, delay, 0).apart(t, apartSuite)
		for _, s := range samples {
			if s.Outcome != results.OK && s.Outcome != results.Calibrated {
				t.Errorf("%s: %s: %s %v", s.Cell, s.Outcome, s.Reason, s.Stderr)
			}
		}
		for _, transport := range []string{"tcp", "zmq-tcp", "nng-tcp", "broker"} {
			r, least := rows[transport], float64(2*delay.Microseconds())
			if r.P50Us.Or(0) < least || r.MinUs.Or(0) < least {
				t.Errorf("%s: p50 %s µs, min %s µs, with %.0f µs on the way", transport, r.P50Us, r.MinUs, least)
			}
			if per := 1e6 / least; r.Throughput.Or(1e9) > per {
				t.Errorf("%s: %s/s, more than %.0f/s can't be", transport, r.Throughput, per)
			}
			if r.CPURelation != "remote" || r.Cell != "ping-pong/"+transport+"/go-go/64B/max/hosts=2" || r.Verdict == results.Failed || r.Samples.Or(0) != 3 {
				t.Errorf("%s: %s: relation %q, %s samples, %s %s", transport, r.Cell, r.CPURelation, r.Samples, r.Verdict, r.Reason)
			}
			// It waits, so neither side needs much; but nothing is missing.
			if r.ServerCPU.Or(0) <= 0 || r.ClientCPU.Or(0) <= 0 || r.TotalCPU.Or(1e9) > 200 || (transport == "broker") != (r.BrokerCPU.Or(0) > 0) {
				t.Errorf("%s: CPU of client, server, broker: %s, %s, %s, together %s", transport, r.ClientCPU, r.ServerCPU, r.BrokerCPU, r.TotalCPU)
			}
			if r.Lost.Or(1) != 0 || r.Sent.String() != r.Received.String() {
				t.Errorf("%s: %s sent, %s received, %s lost", transport, r.Sent, r.Received, r.Lost)
			}
		}
	})
	t.Run("loss", func(t *testing.T) {
		l := newLink(t, time.Millisecond, 0.05)
		suite := strings.Replace(strings.Replace(apartSuite, "[tcp, zmq-tcp, nng-tcp, broker]", "[tcp]", 1), "max-duration: 500ms", "max-duration: 2s", 1)
		rows, _ := l.apart(t, suite)
		r := rows["tcp"]
		if l.dropped() == 0 {
			t.Error("no packet was lost")
		}
		if r.Verdict == results.Failed || r.Samples.Or(0) != 3 || r.Lost.Or(1) != 0 || r.Sent.String() != r.Received.String() || r.P50Us.Or(0) < 2000 {
			t.Errorf("%s %s: %s samples, %s sent, %s received, %s lost, p50 %s µs", r.Verdict, r.Reason, r.Samples, r.Sent, r.Received, r.Lost, r.P50Us)
		}
		// What was lost is sent again, after some round trips.
		if r.MaxUs.Or(0) < 2*r.P50Us.Or(0) {
			t.Errorf("max %s µs, p50 %s µs: no loss shows", r.MaxUs, r.P50Us)
		}
		t.Logf("%d packets lost; p50 %s µs, max %s µs", l.dropped(), r.P50Us, r.MaxUs)
	})
}

// TestTwoHostsSSH goes through a real sshd, with throwaway keys, on the loopback interface.
func TestTwoHostsSSH(t *testing.T) {
	long(t)
	sshd := "/usr/sbin/sshd"
	for _, p := range []string{sshd, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(p); err != nil {
			lack(t, "no program %s (openssh-server, openssh-client)", p)
		}
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(words ...string) {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", words[0], err, out)
		}
	}
	for _, key := range []string{"host", "user"} {
		run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key))
	}
	public, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write("authorized", string(public))
	port := freePort(t)
	conf := write("sshd_config", fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\n"+
		"StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n", port, dir, dir))
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // it wants an empty folder there
			t.Fatal(err)
		}
	}
	server := exec.Command(sshd, "-D", "-e", "-f", conf)
	var said strings.Builder
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	client := write("ssh_config", fmt.Sprintf("Host there\n HostName 127.0.0.1\n Port %d\n IdentityFile %s/user\n"+
		" UserKnownHostsFile %s/known\n StrictHostKeyChecking accept-new\n BatchMode yes\n", port, dir, dir))
	ssh := "ssh -F " + client + " there"
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.Command("ssh", "-F", client, "there", "true").CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("ssh: %v: %s", err, out)
		}
	}
	suite := write("suite.yaml", strings.NewReplacer("samples: 3", "samples: 1", "[tcp, zmq-tcp, nng-tcp, broker]", "[tcp, broker]").Replace(apartSuite))
	r := filepath.Join(dir, "r")
	code, out := command("run", suite, "--out", r, "-q", "--server-host", "there", "--server-address", "127.0.0.1",
		"--server-command", ssh+" env "+asProgram+"=1 GORACE="+raceEnv+" "+os.Args[0])
	if code != exitUnstable { // one sample is too few to be stable
		t.Fatalf("exit code %d: %s", code, out)
	}
	rows, _ := readRows(t, r)
	for _, transport := range []string{"tcp", "broker"} {
		if row := rows[transport]; row.Samples.Or(0) != 1 || row.ServerCPU.Or(0) <= 0 || row.CPURelation != "remote" {
			t.Errorf("%s: %s samples, %s %s, server CPU %s", transport, row.Samples, row.Verdict, row.Reason, row.ServerCPU)
		}
	}
	// What can't be reached, and what is not there, is said in one line, before anything is measured.
	for _, c := range []struct{ command, want string }{
		{"ssh -F " + client + " -p " + fmt.Sprint(freePort(t)) + " there msgbench", "Connection refused"},
		{ssh + " /no/such/msgbench", "/no/such/msgbench"},
	} {
		code, out := command("run", suite, "--out", r+"2", "-q", "--server-host", "there", "--server-address", "127.0.0.1", "--server-command", c.command)
		if code != exitFailed || !strings.Contains(out, c.want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s, want one line with %q", c.command, code, out, c.want)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
