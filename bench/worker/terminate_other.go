//go:build !unix

package worker

// onTerminate has nothing to do where a process can't be asked to end.
func onTerminate(leave func()) {}
