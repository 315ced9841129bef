// Looks the name up with Go's own resolver, over the protocol that is named.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

func main() {
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, os.Args[1], address)
	}}
	for _, family := range []string{"4", "6"} {
		ips, err := r.LookupNetIP(context.Background(), "ip"+family, os.Args[2])
		if err != nil {
			fmt.Println(family, err)
			continue
		}
		fmt.Println(family, ips[0].Unmap())
		names, err := r.LookupAddr(context.Background(), ips[0].Unmap().String())
		if err != nil {
			names = []string{err.Error()}
		}
		fmt.Println("ptr"+family, names[0])
	}
	_, err := r.LookupNetIP(context.Background(), "ip", "evil.test")
	var none *net.DNSError
	if errors.As(err, &none) && none.IsNotFound {
		err = errors.New("none")
	}
	fmt.Println("evil", err)
}
