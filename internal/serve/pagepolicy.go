package serve

import (
	"crypto/sha256"
	"encoding/base64"
)

// PagePolicy is the Content-Security-Policy of a page that has its style and its script inside. It
// allows these two by their hashes, and no other style or script. The page may read from its own
// origin only. forms says where forms of the page may be sent, such as 'self' or 'none'.
func PagePolicy(style, script, forms string) string {
	return "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action " + forms +
		"; frame-ancestors 'none'; style-src " + inlineHash(style) + "; script-src " + inlineHash(script)
}

// inlineHash names an inline source in a Content-Security-Policy (CSP Level 3, 2.3.1).
func inlineHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
