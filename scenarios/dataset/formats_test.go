package dataset

import (
	"errors"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

// Each archive is recognised, and its rows are what a person reads in it.
func TestRead(t *testing.T) {
	for file, format := range map[string]string{
		"flashbots-7567001.json": "data-api", "bloxroute-7613244.json": "data-api", "eden-7567002.ndjson": "eden",
		"relayscan_all.csv": "relayscan",
	} {
		t.Run(file, func(t *testing.T) {
			got, rows, err := read(t, testdata(t, file))
			if err != nil || got != format || len(rows.bad) > 0 {
				t.Fatalf("%s, %v, bad rows: %q", got, err, rows.bad)
			}
			golden.File(t, "testdata/"+file+".bids", table(t, Bids, rows.bids))
		})
	}
}

// Rows of builder_blocks_received without times are delivered payloads.
func TestReadDelivered(t *testing.T) {
	content := strings.NewReplacer(`"timestamp":"1697628038","timestamp_ms":"1697628038057",`, "",
		`,"timestamp":"1697628038","timestamp_ms":"1697628038057"`, "").Replace(testdata(t, "flashbots-7567001.json"))
	_, rows, err := read(t, content)
	if err != nil || len(rows.deliveries) != 1 || len(rows.bids) != 11 {
		t.Fatalf("%v: %d deliveries and %d bids", err, len(rows.deliveries), len(rows.bids))
	}
	if d := rows.deliveries[0]; d.ValueWei.String() != "32305898225538370" || d.Relay != "given" {
		t.Errorf("%+v", d)
	}
}

// With tabs, with a header in the middle and with line ends of Windows the rows are the same.
func TestRelayscanVariants(t *testing.T) {
	plain := testdata(t, "relayscan_all.csv")
	_, want, _ := read(t, plain)
	header, rest, _ := strings.Cut(plain, "\n")
	for name, content := range map[string]string{
		"tabs":          strings.ReplaceAll(plain, ",", "\t"),
		"joined":        plain[:len(plain)-len(rest)/2] + plain[len(plain)-len(rest)/2:] + header + "\n",
		"windows":       strings.ReplaceAll(plain, "\n", "\r\n"),
		"no last break": strings.TrimSuffix(plain, "\n"),
	} {
		_, got, err := read(t, content)
		if err != nil || table(t, Bids, got.bids) != table(t, Bids, want.bids) || len(got.bad) > 0 {
			t.Errorf("%s: %v, %d bids, bad: %q", name, err, len(got.bids), got.bad)
		}
	}
}

// A row that cannot be right is bad, with its line and the reason; the others are read.
func TestRelayscanBadRows(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(testdata(t, "relayscan_all.csv")), "\n")
	good := strings.Split(lines[1], ",")
	change := func(column int, to string) string {
		fields := append([]string(nil), good...)
		fields[column] = to
		return strings.Join(fields, ",")
	}
	two256 := "115792089237316195423570985008687907853269984665640564039457584007913129639936"
	for row, reason := range map[string]string{
		change(0, "7"):                 `source_type "7" is not 0, 1 or 2`,
		change(1, "-5"):                `received_at_ms: "-5" is no number from 0 to 2^63-1`,
		change(2, "99999999999999999"): "timestamp_ms: 99999999999999999 is no time in milliseconds since 1970",
		change(2, "1697628039"): "received_at is more than a day away from the start of slot 7567001 on " +
			"mainnet",
		change(3, ""):                           "no slot",
		change(3, "9223372036854775807"):        "slot 9223372036854775807 is beyond 2^36",
		change(4, "1"):                          "slot_t_ms is 1, and on mainnet it would be",
		change(5, ""):                           "value: empty",
		change(5, "1e18"):                       `value: "1e18" is no decimal number of wei`,
		change(5, "-1"):                         `value: "-1" is no decimal number of wei`,
		change(5, two256):                       "value: not below 2^256",
		change(5, "1"+strings.Repeat("0", 38)):  "value: more than 10^38-1 wei",
		change(6, "0x12"):                       `block_hash: "0x12" is not 0x and 64 hexadecimal digits`,
		change(8, "0x"+strings.Repeat("g", 96)): `builder_pubkey: "0xggg`,
		change(14, "maybe"):                     `optimistic_submission: "maybe" is neither true nor false`,
		lines[1] + ",":                          "16 fields in place of 15",
		"half":                                  "1 fields in place of 15",
	} {
		_, got, err := read(t, lines[0]+"\n"+row+"\n"+lines[2]+"\n")
		if err != nil || len(got.bids) != 1 || len(got.bad) != 1 || !strings.HasPrefix(got.bad[0], "2: "+reason) {
			t.Errorf("%s: %v, %d bids, bad %q", row, err, len(got.bids), got.bad)
		}
	}
}

func TestDataAPIBadRows(t *testing.T) {
	content := testdata(t, "flashbots-7567001.json")
	for _, c := range []struct{ old, new, reason string }{
		{`"value":"32305898225538370"`, `"value":32305898225538370.5`, "value: \"32305898225538370.5\" is no decimal"},
		{`"value":"32305898225538370",`, ``, "value: empty"},
		{`"timestamp":"1697628038"`, `"timestamp":"1697628037"`, "timestamp: 1697628037 s and 2023-10-18T11:20:38.057Z"},
		{`"slot":"7567001"`, `"slot":true`, "neither a number nor text"},
		{`"gas_used":"27384559"`, `"gas_used":"-1"`, "gas_used: "},
	} {
		changed := strings.Replace(content, c.old, c.new, 1)
		if changed == content {
			t.Fatalf("no %s", c.old)
		}
		changed = strings.Replace(changed, `[{`,
			`[`+strings.TrimSuffix(strings.TrimPrefix(content[:strings.Index(content, "}")+1], "["),
				"")+`,{`, 1)
		_, got, err := read(t, changed)
		if err != nil || len(got.bids) != 12 || len(got.bad) != 1 || !strings.HasPrefix(got.bad[0], "2: "+c.reason) {
			t.Errorf("%s: %v, %d bids, bad %q", c.new, err, len(got.bids), got.bad)
		}
	}
}

// An archive that ends in the middle gives the rows before, and an error.
func TestCutArchive(t *testing.T) {
	content := testdata(t, "flashbots-7567001.json")
	for _, end := range []int{len(content) / 2, len(content) - 2} {
		_, got, err := read(t, content[:end])
		if err == nil || len(got.bids) == 0 || !strings.Contains(err.Error(), "after row") {
			t.Errorf("cut at %d: %v after %d bids", end, err, len(got.bids))
		}
	}
	if _, _, err := read(t, content+"x"); err == nil {
		t.Error("text after the array was passed over")
	}
}

func TestNotRecognised(t *testing.T) {
	for content, want := range map[string]string{
		"": "the file is empty", " \n": "the file is empty", "hello, world\n1,2": `it begins with "hello, world"`,
		"PAR1…": "Parquet in a compressed file", `{"error":"no"}`: `it begins with "{\"error\":\"no\"}"`,
		"timestamp_ms,hash,source\n1,0x,a\n": "a log of mempool-dumpster: cannot be imported yet",
	} {
		if _, _, err := read(t, content); !errors.Is(err, ErrNotRecognised) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// Whatever a file has, reading it ends, and no row is lost: each line is a bid, bad, or a header.
func FuzzRelayscan(f *testing.F) {
	f.Add(testdata(f, "relayscan_all.csv"))
	f.Fuzz(func(t *testing.T, content string) {
		content = relayscanColumns + "\n" + content
		_, got, err := read(t, content)
		if err != nil {
			return
		}
		lines := 0
		for line := range strings.Lines(content) {
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			if line != "" && !strings.HasPrefix(line, "source_type") {
				lines++
			}
		}
		if lines != len(got.bids)+len(got.bad) {
			t.Errorf("%d lines, %d bids and %d bad rows", lines, len(got.bids), len(got.bad))
		}
	})
}

// Whatever an answer of the Data API has, reading it ends.
func FuzzDataAPI(f *testing.F) {
	f.Add(testdata(f, "flashbots-7567001.json"))
	f.Add(testdata(f, "eden-7567002.ndjson"))
	f.Fuzz(func(t *testing.T, content string) {
		_, got, _ := read(t, content)
		for _, b := range got.bids {
			if !b.Slot.Known || !b.ValueWei.Known || !b.SlotStart.Known {
				t.Errorf("%+v", b)
			}
		}
	})
}
