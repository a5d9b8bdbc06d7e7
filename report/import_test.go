package report

import (
	"os"
	"strings"
	"testing"

	"msgbench/report/internal/golden"
	"msgbench/results"
)

const aregLine = "1;20260705_132116;pp64;count;5000;1000;0;0;9.26;9.63;9.80;10.66;12.33;9.65;99;50459\n"

const hitachiLine = "nng,tcp,5000,1000,1000,200,4,4993.75,0.30348,16456.87134,16.45687,19648.0,42823.5,33792.0,542784.0,1450880.0,4296.5,55.875,0.00331\n"

func aregFile(lines ...string) string {
	return "# benchmark_hardware=i7-13700H;;;;;;;;;;;;;;;\n# exported_at=20260705_132129;;;;;;;;;;;;;;;\n;;;;;;;;;;;;;;;\n" +
		strings.ReplaceAll(aregColumns, ",", ";") + "\n" + strings.Join(lines, "")
}

// TestImport: columns, units and flaws.
func TestImport(t *testing.T) {
	check := func(t *testing.T, name string, table results.Table) {
		t.Helper()
		data, err := table.MarshalCSV()
		if err != nil {
			t.Fatal(err)
		}
		read, err := results.ParseCSV("x.csv", data)
		if err != nil {
			t.Fatal(err)
		}
		if len(read.Rows) != len(table.Rows) || len(read.Facts) != len(table.Facts) {
			t.Errorf("read back %d rows and %d facts of %d and %d", len(read.Rows), len(read.Facts), len(table.Rows), len(table.Facts))
		}
		// The words of each row only: columns come and go.
		var b strings.Builder
		for _, f := range table.Facts {
			b.WriteString("# " + f.Key + ": " + f.Value + "\n")
		}
		for i := range table.Rows {
			for _, c := range results.Columns() {
				if v, _ := table.Rows[i].Text(c); v != "" {
					b.WriteString(c + "=" + v + "\n")
				}
			}
			b.WriteString("\n")
		}
		golden.Check(t, name, b.String())
	}
	t.Run("areg", func(t *testing.T) {
		table := imported(t, sourceAreg, "dir/areg.csv", aregFile(aregLine, strings.Replace(aregLine, "pp64", "bc0", 1), strings.Replace(aregLine, ";0;0;", ";1;1000;", 1)))
		check(t, "import-areg.golden", table)
		comma := imported(t, sourceAreg, "dir/areg.csv", strings.ReplaceAll(aregFile(aregLine, strings.Replace(aregLine, "pp64", "bc0", 1), strings.Replace(aregLine, ";0;0;", ";1;1000;", 1)), ";", ","))
		if len(comma.Rows) != 3 || comma.Rows[0] != table.Rows[0] || comma.Rows[2] != table.Rows[2] {
			t.Error("the two dialects differ")
		}
	})
	t.Run("hitachi", func(t *testing.T) {
		check(t, "import-hitachi.golden", imported(t, sourceHitachi, "results.csv", hitachiColumns+"\n"+hitachiLine+
			strings.Replace(strings.Replace(hitachiLine, "1000,1000,200,4,4993.75", "1000,1000,0,1,5000.0", 1), "nng,tcp", "nanomsg,ipc", 1)))
	})
	t.Run("netipc", func(t *testing.T) {
		check(t, "import-netipc.golden", imported(t, sourceNetipc, "b.csv", netipcColumns+"\n"+
			"shm-batch-ping-pong,rust,c,100000,1000000.5,1,2,3,4,5,10\nnp-pipeline-d16,go,go,0,2,58,122,190,60,93,154\nlookup,c,c,0,121925499.000,0.000,0.000,0.000,97.600,0.000,97.600\n"))
		posix := imported(t, sourceNetipc, "b.csv", netipcColumns+"\nuds-ping-pong,go,go,0,1,1,2,3,4,5,10\nshm-ping-pong,go,go,0,1,1,2,3,4,5,10\n")
		if posix.Rows[1].Transport != "shm" {
			t.Errorf("POSIX's shared memory is %s", posix.Rows[1].Transport)
		}
	})
	t.Run("machine", func(t *testing.T) {
		table, err := Import(sourceNetipc, "x", []byte(netipcColumns+"\nnp-ping-pong,go,go,0,1,1,2,3,4,5,10\n"), "my machine")
		if err != nil || table.Rows[0].Machine != "my machine" || table.Fact("machine") != "my machine" {
			t.Errorf("%v, %v", table, err)
		}
	})
}

// TestReferenceFiles: every file that the repository quotes figures in can be imported, and says where it is from.
func TestReferenceFiles(t *testing.T) {
	for name, want := range map[string]struct {
		format string
		rows   int
	}{
		"netipc-windows.csv": {sourceNetipc, 201}, "areg-linux.csv": {sourceAreg, 13}, "areg-macos.csv": {sourceAreg, 2},
		"areg-windows.csv": {sourceAreg, 2}, "hitachi-quoted.csv": {sourceHitachi, 21},
	} {
		data, err := os.ReadFile("../testdata/reference/" + name)
		if err != nil {
			t.Fatal(err)
		}
		table := imported(t, want.format, name, string(data))
		if len(table.Rows) != want.rows || table.Fact("published source") == "" {
			t.Errorf("%s: %d rows, want %d; source %q", name, len(table.Rows), want.rows, table.Fact("published source"))
		}
		for _, r := range table.Rows {
			if r.Verdict != results.Imported || r.Machine == "" || r.Source != want.format || r.Reason == "" {
				t.Errorf("%s: %s has verdict %q, machine %q, source %q, reason %q", name, r.Cell, r.Verdict, r.Machine, r.Source, r.Reason)
			}
		}
	}
}

// TestBadImports: file, line and what was expected.
func TestBadImports(t *testing.T) {
	netipc := netipcColumns + "\nnp-ping-pong,go,go,0,1,1,2,3,4,5,10\n"
	for _, c := range []struct{ name, format, data, want string }{
		{"empty", sourceNetipc, "", "f.csv:1: want the column names scenario,client,"},
		{"only comments", sourceAreg, "# a=b\n", "f.csv:2: want the column names run,"},
		{"no rows", sourceNetipc, netipcColumns + "\n", "f.csv:1: want at least one row"},
		{"not text", sourceNetipc, "\xff\xfe", "f.csv:1: want text in UTF-8"},
		{"missing column", sourceNetipc, strings.Replace(netipc, "p50_us,", "", 1), `f.csv:1: column 6 is "p95_us", want "p50_us"`},
		{"doubled column", sourceNetipc, strings.Replace(netipc, "p95_us", "p50_us", 1), `f.csv:1: column 7 is "p50_us", want "p95_us"`},
		{"column too many", sourceNetipc, strings.Replace(netipc, "total_cpu_pct", "total_cpu_pct,more", 1), `f.csv:1: column 12 is "more", want missing`},
		{"another format", sourceHitachi, netipc, `f.csv:1: column 1 is "scenario", want "Library"`},
		{"row cut short", sourceNetipc, netipc + "np-ping-pong,go,go,0,1,1\n", "f.csv:3: 6 fields, want 11 (scenario,"},
		{"cut in the last field", sourceNetipc, netipc[:len(netipc)-1], "f.csv:2: no line feed at the end: the file was cut short"},
		{"NaN", sourceNetipc, strings.Replace(netipc, ",0,1,", ",0,NaN,", 1), `f.csv:2: column throughput: "NaN" is not a number from 0`},
		{"infinite", sourceNetipc, strings.Replace(netipc, ",0,1,", ",0,1e999,", 1), `f.csv:2: column throughput: "1e999" is not a number from 0`},
		{"negative", sourceNetipc, strings.Replace(netipc, ",0,1,", ",0,-1,", 1), `f.csv:2: column throughput: "-1" is not a number from 0`},
		{"empty number", sourceNetipc, strings.Replace(netipc, ",0,1,", ",0,,", 1), `f.csv:2: column throughput: "" is not a number from 0`},
		{"scenario", sourceNetipc, netipc + "smoke-signals,go,go,0,1,1,2,3,4,5,10\n", `f.csv:3: column scenario: "smoke-signals" is not one of lookup, np-`},
		{"peer", sourceNetipc, netipc + "np-ping-pong,<b>,go,0,1,1,2,3,4,5,10\n", `f.csv:3: column client: "<b>" is not the name of a peer`},
		{"rate", sourceNetipc, netipc + "np-ping-pong,go,go,max,1,1,2,3,4,5,10\n", `f.csv:3: column target_rps: "max" is not a whole number`},
		{"quotes", sourceNetipc, netipc + "np-ping-pong,\"go,go,0,1,1,2,3,4,5,10\n", `f.csv:3: `},
		{"mode", sourceAreg, aregFile(aregLine, strings.Replace(aregLine, "pp64", "pp65", 1)), `f.csv:6: column mode: "pp65" is not one of bc0, `},
		{"latency 0", sourceAreg, aregFile(strings.Replace(aregLine, "9.26", "0", 1)), `f.csv:5: column min_us: "0" is not above 0`},
		{"library", sourceHitachi, hitachiColumns + "\n" + strings.Replace(hitachiLine, "nng", "mqtt", 1), `f.csv:2: column Library: "mqtt" is not one of nanomsg, nng, zeromq`},
		{"received too many", sourceHitachi, hitachiColumns + "\n" + strings.Replace(hitachiLine, "4993.75", "5001", 1), `f.csv:2: column Messages Received: "5001" is not at most the 5000 sent`},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, err := Import(c.format, "f.csv", []byte(c.data), "")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want %s…", err, c.want)
			}
			if len(table.Rows) > 0 {
				t.Error("read in part")
			}
		})
	}
}

// FuzzImport: whatever the file holds, what is read can be written and read again.
func FuzzImport(f *testing.F) {
	f.Add(0, aregFile(aregLine))
	f.Add(1, hitachiColumns+"\n"+hitachiLine)
	f.Add(2, netipcColumns+"\nnp-ping-pong,go,go,0,1,1,2,3,4,5,10\n")
	f.Fuzz(func(t *testing.T, n int, data string) {
		table, err := Import(importers[uint(n)%uint(len(importers))].source, "f.csv", []byte(data), "")
		if err != nil {
			return
		}
		csv, err := table.MarshalCSV()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := results.ParseCSV("x.csv", csv); err != nil {
			t.Fatalf("%v\n%s", err, csv)
		}
		Matrix(Document{Table: table})
	})
}
