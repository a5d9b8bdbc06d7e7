package machine

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

func memory(r reader) Memory {
	info := r.text("proc/meminfo")
	return Memory{
		Total:     kibibytes(field(info, "MemTotal", ":")),
		Available: kibibytes(field(info, "MemAvailable", ":")),
		Limit:     memoryLimit(r),
		Type:      memoryType(r),
	}
}

// kibibytes reads "12345 kB" into bytes.
func kibibytes(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, " kB"), 10, 64)
	if err != nil || n < 0 || n > 1<<50 {
		return 0
	}
	return n << 10
}

// memoryType reads the first filled socket of the firmware's table (DMI type 17), which only root may.
func memoryType(r reader) string {
	names := map[byte]string{
		0x18: "DDR3", 0x1a: "DDR4", 0x1b: "LPDDR", 0x1c: "LPDDR2", 0x1d: "LPDDR3", 0x1e: "LPDDR4", 0x20: "HBM", 0x21: "HBM2",
		0x22: "DDR5", 0x23: "LPDDR5",
	}
	entries, _ := fs.Glob(r.root, "sys/firmware/dmi/entries/17-*/raw")
	for _, e := range entries {
		raw, err := fs.ReadFile(r.root, e)
		if err != nil || len(raw) < 0x17 {
			continue
		}
		size := binary.LittleEndian.Uint16(raw[0x0c:])
		name := names[raw[0x12]]
		if size == 0 || name == "" {
			continue
		}
		// What it is set to, where the table has that, before what it could do.
		speed := binary.LittleEndian.Uint16(raw[0x15:])
		if len(raw) >= 0x22 {
			if set := binary.LittleEndian.Uint16(raw[0x20:]); set > 0 {
				speed = set
			}
		}
		if speed > 0 && speed < 0xffff {
			return fmt.Sprintf("%s %d MT/s", name, speed)
		}
		return name
	}
	return ""
}
