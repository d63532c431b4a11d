# dq-multi: the same answers as alone, what is counted, and bad input. Times are not looked at.
load common

# tells EXPRESSION FILE: of the JSON, as `told`
tells() { python3 -c "import json, sys; told = json.load(open(sys.argv[1])); assert $1, told" "$2"; }
needs_python() { command -v python3 >/dev/null || skip "no python3 to read JSON with"; }

@test "the same answers for any policy, number of workers, jobs and mix, those of the network alone" {
  needs_python
  convert int8 "$models/small.onnx" int8.onnx -q >/dev/null
  convert amp "$models/small.onnx" half.onnx -q >/dev/null
  mix=("$models/small.onnx,n=2,priority=low" half.onnx,fps=200 int8.onnx,n=2,priority=high)
  for network in "$models/small.onnx" half.onnx int8.onnx; do
    gives 0 dq-multi "$network" --data "npy:$x" --duration 20ms --threads 1 --job-time 1h --json alone.json
    tells 'told["networks"][0]["jobs"] == 1' alone.json
    python3 -c 'import json; print(json.load(open("alone.json"))["networks"][0]["digest"])' >>alone
  done
  [ "$(sort -u alone | wc -l)" -eq 3 ]
  for policy in fifo round-robin priority edf; do
    for threads in 1 2 3; do
      gives 0 dq-multi "${mix[@]}" --data "npy:$x" --policy $policy --threads $threads --job-time 1us --requests 20 --json mix.json
      python3 -c 'import json; [print(n["digest"]) for n in json.load(open("mix.json"))["networks"]]' >mix
      cmp alone mix
      tells 'all(n["different"] == 0 and n["failed"] == 0 and n["jobs"] > 1 for n in told["networks"])' mix.json
      tells 'all(n["requests"] == 20 * n["senders"] for n in told["networks"])' mix.json
    done
  done
}

@test "the answers are those of dq-run" {
  needs_python
  make_models --array one.npy 1 3 8 8
  gives 0 dq-multi "$models/small.onnx" --data npy:one.npy --duration 20ms --json a.json
  gives 0 dq-multi "$models/small.onnx" --data npy:one.npy --duration 20ms --seed 5 --json b.json
  tells 'told["networks"][0]["digest"] == json.load(open("a.json"))["networks"][0]["digest"]' b.json
  gives 0 dq-multi "$models/small.onnx" --duration 20ms --json c.json
  gives 0 dq-multi "$models/small.onnx" --duration 20ms --seed 5 --json d.json # other noise
  tells 'told["networks"][0]["digest"] != json.load(open("c.json"))["networks"][0]["digest"]' d.json
}

@test "what is counted: requests, dropped, missed, unfinished" {
  needs_python
  gives 0 dq-multi "$models/small.onnx,n=3" --requests 5 --json a.json
  tells 'told["networks"][0]["requests"] == 15 and "missed" not in told["networks"][0]' a.json
  gives 0 dq-multi "$models/small.onnx,n=2,fps=100" --requests 20 --json b.json
  tells 'told["networks"][0]["requests"] == 40 and told["run"]["seconds"] >= 0.19' b.json
  # more than the machine can do: late requests are dropped, or wait and are taken out at the end
  gives 0 dq-multi "$models/small.onnx,fps=1000000,late=drop" --requests 30000 --json c.json
  tells '(n := told["networks"][0])["dropped"] > 0 and n["dropped"] + n["requests"] == 30000' c.json
  gives 0 dq-multi "$models/small.onnx,fps=1000000,late=queue" --requests 3000 --json d.json
  tells 'told["networks"][0]["dropped"] == 0 and told["networks"][0]["requests"] == 3000' d.json
  gives 0 dq-multi "$models/small.onnx,fps=1000,deadline=1us" --requests 20 --json e.json
  tells 'told["networks"][0]["missed"] == 20 and told["run"]["missed"] == 20' e.json
  # 2000 requests, seconds of work, arrive in 20 ms, however slow the machine is; what has not begun by then is counted
  make_networks resnet50 16 large.onnx
  gives 0 dq-multi large.onnx,fps=100000 --duration 20ms --threads 1 --json f.json
  tells '(n := told["networks"][0])["unfinished"] > 0 and n["unfinished"] + n["requests"] == 2000' f.json
}

@test "a run ends when all requests of --requests have ended, however long the duration is" {
  needs_python
  for by in n=2 fps=50 fps=50,late=drop; do
    gives 0 timeout 20 dq-multi "$models/small.onnx,$by" --requests 5 --duration 1000000s --json a.json
    tells '(n := told["networks"][0])["requests"] + n.get("dropped", 0) == (10 if "'$by'" == "n=2" else 5)' a.json
  done
}

@test "requests that come much faster than they are answered take little memory, also by trace, and none is lost" {
  needs_python
  make_networks resnet50 16 large.onnx
  # 400,000 requests, each of which took 2 kB where it waited
  gives 0 dq-multi large.onnx,fps=1000000,n=2 --duration 200ms --threads 1 --memory 100M --json a.json
  tells '(n := told["networks"][0])["unfinished"] > 390000 and n["unfinished"] + n["requests"] == 400000' a.json
  # of the same numbers by trace, with pictures by turns, each is run, and gives what it gives alone
  awk 'BEGIN { for (i = 0; i < 30000; i++) print 0.000001 * i, i % 3 ? "b" : "a" }' >trace
  gives 0 dq-multi "$models/small.onnx,name=a" "$models/small.onnx,name=b" --trace trace --json b.json
  tells '[n["requests"] for n in told["networks"]] == [10000, 20000]' b.json
  gives 0 dq-multi "$models/small.onnx,fps=1000000" --requests 20000 --json c.json
  tells 'told["networks"][0]["requests"] == 20000' c.json
}

@test "frames for the values of requests: for each worker and each priority" {
  needs_python
  mix=("$models/small.onnx,priority=low" "$models/small.onnx,priority=high" "$models/small.onnx,priority=high")
  gives 0 dq-multi "${mix[@]}" --requests 1 --threads 2 --json a.json
  tells 'told["run"]["frames"] == 3' a.json
  gives 0 dq-multi "${mix[@]}" --policy priority --requests 1 --threads 2 --json b.json
  tells 'told["run"]["frames"] == 4' b.json
  gives 0 dq-multi "${mix[@]}" "$models/small.onnx" --policy priority --requests 1 --threads 2 --json c.json
  tells 'told["run"]["frames"] == 6' c.json
}

@test "a request in thirty years: one arrives" {
  needs_python
  gives 0 dq-multi "$models/small.onnx,fps=1e-9" --duration 300ms --json a.json
  tells 'told["networks"][0]["requests"] == 1 and told["run"]["seconds"] >= 0.3' a.json
}

@test "a trace: each line is a request of its network" {
  needs_python
  printf '# a comment\n0 first\n\n0.005 second\r\n0.005\tfirst\n 0.03  first \n' >trace
  gives 0 dq-multi "$models/small.onnx,name=first" "$models/small.onnx,name=second" --trace trace --json a.json
  tells '[n["requests"] for n in told["networks"]] == [3, 1] and told["run"]["seconds"] >= 0.03' a.json
  # the clock of another network runs as long as the trace
  gives 0 dq-multi "$models/small.onnx,name=first" "$models/small.onnx,name=second" "$models/small.onnx,fps=100" --trace trace --json b.json
  tells '[n["requests"] + n["unfinished"] for n in told["networks"]] == [3, 1, 4]' b.json
  gives 3 dq-multi "$models/small.onnx,name=first,fps=100" "$models/small.onnx,name=second" --trace trace
  says "dq-multi: trace: has requests of network 'first', which has fps=; expected one of the two"
}

@test "a network without senders is loaded and idle" {
  needs_python
  gives 0 dq-multi "$models/small.onnx,n=0,name=idle" "$models/small.onnx" --duration 20ms --json a.json
  tells '[n["requests"] > 0 for n in told["networks"]] == [False, True] and told["run"]["jain"] == 1' a.json
  echo "0 idle" >trace
  gives 0 dq-multi "$models/small.onnx,n=0" "$models/small.onnx,fps=2" --duration 1s --json b.json
  tells 'told["run"]["processor_seconds"] < 0.1' b.json # nothing spins
  gives 0 dq-multi "$models/small.onnx,n=0" "$models/small.onnx,fps=2,threads=all" --threads 2 --duration 1s --json b.json
  tells 'told["run"]["processor_seconds"] < 0.1' b.json # nor do those that help
  gives 3 dq-multi "$models/small.onnx,n=0,name=idle" --trace trace
  says "dq-multi: trace: has requests of network 'idle', which has n=0; expected one of the two"
}

@test "a process without requests uses no processor time" {
  needs_python
  gives 0 dq-multi "$models/small.onnx,n=0" "$models/small.onnx,n=0,threads=all" --threads 4 --duration 3s --json a.json
  tells 'told["run"]["seconds"] >= 3 and told["run"]["processor_seconds"] < 0.03' a.json
  ! built_with tsan || skip "a thread of ThreadSanitizer wakes several times in a second"
  dq-multi "$models/small.onnx,n=0" "$models/small.onnx,n=0,threads=all" --threads 4 --duration 6s >out 2>err &
  sleep 2
  awk '/^voluntary/ { n += $2 } END { print n }' /proc/$!/task/*/status >switches
  sleep 3
  awk '/^voluntary/ { n += $2 } END { print n }' /proc/$!/task/*/status >>switches
  wait $!
  [ "$(tail -n 1 switches)" -le $(($(head -n 1 switches) + 10)) ] # nobody wakes but twice in a second
}

@test "a hundred networks have as many threads as one" {
  many=()
  for i in {1..100}; do many+=("$models/small.onnx,n=0,threads=all"); done
  for count in 1 100; do
    dq-multi "${many[@]:0:count}" "$models/small.onnx,threads=all,fps=10" --threads 3 --duration 4s >out 2>err &
    sleep 2
    ls "/proc/$!/task" | wc -l >>threads
    wait $!
  done
  [ "$(uniq threads | wc -l)" -eq 1 ]
  [ "$(head -n 1 threads)" -ge 3 ]
}

@test "two cameras for 20 seconds: every picture is counted, on time, and no memory is kept" {
  needs_python
  gives 0 dq-multi "$models/small.onnx,fps=30,late=drop" "$models/small.onnx,fps=25" --duration 1s --json short.json
  gives 0 dq-multi "$models/small.onnx,fps=30,late=drop" "$models/small.onnx,fps=25" --duration 20s --json long.json
  tells '[n["requests"] + n["dropped"] + n["unfinished"] for n in told["networks"]] == [600, 500]' long.json
  tells '19.9 < told["run"]["seconds"] < 21 and told["networks"][1]["dropped"] == 0' long.json
  tells 'told["run"]["peak_bytes"] < json.load(open("short.json"))["run"]["peak_bytes"] + (1 << 20)' long.json
}

@test "the figures fit each other" {
  needs_python
  gives 0 dq-multi "$models/small.onnx" "$models/small.onnx,fps=50" --duration 200ms --json a.json
  python3 - <<'END'
import json
from math import isclose
told = json.load(open("a.json"))
shares = []
for n in told["networks"]:
    assert n["p50_ms"] <= n["p95_ms"] <= n["p99_ms"] <= n["largest_ms"], n
    assert isclose(n["waiting_ms"] + n["running_ms"], n["mean_ms"], rel_tol=1e-9), n
    assert isclose(n["slowdown"], n["mean_ms"] / n["alone_ms"], rel_tol=1e-9), n
    assert isclose(n["per_second"], n["requests"] / told["run"]["seconds"], rel_tol=1e-9), n
    shares.append(1 / n["slowdown"])
run = told["run"]
assert isclose(run["turnaround"], sum(1 / s for s in shares) / 2, rel_tol=1e-9), run
assert isclose(run["throughput"], sum(shares), rel_tol=1e-9), run
assert isclose(run["jain"], sum(shares) ** 2 / (2 * sum(s * s for s in shares)), rel_tol=1e-9), run
assert [n["network"] for n in told["networks"]] == ["small", "small#2"]
jobs = [j for j in told["jobs"] if j["network"] == "small"]
assert len(jobs) == told["networks"][0]["jobs"] and jobs[0]["first"] == "conv1", jobs
END
}

@test "threads of a network: one, all or measured; the same answers in any mix" {
  needs_python
  convert int8 "$models/small.onnx" int8.onnx -q >/dev/null
  gives 0 dq-multi "$models/small.onnx" int8.onnx --data "npy:$x" --duration 20ms --threads 3 --json one.json
  tells '[n["threads"] for n in told["networks"]] == [1, 1] and "one_thread_ms" not in (n := told["networks"][0]) and "helped_ms" not in n' one.json
  for threads in 1 2 3; do
    for mix in "n=1 n=0" "n=3 n=2" "n=1,fps=500 n=2"; do
      gives 0 dq-multi "$models/small.onnx,threads=all,${mix% *}" "int8.onnx,threads=all,${mix#* }" --data "npy:$x" --threads $threads --job-time 1us --requests 20 --json all.json
      tells '[n["digest"] for n in told["networks"]] == [n["digest"] for n in json.load(open("one.json"))["networks"]]' all.json
      tells "all(n['threads'] == $threads and n['different'] == n['failed'] == 0 for n in told['networks'])" all.json
    done
  done
  tells '"helped_ms" in (n := told["networks"][0])' all.json
  gives 0 dq-multi "$models/small.onnx" int8.onnx,threads=one,n=0 --data "npy:$x" --threads 2 --auto --requests 4000 --json auto.json
  tells '[n["digest"] for n in told["networks"]] == [n["digest"] for n in json.load(open("one.json"))["networks"]]' auto.json
  tells '(n := told["networks"][0])["one_thread_ms"] > 0 and n["all_threads_ms"] > 0 and n["threads"] in (1, 2)' auto.json
  tells '(n := told["networks"][1])["threads"] == 1 and "one_thread_ms" not in n' auto.json
  gives 0 dq-multi "$models/small.onnx,threads=auto" --threads 1 --requests 2 --json auto.json # nothing to measure
  tells '(n := told["networks"][0])["threads"] == 1 and "one_thread_ms" not in n' auto.json
}

@test "requests that decode their pictures give the answers of those that copy them, and count the time" {
  needs_python
  make_models --array one.npy 1 3 8 8
  mkdir pictures
  for i in 1 2 3; do head -c $((3 * 8 * 8)) /dev/urandom | { printf 'P6 8 8 255\n'; cat; } >pictures/$i.ppm; done
  convert int8 "$models/small.onnx" int8.onnx -q >/dev/null
  plain=preprocess=fit=stretch,scale=0.00392157
  gives 2 dq-multi "$models/small.onnx,data=pictures" --duration 20ms
  has "the preprocessing of these pictures is not known"
  gives 2 dq-multi "$models/small.onnx,data=pictures,preprocess=fit=never" --duration 20ms
  for network in "$models/small.onnx" int8.onnx; do
    for spec in pictures,$plain "npy:$x"; do
      gives 0 dq-multi "$network,data=$spec,decode=start" --duration 20ms --json a.json
      tells '"decoding_ms" not in told["networks"][0]' a.json
      gives 0 dq-multi "$network,n=2,data=$spec,decode=request" "$models/small.onnx,name=b" --threads 2 --job-time 1us --requests 30 --json b.json --timeline line.json
      tells '(n := told["networks"][0])["digest"] == json.load(open("a.json"))["networks"][0]["digest"] and n["different"] == n["failed"] == 0' b.json
      tells '0 < (n := told["networks"][0])["decoding_ms"] < n["running_ms"] and "decoding_ms" not in told["networks"][1]' b.json
      tells 'sum(e.get("cat") == "decode" and e["args"]["job"] == -1 for e in told["traceEvents"]) == 60' line.json
    done
  done
}

@test "preprocessing: of the options, or the network's own" {
  needs_python
  mkdir pictures
  head -c $((3 * 8 * 8)) /dev/urandom | { printf 'P6 8 8 255\n'; cat; } >pictures/1.ppm
  a=fit=stretch,scale=0.00392157 b=fit=stretch,scale=0.01,mean=0.5
  gives 0 dq-multi "$models/small.onnx,name=a,n=2" "$models/small.onnx,name=b,preprocess=$b,n=2" --data pictures --preprocess $a --requests 1 --json mix.json
  for fields in $a $b; do
    gives 0 dq-multi "$models/small.onnx" --data pictures --preprocess $fields --requests 1 --json one.json
    python3 -c 'import json; print(json.load(open("one.json"))["networks"][0]["digest"])' >>digests
  done
  [ "$(sort -u digests | wc -l)" -eq 2 ]
  tells '[n["digest"] for n in told["networks"]] == open("digests").read().split() and told["networks"][1]["senders"] == 2' mix.json
}

@test "a picture that is gone when a request reads it fails that request alone" {
  needs_python
  mkdir pictures
  for i in 1 2; do head -c $((3 * 8 * 8)) /dev/urandom | { printf 'P6 8 8 255\n'; cat; } >pictures/$i.ppm; done
  dq-multi "$models/small.onnx,data=pictures,decode=request,fps=50" --preprocess fit=stretch,scale=0.00392157 --duration 2s --json a.json 2>err &
  sleep 1
  rm pictures/2.ppm
  wait $! || code=$?
  [ "$code" -eq 1 ]
  grep -q '^dq-multi: small: .* requests failed: .*2.ppm: No such file' err
  tells '(n := told["networks"][0])["failed"] > 0 and n["requests"] > n["failed"]' a.json
}

@test "a timeline: each worker runs one job after the other, and requests their jobs in order" {
  needs_python
  gives 0 dq-multi "$models/small.onnx,n=3" --threads 2 --job-time 1us --requests 20 --timeline line.json
  python3 - <<'END'
import json
events = json.load(open("line.json"))["traceEvents"]
assert [e["args"]["name"] for e in events if e["ph"] == "M"] == ["dq-multi", "worker 0", "worker 1"]
jobs = [e for e in events if e["ph"] == "X"]
requests = {}
for worker in 0, 1:
    own = [e for e in jobs if e["tid"] == worker]
    assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-6 for a, b in zip(own, own[1:]))
for e in sorted(jobs, key=lambda e: e["ts"]):
    requests.setdefault(e["args"]["request"], []).append(e)
assert len(requests) == 60, len(requests)
for own in requests.values():
    assert [e["args"]["job"] for e in own] == list(range(len(own))), own
    assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-6 for a, b in zip(own, own[1:])), own
END
}

@test "the page draws the first 200 jobs that the timeline has" {
  needs_python
  gives 0 dq-multi "$models/small.onnx,n=3" "$models/small.onnx,name=b,fps=100" --threads 2 --job-time 1us --requests 90 --timeline line.json --html page.html
  python3 - <<'END'
import json
import re
import xml.etree.ElementTree as tree
page = open("page.html").read()
picture = tree.fromstring(page[page.index("<svg"):page.index("</svg>") + 6])
labels = [e.text for e in picture if e.tag.endswith("text")]
assert labels[:2] == ["small", "b"], labels
assert [label for label in labels if label.startswith("worker")] == ["worker 0", "worker 1"], labels
texts = [t.text for t in picture.iter() if t.tag.endswith("title")]
drawn = {re.match(r"(small|b), request (\d+), job (\d+): \S+ ms$", text).groups() for text in texts}
events = sorted((e for e in json.load(open("line.json"))["traceEvents"] if e["ph"] == "X"), key=lambda e: e["ts"])
first = {(e["name"], str(e["args"]["request"]), str(e["args"]["job"])) for e in events[:200]}
assert len(first) == 200 and drawn >= first and 200 <= len(texts) < 210, (len(texts), first - drawn)
END
}

@test "time slices: a worker prefers requests of the network that it ran last" {
  needs_python
  for i in {1..200}; do printf '0 a\n0 b\n'; done >trace
  for slice in 0 1h; do
    gives 0 dq-multi "$models/small.onnx,name=a" "$models/small.onnx,name=b" --trace trace --threads 1 --slice $slice --timeline $slice.json
  done
  python3 - <<'END'
import json
def networks(path):
    events = json.load(open(path))["traceEvents"]
    return [e["name"] for e in sorted((e for e in events if e["ph"] == "X" and not e["args"]["job"]), key=lambda e: e["ts"])]
switches = [sum(a != b for a, b in zip(run, run[1:])) for run in map(networks, ("0.json", "1h.json"))]
assert switches[1] < switches[0] / 2, switches # on a busy machine requests may wait for one another less often
END
}

@test "requests that fail end alone, and the command says so at the end" {
  needs_python
  make_models --whole ids.npy 120 10 5 # some are beyond the 100 rows of the table
  tokens="$models/tokens.onnx,shape=N,5,data=npy:ids.npy"
  gives 1 dq-multi "$models/small.onnx,n=2" "$tokens" --requests 20 --json a.json
  has "dq-multi: tokens: "
  has " of 20 requests failed: "
  tells '(n := told["networks"][1])["failed"] > 0 and n["requests"] > 0 and n["failed"] + n["requests"] == 20' a.json
  tells '(n := told["networks"][0])["failed"] == 0 and n["requests"] == 40' a.json
  tells 'all(n["different"] == 0 for n in told["networks"])' a.json
}

@test "a network that cannot be loaded among others is named, and nothing runs" {
  gives 3 dq-multi "$models/small.onnx" "$models/cycle.onnx"
  has "dq-multi: $models/cycle.onnx: "
  gives 5 dq-multi "$models/small.onnx" missing.onnx,n=2
  says "dq-multi: missing.onnx: No such file or directory"
  gives 5 dq-multi "$models/small.onnx" "$models/small.onnx,name=b,data=npy:missing.npy"
  has "dq-multi: $models/small.onnx: "
  has "missing.npy"
  gives 3 dq-multi "$models/small.onnx,data=npy:$maps" --duration 10ms
  has "dq-multi: $models/small.onnx: "
  gives 3 dq-multi "$models/small.onnx,shape=x=1,4,8,8" --duration 10ms
  says "dq-multi: $models/small.onnx: input 'x': dimension 1 is 3, given is 4"
  [ -z "$output" ]
}

@test "keys that are wrong" {
  local m=$models/small.onnx
  while IFS='|' read -r keys text; do
    gives 2 dq-multi "$m" "$m,$keys" --duration 10ms
    has "dq-multi: $m,$keys: $text"
  done <<'END'
fps=0|fps=: '0' is out of range, allowed is 1e-09 to 1000000
fps=1e-10|fps=: '1e-10' is out of range, allowed is 1e-09 to 1000000
fps=-3|fps=: '-3' is out of range, allowed is 1e-09 to 1000000
fps=nan|fps=: 'nan' is not a number
n=-1|n=: '-1' is out of range, allowed is 0 to 10000
n=two|n=: 'two' is not a whole number
late=never|late=: 'never' is not one of queue, drop
priority=urgent|priority=: 'urgent' is not one of low, normal, high
deadline=0|deadline=: '0' is out of range
deadline=soon|deadline=: 'soon' is not a time
pfs=30|unknown key 'pfs'
n=2,fsp=30|unknown key 'fsp'
n=2,n=3|n= is given twice
name=|name= has no value
n=2,rest|unknown key 'rest'
threads=two|threads=: 'two' is not one of one, all, auto
decode=never|decode=: 'never' is not one of start, request
END
  gives 2 dq-multi "$m,pfs=30"
  has "hint: did you mean 'fps='?"
  gives 2 dq-multi ",n=2"
  has "there is no model in front of the keys"
  gives 2 dq-multi "$m,name=a" "$m,name=a"
  says "dq-multi: two networks have the name 'a'"
  gives 2 dq-multi "$m,preset=tf"
  has "preset= needs data="
  gives 2 dq-multi "$m,decode=request"
  has "decode= needs data="
  gives 2 dq-multi "$m,late=drop"
  says "dq-multi: $m,late=drop: late= needs fps= or --trace: a sender otherwise waits for its request"
  gives 2 dq-multi "$m" --limit 3
  says "dq-multi: option '--limit' needs '--data' or a network with data="
  gives 2 dq-multi "$m" --preset tf
  says "dq-multi: option '--preset' needs '--data' or a network with data="
  gives 2 dq-multi "$m,preprocess=fit=stretch,n=2"
  has "preprocess= needs data="
  gives 2 dq-multi "$m" --trace trace --requests 3
  has "--trace"
  gives 2 dq-multi "$m" --policy lifo
  has "option '--policy': 'lifo' is not one of fifo, round-robin, priority, edf"
  gives 2 dq-multi "$m" --job-time 0
  has "option '--job-time': '0' is out of range"
}

@test "traces that are broken: the line is named" {
  local m=$models/small.onnx
  while IFS='|' read -r lines text; do
    printf -- "$lines" >trace
    gives 3 dq-multi "$m,name=camera" --trace trace
    has "dq-multi: trace: $text"
  done <<'END'
0 camera\nsoon camera\n|line 2: 'soon camera' is not a time in seconds and a name
0 camera\n\n0.5\n|line 3: '0.5' is not a time in seconds and a name
nan camera\n|line 1: 'nan camera' is not a time in seconds and a name
-1 camera\n|line 1: the time is -1 s, expected 0 to 1e9
1 camera\n0.5 camera\n|line 2: the time is 0.5 s, after 1 s in a line before; expected times in order
0 camra\n|line 1: there is no network 'camra'
# nothing\n|no line has a request
0 camera\n\0001 camera\n|line 2 has a zero byte
END
  gives 3 dq-multi "$m,name=camera" --trace /dev/null
  gives 5 dq-multi "$m" --trace missing
  has "missing: No such file or directory"
}

@test "more networks than memory: refused with the network that does not fit" {
  many=()
  for i in {1..40}; do many+=("$models/small.onnx"); done
  gives 5 dq-multi "${many[@]}" --duration 10ms --memory 1M
  has "dq-multi: $models/small.onnx: "
  has "memory"
}

@test "interrupted: 130 within a second" {
  timeout --preserve-status -s INT 0.5 dq-multi "$models/small.onnx,n=2" "$models/small.onnx,fps=10" --duration 60s >out 2>err || code=$?
  [ "$code" -eq 130 ]
}
