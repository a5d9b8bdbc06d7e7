package aregtest

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"msgbench/measure"
)

const usage = `Usage: 30_pubprovider [-n]
  -n, --headless   without a console`

// provider answers each request with its time.
func provider(args []string) error {
	flag := strings.Join(args, " ")
	switch {
	case fault("old"):
		time.Sleep(time.Hour) // it knows no flags and draws its console
	case flag == "-h":
		fmt.Println(usage)
		return nil
	case flag != "-n":
		fmt.Println(usage)
		return exitCode(1)
	}
	c, err := join('P')
	if err != nil {
		return err
	}
	fmt.Println("waiting for the consumer")
	for n := 0; ; n++ {
		var request [1]byte
		if _, err := io.ReadFull(c, request[:]); err != nil {
			time.Sleep(time.Hour) // it serves whoever comes next
		}
		if request[0] == quit {
			return nil
		}
		if fault("provider") && n == 100 {
			return exitCode(9)
		}
		var stamp [8]byte
		binary.LittleEndian.PutUint64(stamp[:], uint64(measure.Now()))
		if _, err := c.Write(stamp[:]); err != nil {
			return err
		}
	}
}
