// Package eth holds the arithmetic of the consensus layer that every room needs and none may do
// twice: forks, slots and epochs, signing domains, and the gas-limit rule. It is pure: no clock, no
// I/O, no state.
//
// Values are those of go-eth2-client (phase0.Slot, phase0.Root, …), so that no room translates
// names.
package eth
