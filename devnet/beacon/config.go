package beacon

import (
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// farFuture is the epoch of a fork that is not scheduled (consensus-specs, FAR_FUTURE_EPOCH).
const farFuture = phase0.Epoch(1<<64 - 1)

func (b *Beacon) genesis(w http.ResponseWriter, r *http.Request) {
	spec := b.cfg.Spec
	data(w, r, map[string]string{
		"genesis_time": decimal(spec.Timestamp(0)), "genesis_validators_root": hexOf(spec.GenesisValidatorsRoot[:]),
		"genesis_fork_version": hexOf(spec.GenesisForkVersion[:]),
	}, nil)
}

// spec answers with the configuration (beacon-APIs, getSpec): the values that clients of a devnet
// ask for, and those of mainnet's preset.
func (b *Beacon) spec(w http.ResponseWriter, r *http.Request) {
	s := b.cfg.Spec
	seconds := int64(s.SlotDuration.Seconds())
	table := map[string]any{
		"CONFIG_NAME": "gavel-devnet", "PRESET_BASE": "mainnet", "SECONDS_PER_SLOT": strconv.FormatInt(seconds, 10),
		"SLOT_DURATION_MS": strconv.FormatInt(s.SlotDuration.Milliseconds(), 10), "SLOTS_PER_EPOCH": decimal(s.SlotsPerEpoch),
		"GENESIS_FORK_VERSION": hexOf(s.GenesisForkVersion[:]), "ALTAIR_FORK_VERSION": hexOf(altairVersion[:]),
		"ALTAIR_FORK_EPOCH": "0",
		"MIN_GENESIS_TIME":  decimal(s.Timestamp(0)), "GENESIS_DELAY": "0",
		"DEPOSIT_CONTRACT_ADDRESS": hexOf(chain.DepositContract[:]),
		"MAX_EFFECTIVE_BALANCE":    "32000000000", "TARGET_AGGREGATORS_PER_COMMITTEE": "16", "SYNC_COMMITTEE_SIZE": "512",
		"EPOCHS_PER_SYNC_COMMITTEE_PERIOD": "256", "MAX_WITHDRAWALS_PER_PAYLOAD": "16",
		"MAX_BLOB_COMMITMENTS_PER_BLOCK": "4096",
		"FIELD_ELEMENTS_PER_BLOB":        "4096", "PROPOSER_SCORE_BOOST": strconv.Itoa(boostWeight),
		"MAX_BLOBS_PER_BLOCK":         "6",
		"MAX_BLOBS_PER_BLOCK_ELECTRA": "9", "DOMAIN_BEACON_PROPOSER": hexOf(eth.DomainBeaconProposer[:]),
		"DOMAIN_BEACON_ATTESTER": "0x01000000", "DOMAIN_RANDAO": hexOf(eth.DomainRandao[:]), "DOMAIN_DEPOSIT": "0x03000000",
		"DOMAIN_VOLUNTARY_EXIT": "0x04000000", "DOMAIN_SELECTION_PROOF": "0x05000000",
		"DOMAIN_AGGREGATE_AND_PROOF": "0x06000000",
		"DOMAIN_SYNC_COMMITTEE":      "0x07000000", "DOMAIN_SYNC_COMMITTEE_SELECTION_PROOF": "0x08000000",
		"DOMAIN_CONTRIBUTION_AND_PROOF": "0x09000000", "DOMAIN_APPLICATION_BUILDER": hexOf(eth.DomainApplicationBuilder[:]),
	}
	maps.Copy(table, gloasConfig())
	for _, fork := range eth.KnownForks() {
		epoch, version := b.scheduled(fork)
		if !fork.HasBlindedBlocks() && epoch == farFuture {
			continue
		}
		name := strings.ToUpper(fork.String())
		table[name+"_FORK_EPOCH"], table[name+"_FORK_VERSION"] = decimal(epoch), hexOf(version[:])
	}
	blobs := []map[string]string{}
	for _, limit := range s.Blobs {
		blobs = append(blobs, map[string]string{"EPOCH": decimal(limit.Epoch),
			"MAX_BLOBS_PER_BLOCK": decimal(limit.MaxBlobs)})
	}
	if epoch, _ := b.scheduled(eth.Fulu); len(blobs) == 0 && epoch != farFuture {
		// Clients want an entry once there is a fork that reads the list.
		blobs = append(blobs, map[string]string{"EPOCH": decimal(epoch),
			"MAX_BLOBS_PER_BLOCK": decimal(s.MaxBlobs(s.FirstSlot(epoch)))})
	}
	table["BLOB_SCHEDULE"] = blobs
	data(w, r, table, nil)
}

// altairVersion is the version of the fork before bellatrix. That fork is active from genesis on,
// but nothing is signed with its version.
var altairVersion = phase0.Version{0xff, 0, 'n', 'o'}

// scheduled returns the epoch and version of a fork. A fork that the schedule skips begins together
// with the next one, and nothing is signed with its version.
func (b *Beacon) scheduled(fork eth.Fork) (phase0.Epoch, phase0.Version) {
	for _, point := range b.cfg.Spec.Forks {
		if point.Fork == fork {
			return point.Epoch, point.Version
		}
		if point.Fork.Includes(fork) {
			return point.Epoch, phase0.Version{0xff, byte(fork), 'n', 'o'}
		}
	}
	return farFuture, phase0.Version{0xff, byte(fork), 'n', 'o'}
}

// forkSchedule lists all forks, past and future, also those that genesis skips (beacon-APIs,
// getForkSchedule): clients find a fork by its version.
func (b *Beacon) forkSchedule(w http.ResponseWriter, r *http.Request) {
	previous := b.cfg.Spec.GenesisForkVersion
	list := []map[string]string{}
	add := func(epoch phase0.Epoch, version phase0.Version) {
		list = append(list, map[string]string{
			"previous_version": hexOf(previous[:]), "current_version": hexOf(version[:]), "epoch": decimal(epoch),
		})
		previous = version
	}
	add(0, previous)
	add(0, altairVersion)
	for _, fork := range eth.KnownForks() {
		if epoch, version := b.scheduled(fork); epoch != farFuture {
			add(epoch, version)
		}
	}
	data(w, r, list, nil)
}

func (b *Beacon) depositContract(w http.ResponseWriter, r *http.Request) {
	data(w, r, map[string]string{"chain_id": decimal(b.cfg.ChainID), "address": hexOf(chain.DepositContract[:])}, nil)
}

// gloasConfig are the values of gloas (consensus-specs, configs and presets).
func gloasConfig() map[string]any {
	return map[string]any{
		"ATTESTATION_DUE_BPS_GLOAS": strconv.Itoa(attestationDue), "AGGREGATE_DUE_BPS_GLOAS": "5000",
		"SYNC_MESSAGE_DUE_BPS_GLOAS": strconv.Itoa(attestationDue), "CONTRIBUTION_DUE_BPS_GLOAS": "5000",
		"PAYLOAD_DUE_BPS": strconv.Itoa(payloadDue), "PAYLOAD_ATTESTATION_DUE_BPS": strconv.Itoa(payloadAttestationDue),
		"PTC_SIZE": strconv.Itoa(committeeSize), "MIN_BUILDER_WITHDRAWABILITY_DELAY": "64",
		"MAX_PAYLOAD_ATTESTATIONS":    strconv.Itoa(gloas.MaxPayloadAttestations),
		"MIN_DEPOSIT_AMOUNT":          strconv.Itoa(gloas.MinDeposit),
		"DOMAIN_BEACON_BUILDER":       hexOf(gloas.DomainBeaconBuilder[:]),
		"DOMAIN_PTC_ATTESTER":         hexOf(gloas.DomainPTCAttester[:]),
		"DOMAIN_PROPOSER_PREFERENCES": hexOf(gloas.DomainProposerPreferences[:]),
		"DOMAIN_BUILDER_DEPOSIT":      hexOf(gloas.DomainBuilderDeposit[:]),
	}
}
