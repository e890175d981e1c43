package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// signKeyEnv holds the key if there is no file.
const signKeyEnv = "GAVEL_SIGN_KEY"

// signCommand is the command that makes the signature header of a request to the bundle RPC, for
// use in a shell.
func signCommand() *cli.Command {
	return &cli.Command{
		Name:  "sign",
		Usage: "sign a request to the bundle RPC: the body comes in, the value of X-Flashbots-Signature goes out",
		Description: "The body is read from standard input and signed byte for byte: send exactly the same.\n\n" +
			"   gavel sign <body.json",
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name: "key-file", DefaultText: signKeyEnv,
				Usage: "file with the secp256k1 key in hex; without it the environment variable " + signKeyEnv + " holds the key",
			},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			key, err := requestKey("key-file", cmd.String("key-file"), signKeyEnv, os.Getenv)
			if err != nil {
				return run.Usage(err)
			}
			body, err := io.ReadAll(cmd.Root().Reader)
			if err != nil {
				return fmt.Errorf("read the body: %w", err)
			}
			_, err = fmt.Fprintln(cmd.Root().Writer, jsonrpc.SignatureHeader(key, body))
			return err
		},
	}
}

// requestKey reads the key that signs requests, from the file that a flag names, or from an
// environment variable.
func requestKey(flag, path, variable string, getenv func(string) string) (*ecdsa.PrivateKey, error) {
	text, err := readSecret(path, variable, getenv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if text == "" {
		return nil, fmt.Errorf("there is no key: give --%s, or set %s", flag, variable)
	}
	key, err := crypto.HexToECDSA(strings.TrimPrefix(text, "0x"))
	if err != nil {
		// the error would show a part of it
		return nil, errors.New("the key is no secp256k1 key in hexadecimal: want 32 bytes")
	}
	return key, nil
}
