package app

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
)

// Network connects the containers of one run. They find each other by their names, and the world at
// Place.
type Network struct {
	// Place is where a world must listen so that the network's containers reach it.
	Place

	provider *testcontainers.DockerProvider
	network  *testcontainers.DockerNetwork
}

// Place says where a world listens, and where containers reach it.
type Place struct {
	// Listen is the address of this machine that the world listens at. Reach is the host name or
	// address at which containers reach it.
	Listen, Reach string
}

// hostName is the name by which containers reach the machine that their engine runs on.
const hostName = "host.docker.internal"

// Connect makes a network. The caller must remove it.
func (d *Docker) Connect(ctx context.Context) (n *Network, err error) {
	made, err := network.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("make a network: %w", err)
	}
	n = &Network{provider: d.provider, network: made}
	if n.Place, err = n.find(ctx); err != nil {
		return nil, errors.Join(err, n.Remove(context.WithoutCancel(ctx)))
	}
	return n, nil
}

// find finds out where containers reach this machine. If the engine runs on this machine, that is
// the gateway of the network, which only its containers and this machine reach. If it runs in a
// virtual machine (Docker Desktop), the engine forwards host.docker.internal to the loopback
// address.
func (n *Network) find(ctx context.Context) (Place, error) {
	//nolint:staticcheck // there is no other way to ask for a gateway yet
	found, err := n.provider.GetNetwork(ctx, testcontainers.NetworkRequest{Name: n.network.Name})
	if err != nil {
		return Place{}, fmt.Errorf("find the network's gateway: %w", err)
	}
	for _, config := range found.IPAM.Config {
		gateway := config.Gateway.String()
		if config.Gateway.Is4() && isHere(ctx, gateway) {
			return Place{Listen: gateway, Reach: gateway}, nil
		}
	}
	return Place{Listen: "127.0.0.1", Reach: hostName}, nil
}

// isHere says whether an address is one of this machine's.
func isHere(ctx context.Context, address string) bool {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// Remove removes the network. Its containers must have ended.
func (n *Network) Remove(ctx context.Context) error {
	if err := n.network.Remove(ctx); err != nil {
		return fmt.Errorf("remove network %s: %w", n.network.Name, err)
	}
	return nil
}
