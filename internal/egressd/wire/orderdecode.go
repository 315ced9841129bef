package wire

// DecodeDown reads what the daemon sent. The message owns the frame's files;
// after an error they are closed.
func DecodeDown(f Frame) (m Message, err error) {
	switch f.Kind {
	case KindHello:
		m, err = decodeHello(f)
	case KindAttach:
		m, err = decodeAttach(f)
	case KindSecret:
		m, err = decodeSecret(f)
	case KindDetach:
		var jail string
		jail, err = decodeJail(f)
		m = Detach{Seq: f.Seq, Jail: jail}
	case KindFreeze:
		var jail string
		jail, err = decodeJail(f)
		m = Freeze{Seq: f.Seq, Jail: jail}
	case KindReplace:
		m, err = decodeReplace(f)
	case KindAck:
		m, err = decodeAck(f)
	default:
		err = unknownKind(f.Kind)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return m, nil
}

func decodeHello(f Frame) (Hello, error) {
	r := reader{b: f.Body}
	m, want := Hello{Seq: f.Seq}, 1
	if f.Flags == WithLogin {
		want = 2
	}
	if r.files(f, want) {
		m.Config = f.Files[0]
		if want == 2 {
			m.Login = f.Files[1]
		}
	}
	return m, r.end()
}

func decodeAttach(f Frame) (Attach, error) {
	r := reader{b: f.Body}
	m := Attach{Seq: f.Seq, Jail: r.jail()}
	tcp, udp, proxy := int(r.u8()), int(r.u8()), int(r.u8())
	want := 1 + tcp + udp + proxy
	switch {
	case tcp < 1 || tcp > MaxListeners || udp < 1 || udp > families || proxy > families:
		r.fail("attach with %d listeners, %d datagram sockets and %d listeners of the proxy", tcp, udp, proxy)
	case f.Flags == WithPackets:
		want++
	case f.Flags != 0:
		r.fail("attach with flags %#x", f.Flags)
	}
	if r.files(f, want) {
		m.Spec = f.Files[0]
		rest := f.Files[1:]
		m.TCP, rest = rest[:tcp:tcp], rest[tcp:]
		m.UDP, rest = rest[:udp:udp], rest[udp:]
		m.Proxy, rest = rest[:proxy:proxy], rest[proxy:]
		if len(rest) > 0 {
			m.Packets = rest[0]
		}
	}
	return m, r.end()
}

func decodeReplace(f Frame) (Replace, error) {
	r := reader{b: f.Body}
	m := Replace{Seq: f.Seq, Jail: r.jail(), Generation: r.u32()}
	if r.files(f, 1) {
		m.Spec = f.Files[0]
	}
	return m, r.end()
}

func decodeJail(f Frame) (string, error) {
	r := reader{b: f.Body}
	jail := r.jail()
	r.files(f, 0)
	return jail, r.end()
}

func decodeSecret(f Frame) (Secret, error) {
	r := reader{b: f.Body}
	m := Secret{Jail: r.jail(), Binding: r.binding(), Generation: r.u64(), By: Delivery(r.u8())}
	want := 0
	switch {
	case m.By >= deliveryLimit:
		r.fail("unknown delivery %d", uint8(m.By))
	case m.By == ByPipe || m.By == ByMemfd:
		want = 1
	}
	switch len(f.Files) - want {
	case 0:
	case 1:
		m.Stderr = f.Files[want]
	default:
		r.fail("secret with %d descriptors", len(f.Files))
	}
	if r.err == nil && want == 1 {
		m.Value = f.Files[0]
	}
	return m, r.end()
}

func decodeAck(f Frame) (Ack, error) {
	r := reader{b: f.Body}
	r.files(f, 0)
	n := int(r.u16())
	if n > MaxBatch {
		r.fail("ack of %d records", n)
	}
	var m Ack
	for range n {
		if r.err != nil {
			break
		}
		m.Records = append(m.Records, Written{Seq: r.u32(), ID: r.recordID()})
	}
	return m, r.end()
}

// files reports whether nothing was wrong so far and as many descriptors came.
func (r *reader) files(f Frame, want int) bool {
	if len(f.Files) != want {
		r.fail("kind %d came with %d descriptors instead of %d", f.Kind, len(f.Files), want)
	}
	return r.err == nil
}
