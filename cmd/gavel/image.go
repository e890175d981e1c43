//go:build image

package main

// An image has no files but this program's, so what every system brings along is inside it: the
// certificates of public authorities, for beacon nodes and webhooks over https, and the time zones.
// Files of the image's user win: SSL_CERT_FILE, SSL_CERT_DIR, ZONEINFO.
import (
	_ "time/tzdata"

	_ "golang.org/x/crypto/x509roots/fallback"
)
