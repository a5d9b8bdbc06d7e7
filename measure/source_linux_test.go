package measure

import (
	"os"
	"strings"
	"testing"
)

func TestStableSource(t *testing.T) {
	for _, name := range []string{"tsc", "kvm-clock", "arch_sys_counter", ""} {
		if err := stableSource(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"jiffies", "refined-jiffies", "acpi_pm", "hpet"} {
		if err := stableSource(name); err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTimeNamespaceIsTheLinks(t *testing.T) {
	link, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		if n := TimeNamespace(); n != 0 {
			t.Errorf("%d without time namespaces", n)
		}
		return
	}
	if n := TimeNamespace(); n == 0 || !strings.Contains(link, "[") {
		t.Errorf("%d, but the link is %q", n, link)
	}
}
