package audit

import (
	"errors"
	"testing"
	"time"
)

func TestQueryChooses(t *testing.T) {
	j := open(t, small(t))
	denied := request(1000, 1)
	denied.Decision = Deny
	elsewhere := request(1000, 2)
	elsewhere.Jail = "j00000000000000ff"
	all := write(t, j, request(1000, 0), denied, elsewhere, request(1001, 3), Record{Kind: KindJail})
	for name, c := range map[string]struct {
		filter Filter
		want   []int
	}{
		"own":       {Filter{UID: 1000}, []int{0, 1, 2}},
		"another's": {Filter{UID: 1001}, []int{3}},
		"nobody's":  {Filter{UID: 1002}, nil},
		"zero":      {Filter{}, []int{4}},
		"all":       {Filter{All: true}, []int{0, 1, 2, 3, 4}},
		"denied":    {Filter{All: true, Denied: true}, []int{1}},
		"a jail":    {Filter{UID: 1000, Jail: elsewhere.Jail}, []int{2}},
		"not mine":  {Filter{UID: 1001, Jail: elsewhere.Jail}, nil},
		"after":     {Filter{All: true, After: all[2].Seq}, []int{3, 4}},
		"future":    {Filter{All: true, Since: time.Now().Add(time.Hour)}, nil},
		"since":     {Filter{UID: 1001, Since: all[0].Time}, []int{3}},
		"newest":    {Filter{UID: 1000, Limit: 2}, []int{1, 2}},
	} {
		got, err := j.Query(c.filter)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %d records, %v", name, len(got), err)
			continue
		}
		for i, w := range c.want {
			if got[i].Hash != all[w].Hash {
				t.Errorf("%s: record %d is %+v", name, i, got[i])
			}
		}
	}
}

func TestFindJoinsARequestAndItsEnd(t *testing.T) {
	j := open(t, small(t))
	asked := write(t, j, request(1000, 1))[0]
	end := Record{Kind: KindDone, ID: asked.ID, UID: 1000, Jail: asked.Jail, Status: 200, BytesIn: 7, Millis: 12}
	forged := end
	forged.UID, forged.Status = 1001, 500
	write(t, j, end, forged)
	got, err := j.Find(asked.ID)
	if err != nil || got.Kind != KindRequest || got.Status != 200 || got.BytesIn != 7 || got.Path != "/items/1" {
		t.Fatalf("%v, %+v", err, got)
	}
	for _, id := range []string{"", "00000000", "zzzzzzzz", asked.ID + "0", `"},{"`} {
		if _, err := j.Find(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Find(%q): %v", id, err)
		}
	}
}

func TestSubscribeSeesWhatIsWrittenAndIsCutOffWhenSlow(t *testing.T) {
	j := open(t, small(t))
	mine, cancel := j.Subscribe(Filter{UID: 1000})
	slow, _ := j.Subscribe(Filter{UID: 1000})
	write(t, j, request(1001, 1), request(1000, 2))
	if r := <-mine; r.UID != 1000 || r.Path != "/items/2" {
		t.Fatalf("%+v", r)
	}
	cancel()
	cancel()
	if _, ok := <-mine; ok {
		t.Fatal("a cancelled subscription goes on")
	}
	for i := range subscriberLag + 10 {
		write(t, j, request(1000, i))
	}
	n := 0
	for range slow {
		n++
	}
	if n != subscriberLag {
		t.Fatalf("the slow reader got %d", n)
	}
	j.Close()
	if _, ok := <-first(j.Subscribe(Filter{})); ok {
		t.Fatal("a closed journal has subscribers")
	}
}

func first(c <-chan Record, _ func()) <-chan Record { return c }

func TestIDsAreUniqueAndLookRandom(t *testing.T) {
	key, other := idKey{1}, idKey{2}
	seen := map[string]bool{}
	same := 0
	for seq := range uint64(200000) {
		id := key.id(seq)
		if !validID(id) || seen[id] {
			t.Fatalf("record %d has ID %q", seq, id)
		}
		seen[id] = true
		if id == other.id(seq) {
			same++
		}
	}
	if same > 3 {
		t.Errorf("two keys agree on %d IDs", same)
	}
}
