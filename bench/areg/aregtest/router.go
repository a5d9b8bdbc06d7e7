package aregtest

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// router connects one provider and one consumer, each of which says with its first byte what it is.
func router(args []string) error {
	if strings.Join(args, " ") != "--service" {
		return errors.New("usage: mtrouter --service")
	}
	a, err := address()
	if err != nil {
		return err
	}
	if fault("deaf") {
		time.Sleep(time.Hour)
	}
	l, err := net.Listen("tcp", a)
	if err != nil {
		return err
	}
	ends := map[byte]net.Conn{}
	for len(ends) < 2 {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		var kind [1]byte
		if _, err := io.ReadFull(c, kind[:]); err != nil {
			return err
		}
		ends[kind[0]] = c
	}
	go func() {
		io.Copy(ends['P'], ends['C'])
		ends['P'].Close()
	}()
	if fault("router") {
		time.AfterFunc(50*time.Millisecond, func() { os.Exit(7) })
	}
	_, err = io.Copy(ends['C'], ends['P'])
	ends['C'].Close()
	time.Sleep(time.Hour) // it serves until it is told to end
	return err
}

// join connects to the router.
func join(kind byte) (net.Conn, error) {
	a, err := address()
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		c, err := net.Dial("tcp", a)
		if err == nil {
			_, err = c.Write([]byte{kind})
			return c, err
		}
		if try == 100 {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
