package run

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// LogOptions say how to log. The zero value is text from level info on.
type LogOptions struct {
	// Format is text or json.
	Format string
	// Level is debug, info, warn or error.
	Level string
}

// NewLogger makes the process's log. Its error is one line that lists the valid values.
func NewLogger(out io.Writer, o LogOptions) (*slog.Logger, error) {
	var level slog.Level // info
	if o.Level != "" {
		if err := level.UnmarshalText([]byte(o.Level)); err != nil {
			return nil, fmt.Errorf("log level %q is unknown: give debug, info, warn or error", o.Level)
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch strings.ToLower(o.Format) {
	case "", "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	default:
		return nil, fmt.Errorf("log format %q is unknown: give text or json", o.Format)
	}
}
