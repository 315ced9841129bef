package wire

// Result says what became of a credential's value.
type Result uint8

// The results.
const (
	Got         Result = iota
	NoValue            // the source ended without a value
	BadValue           // too long for a secret, or with a control character inside
	NotSealed          // the memfd can still be changed
	Late               // nothing came within the deadline
	Broken             // reading failed
	Unknown            // no such jail, binding or generation
	TooShort           // a mask would tell who guesses it that the guess is right
	resultLimit        // the first number that is none
)

// MaxText is the most that is kept of what a source wrote to its stderr, in bytes.
const MaxText = 4 << 10

// Outcome says what became of a Secret, whose Binding it repeats. Text is what the source wrote to its
// stderr, the value itself masked: a program's bytes, to be shown escaped.
type Outcome struct {
	Jail       string
	Binding    uint16
	Generation uint64
	Result     Result
	Text       string
}

func (o Outcome) encode() (Frame, error) {
	var b fields
	if err := b.jail(o.Jail); err != nil {
		return Frame{}, err
	}
	b.u16(o.Binding)
	b.u64(o.Generation)
	b.u8(uint8(o.Result))
	b.text(o.Text, MaxText)
	return Frame{Kind: KindOutcome, Body: b}, nil
}

func decodeOutcome(f Frame) (Outcome, error) {
	r := reader{b: f.Body}
	o := Outcome{Jail: r.jail(), Binding: r.binding(), Generation: r.u64(), Result: Result(r.u8())}
	if o.Result >= resultLimit {
		r.fail("unknown result %d", uint8(o.Result))
	}
	o.Text = r.text(MaxText)
	return o, r.end()
}

// Refresh asks for the value of a binding again, once per generation. The daemon
// looks the source up in its own table and answers with a Secret, when its own
// limit of the rate lets it.
type Refresh struct {
	Jail       string
	Binding    uint16
	Generation uint64 // of the value that is no longer good
}

func (m Refresh) encode() (Frame, error) {
	var b fields
	if err := b.jail(m.Jail); err != nil {
		return Frame{}, err
	}
	b.u16(m.Binding)
	b.u64(m.Generation)
	return Frame{Kind: KindRefresh, Body: b}, nil
}

func decodeRefresh(f Frame) (Refresh, error) {
	r := reader{b: f.Body}
	m := Refresh{Jail: r.jail(), Binding: r.binding(), Generation: r.u64()}
	return m, r.end()
}

func (r *reader) binding() uint16 {
	i := r.u16()
	if i >= MaxNumbers {
		r.fail("binding %d out of range", i)
	}
	return i
}

// Gone says that a jail's proxy has ended by itself: the jail has no network.
type Gone struct{ Jail string }

func (g Gone) encode() (Frame, error) {
	var b fields
	if err := b.jail(g.Jail); err != nil {
		return Frame{}, err
	}
	return Frame{Kind: KindGone, Body: b}, nil
}

func decodeGone(f Frame) (Gone, error) {
	r := reader{b: f.Body}
	g := Gone{Jail: r.jail()}
	return g, r.end()
}
