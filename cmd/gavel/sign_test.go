package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/run"
)

func callSign(body string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	program := root()
	program.Reader, program.Writer = strings.NewReader(body), &out
	status = run.Main(program, append([]string{"gavel", "sign"}, args...), &errs)
	return status, out.String(), errs.String()
}

// The header is that of the published vector for this key and body.
func TestSign(t *testing.T) {
	const (
		key  = "0xfad9c8855b740a0b7ed4c221dbad0f33a83a49cad6b3fe8d5817ac83d38b6a19"
		want = "0x96216849c49358B10257cb55b28eA603c874b05E:0x1446053488f02d460c012c84c4091cd5054d98c6cfca01b65f6c1a72773e8" +
			"0e60b8a4931aeee7ed18ce3adb45b2107e8c59e25556c1f871a8334e30e5bddbed21c\n"
	)
	if status, out, errs := callSign("Hello", "--key-file", written(t, "key", key+"\n")); status != 0 || out != want {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	t.Setenv(signKeyEnv, key[2:])
	if status, out, errs := callSign("Hello"); status != 0 || out != want {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	for name, text := range map[string]string{"no key": "", "no hex": "0xhello", "too short": "0x1234"} {
		t.Setenv(signKeyEnv, text)
		if status, out, errs := callSign("Hello"); status != 2 || out != "" || strings.Contains(errs, "hello") ||
			!strings.Contains(errs, "key") {
			t.Errorf("%s: status %d: %s%s", name, status, out, errs)
		}
	}
}
