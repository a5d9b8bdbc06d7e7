//go:build unix

package worker

import (
	"os"
	"os/signal"
	"syscall"
)

// onTerminate calls leave when the process is asked to end. An interrupt is for the runner, which tells us what to do.
func onTerminate(leave func()) {
	signal.Ignore(syscall.SIGINT)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-c
		leave()
	}()
}
