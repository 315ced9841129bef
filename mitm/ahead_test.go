package mitm

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// TestRecordsThatAreThereComeTogether: several records of TLS are one read, and none
// waits for one of which only a part has come.
func TestRecordsThatAreThereComeTogether(t *testing.T) {
	cert, err := testAuthority().mint(mustAuthority(t, "api.test:443"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bare, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	held := &cork{Conn: far}
	server := tls.Server(held, &tls.Config{Certificates: []tls.Certificate{*cert}})
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	raw := &ahead{Conn: bare}
	client := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	w := &writes{} // of four records
	held.Conn = w
	for range 4 {
		server.Write(make([]byte, 1000))
	}
	records := w.all[len(w.all)-4:]
	half := len(records[3]) / 2
	far.Write([]byte(records[0] + records[1] + records[2] + records[3][:half]))
	bare.SetReadDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	p := make([]byte, 64<<10)
	for got := 0; got < 3000; {
		n, err := raw.fill(client, p)
		if err != nil || n%1000 != 0 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		got += n
	}
	far.Write([]byte(records[3][half:]))
	if n, err := raw.fill(client, p); n != 1000 || err != nil {
		t.Errorf("the rest: %d bytes, %v", n, err)
	}
}
