package scout

import "testing"

func TestS08_SettingsThatRunAProgram(t *testing.T) {
	for _, text := range []string{
		"[core]\nfsmonitor = /tmp/x", "[core]\n\tsshCommand=x", "[core]pager = x", "[core]hooksPath=.", "[core]editor=x", "[core]\naskPass=x",
		"[core]gitProxy=x", "[core]alternateRefsCommand=x", "[alias]\nst = !x", "[filter \"lfs\"]\nclean=x", "[diff]\nexternal=x",
		"[diff \"pdf\"]\ntextconv=x", "[merge \"m\"]\ndriver=x", "[include]\npath=x", "[includeIf \"gitdir:/\"]\npath=x", "[gpg]\nprogram=x",
		"[gpg \"ssh\"]\ndefaultKeyCommand=x", "[sequence]\neditor=x", "[interactive]\ndiffFilter=x", "[pager]\nlog=x", "[credential]\nhelper=x",
		"[credential \"https://a\"]\nhelper=x", "[remote \"o\"]\nurl = ext::sh -c x", "[remote \"o\"]\nvcs=x", "[remote \"o\"]\nuploadpack=x",
		"[submodule \"s\"]\nupdate = !x", "[uploadpack]\npackObjectsHook=x", "[init]\ntemplateDir=x", "[protocol \"ext\"]\nallow=always",
		"[hook \"h\"]\ncommand=x", "[difftool \"d\"]\ncmd=x", "[trailer \"t\"]\ncommand=x", "[core.a]\nfsmonitor=x", "[FILTER \"x\"]\nREQUIRED", "[core", "=",
	} {
		if s, ok := runsProgram([]byte(text)); !ok {
			t.Errorf("%q runs nothing (%s)", text, s)
		}
	}
	for _, text := range []string{
		"", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\tprecomposeunicode = true\n" +
			"[remote \"origin\"]\n\turl = https://github.com/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n" +
			"[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main\n",
		"[core]\nfsmonitor", "[core]\nfsmonitor = false", "[user]\nname=A\nemail=a@b\n", "[alias]\nst = status -sb\n",
		"[submodule]\nactive = .\n[submodule \"x\"]\nurl = ../x\nupdate = rebase\n", "[extensions]\nworktreeConfig = true\n",
		"[core]\nsparseCheckout = true\nworktree = ../../../x\n", "[pull]\nrebase=true\n[push]\ndefault=simple\n", "[lfs]\nrepositoryformatversion = 0\n",
	} {
		if s, ok := runsProgram([]byte(text)); ok {
			t.Errorf("%q runs %s", text, s)
		}
	}
}

func TestS08_ListsOfARebaseWithACommand(t *testing.T) {
	for text, want := range map[string]bool{
		"pick 1 a\nexec touch x\n": true, "x touch x": true, "  exec\ttouch x": true, "exec": true,
		"pick 1 exec\n# exec y\nlabel x\nreset x\nmerge x\n": false, "": false,
	} {
		if got := runsLine([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
