package main

import (
	"errors"

	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/netns"
)

// interception decides how the connections of jails come to the proxy. The error is
// why they are not steered: the setting, or what the kernel said.
func interception(set *config.Config) (netns.Interception, error) {
	if set.Interception == config.InterceptPorts {
		return netns.ByPort, errors.New("the configuration says interception: ports")
	}
	err := try(netns.Steered)
	if err != nil && set.Interception == config.InterceptAuto {
		return netns.ByPort, err
	}
	return netns.Steered, err
}

// try makes a network as jails have it and closes it again.
func try(way netns.Interception) error {
	n, err := netns.New(way)
	if err != nil {
		return err
	}
	return n.Close()
}
