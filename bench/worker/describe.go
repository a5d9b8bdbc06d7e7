package worker

import (
	"runtime"

	"msgbench/bench/protocol"
	"msgbench/machine"
	"msgbench/scenarios"
	"msgbench/transports/all"
)

func describe() (protocol.Description, error) {
	d := protocol.Description{Peer: "go", Versions: map[string]string{"go": runtime.Version(), "msgbench": machine.Version()}, Port0: true}
	build, err := machine.Build()
	if err != nil {
		return d, err
	}
	if build != "" {
		d.Versions["build"] = build
	}
	for _, t := range all.Table() {
		d.Transports = append(d.Transports, t.Info().Name)
	}
	for _, s := range scenarios.Table {
		d.Scenarios = append(d.Scenarios, s.Name)
	}
	return d, nil
}
