//go:build image

package main

// The container image holds only this program. So the program carries what a system usually
// provides: the certificates of public authorities, for beacon nodes and webhooks over https, and
// the time zones. Files that the user of the image mounts take precedence: SSL_CERT_FILE,
// SSL_CERT_DIR, ZONEINFO.
import (
	_ "time/tzdata"

	_ "golang.org/x/crypto/x509roots/fallback"
)
