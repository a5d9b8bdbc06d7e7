package machine

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// describeNative fills in the little that Windows tells without more effort.
func describeNative(e *Environment) {
	v := windows.RtlGetVersion()
	e.Kernel = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	e.Distribution = "Windows " + e.Kernel
	e.CPU.Model = os.Getenv("PROCESSOR_IDENTIFIER")
	e.Clock.Source = "QueryPerformanceCounter"
}
