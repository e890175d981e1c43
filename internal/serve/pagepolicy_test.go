package serve_test

import (
	"testing"

	"github.com/gavel-relay/gavel/internal/serve"
)

// The hashes were made with: printf %s "$SOURCE" | openssl dgst -sha256 -binary | base64.
func TestPagePolicyNamesStyleAndScriptByTheirHashes(t *testing.T) {
	const want = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; " +
		"frame-ancestors 'none'; " +
		"style-src 'sha256-ngewhhP73WDIbgwseeu52VAAJgKdGUsu1IUQQsAm8m4='; " +
		"script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
	if got := serve.PagePolicy("p { color: red }", "alert(1)", "'self'"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
