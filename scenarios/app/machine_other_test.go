//go:build !linux

package app

func hideDevices() error { return nil }
