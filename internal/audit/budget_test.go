package audit

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"
)

// fill appends distinct denials of uid until its share is used up.
func fill(t *testing.T, j *Journal, uid uint32) (first Record) {
	t.Helper()
	for i := range 1 << 20 {
		r := request(uid, i)
		r.Decision = Deny
		out, err := j.Append([]Record{r})
		var share *ShareError
		if errors.As(err, &share) {
			if share.UID != uid || out[0].Seq != 0 || out[0].ID != "" {
				t.Fatalf("%v with %+v", err, out[0])
			}
			return first
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = out[0]
		}
	}
	t.Fatal("no share ever ended")
	return first
}

// tooLong is a record that is longer than any of fill's, whose last one may have
// left room for a shorter one: times are written without their last zeros.
func tooLong(uid uint32) Record { return request(uid, 1<<62) }

func TestS22_AFloodSilencesOnlyItsOwnUser(t *testing.T) {
	o := small(t)
	j := open(t, o)
	first := fill(t, j, 1000)
	if found, err := j.Find(first.ID); err != nil || found.Hash != first.Hash {
		t.Fatalf("the first record is gone: %v", err)
	}
	write(t, j, request(1001, 1), Record{Kind: KindExec, UID: 0}, Record{Kind: KindCredential, UID: 1000})

	// In one batch the one is refused and the other is written.
	out, err := j.Append([]Record{tooLong(1000), request(1001, 2)})
	var share *ShareError
	if !errors.As(err, &share) || out[0].Seq != 0 || out[1].Seq == 0 {
		t.Fatalf("%v, %d %d", err, out[0].Seq, out[1].Seq)
	}
	// Four users use up the space; the reserve is root's still.
	fill(t, j, 1001)
	fill(t, j, 1002)
	fill(t, j, 1003)
	fill(t, j, 1004)
	write(t, j, Record{Kind: KindExec, UID: 0}, Record{Kind: KindCredential, UID: 1004})
	if _, err := Verify(bytes.NewReader(everything(t, o.File))); err != nil {
		t.Fatal(err)
	}
}

func TestS22_SharesAreKnownAfterReopening(t *testing.T) {
	o := small(t)
	j := open(t, o)
	fill(t, j, 1000)
	j.Close()
	j = open(t, o)
	if _, err := j.Append([]Record{tooLong(1000)}); !isShare(err) {
		t.Fatalf("the share was forgotten: %v", err)
	}
}

func TestS22_RotationDeletesOnlyWhatIsOldEnough(t *testing.T) {
	o := small(t)
	o.Retain = time.Hour
	j := open(t, o)
	fill(t, j, 1000)
	before, _ := Files(o.File)
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(before[0], old, old); err != nil {
		t.Fatal(err)
	}
	write(t, j, request(1000, -1))
	after, _ := Files(o.File)
	if len(after) != len(before)-1 || after[0] != before[1] {
		t.Fatalf("%d files became %d", len(before), len(after))
	}
	if _, err := Verify(bytes.NewReader(everything(t, o.File))); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 1000)
	if last, _ := Files(o.File); last[0] != before[1] {
		t.Fatal("a young file was deleted")
	}
}

func TestS22_IdenticalDenialsAreCounted(t *testing.T) {
	o := small(t)
	j := open(t, o)
	denied := request(1000, 1)
	denied.Decision = Deny
	var last Record
	for range 1000 {
		last = write(t, j, denied)[0]
		if last.Seq == 0 || !validID(last.ID) {
			t.Fatalf("a counted denial has no number: %+v", last)
		}
	}
	if last.Count != 996 || last.Seq != writtenFirst {
		t.Errorf("the last one came back as %+v", last)
	}
	other := denied
	other.UID = 1001
	if out := write(t, j, other)[0]; out.Count != 0 || out.UID != 1001 {
		t.Errorf("another user's denial was counted: %+v", out)
	}
	for range 20 {
		write(t, j, request(1000, 1)) // allowed: each has its own line
	}
	j.Close()
	j = open(t, o)
	recs, err := j.Query(Filter{UID: 1000})
	if err != nil || len(recs) != writtenFirst+20+1 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	if sum := recs[len(recs)-1]; sum.Count != 996 || sum.First.IsZero() || sum.First.After(sum.Time) {
		t.Errorf("the summary is %+v", sum)
	}
}

func TestS22_TheWindowOfRepeatsEnds(t *testing.T) {
	j := open(t, small(t))
	denied := request(1000, 1)
	denied.Decision = Deny
	for range writtenFirst + 2 {
		write(t, j, denied)
	}
	if sums := j.repeats.due(time.Now()); len(sums) != 0 {
		t.Fatalf("too early: %+v", sums)
	}
	sums := j.repeats.due(time.Now().Add(repeatWindow))
	if len(sums) != 1 || sums[0].Count != 2 {
		t.Fatalf("%+v", sums)
	}
	if out := write(t, j, denied)[0]; out.Count != 0 {
		t.Fatalf("a new window began with a count: %+v", out)
	}
}
