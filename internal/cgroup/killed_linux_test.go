package cgroup

import "testing"

func TestTheKernelSaysWhoWasKilled(t *testing.T) {
	const head = "6,1234,99,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
	for record, want := range map[string]string{
		head + "oom_memcg=/oj/jail-j1,task_memcg=/oj/jail-j1,task=cc1plus,pid=12,uid=1000\n SUBSYSTEM=x\n": "cc1plus",
		head + "oom_memcg=/oj/jail-j1,task_memcg=/oj/jail-j1/exec-2,task=a,pid=7,uid=0,pid=12,uid=1000\n":  "a,pid=7,uid=0",
		head + "oom_memcg=/oj/jail-j10,task_memcg=/oj/jail-j10,task=x,pid=12,uid=1000\n":                   "",
		head + "oom_memcg=/oj/jail-j2,task_memcg=/oj/jail-j2,task=/jail-j1,,pid=12,uid=1000\n":             "",
		"6,1234,99,-;Memory cgroup out of memory: Killed process 1 (oom_memcg=/jail-j1,task=x,pid=1)\n":    "",
		"12,1234,99,-;somebody wrote oom-kill:,oom_memcg=/jail-j1,task=x,pid=1,uid=0\n":                    "",
		head + "oom_memcg=/oj/jail-j1\n": "",
	} {
		if got := killedIn([]byte(record), "jail-j1"); got != want {
			t.Errorf("%q: %q, want %q", record, got, want)
		}
	}
}
