// Command msgbench compares messaging transports on one machine, under one stopwatch.
package main

import (
	"os"

	"msgbench/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
