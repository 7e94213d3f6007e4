// The page in Debian's chromium, and once in its firefox: every feature is driven as a user does it, by mouse and by keys, and
// sums are those of `gosym report --json` for the same part of the recording.
//
//     node browser.test.js GOSYM
"use strict";

const assert = require("assert");
const {execFileSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const test = require("node:test");
const {Browser} = require("./chromium.js");
const {Firefox} = require("./firefox.js");
const {encodeMessage, encodePprof, pack} = require("./encode.js");

const kGosym = path.resolve(process.argv[2]);
const kWork = fs.mkdtempSync(path.join(os.tmpdir(), "gosym-page-"));
const kCtrl = 2;  // of the DevTools protocol
const browser = new Browser();
let cpu = "", html = "", template = "";

const gosym = (...words) => execFileSync(kGosym, words, {maxBuffer: 1 << 28,
  stdio: ["ignore", "pipe", "pipe"], env: {...process.env, HOME: kWork}});
const inPage = (expression) => browser.eval(expression);
const state = () => inPage("gosym.state()");
const set = (change) => inPage(`gosym.set(${JSON.stringify(change)})`);
const totals = () => inPage("gosym.totals()");
const text = (selector) => inPage(`document.querySelector(${JSON.stringify(selector)}).textContent`);

// A page with other data, in the viewer that gosym wrote.
function pageOf(name, data) {
  const file = path.join(kWork, `${name}.html`);
  fs.writeFileSync(file, template.replace(/(id="profile">)[^<]*/, (_, tag) => `${tag}\n${data}\n`));
  return file;
}
const profilePage = (name, profile) => pageOf(name, pack(encodeMessage(profile)));

// Threads with names and labels of their own, recursion, and phases that differ in time.
const kProgram = `package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"runtime/pprof"
	"sync"
)

type item struct {
	Name string
	Parts []int
}

func encode(n int) {
	for i := 0; i < n; i++ {
		data, _ := json.Marshal(item{"a name", []int{1, 2, i}})
		var back item
		_ = json.Unmarshal(data, &back)
	}
}

func hash(n int) {
	var sum [32]byte
	for i := 0; i < n; i++ {
		sum = sha256.Sum256(sum[:])
	}
}

func nested(depth, n int) {
	if depth > 0 {
		nested(depth-1, n)
		return
	}
	hash(n)
}

func main() {
	var group sync.WaitGroup
	for _, name := range []string{"read", "write"} {
		name := name // before Go 1.22 a loop has one variable for all of its turns
		group.Add(1)
		go pprof.Do(context.Background(), pprof.Labels("handler", name), func(context.Context) {
			defer group.Done()
			// By work, not by time, of which a busy machine gives it any share.
			for i := 0; i < 40000; i++ {
				if name == "read" && i < 12000 {
					encode(50)
				} else {
					nested(6, 200)
				}
			}
		})
	}
	group.Wait()
}
`;

function buildGo(name, source) {
  const go = {...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOTOOLCHAIN: "local",
    GO111MODULE: "off", GOPROXY: "off"};
  fs.writeFileSync(path.join(kWork, `${name}.go`), source);
  execFileSync("go", ["build", "-o", name, `${name}.go`], {cwd: kWork, env: go});
}

test.before(async () => {
  buildGo("work", kProgram);
  cpu = path.join(kWork, "cpu.raw");
  gosym("record", "-F", "499", "-o", cpu, "--", path.join(kWork, "work"));
  html = path.join(kWork, "cpu.html");
  gosym("report", "--html", html, cpu);
  template = fs.readFileSync(html, "utf8");
  await browser.begin();
});
test.after(async () => {
  await browser.end();
  fs.rmSync(kWork, {recursive: true, force: true});
});

// The totals of a part of the recording by `report`, in the form that the page has.
const reported = (...options) => reportedOf(cpu, ...options);
function reportedOf(file, ...options) {
  const {totals: {samples, value}, functions} = JSON.parse(gosym("report", "--json", "--top", "0",
    ...options, file));
  const result = {};
  for (const {name, self, total} of functions) {
    const known = result[name] ?? [0, 0];
    result[name] = [known[0] + self, known[1] + total];
  }
  return {samples, value, functions: result};
}

async function samePage(...options) {
  sameSums(await totals(), reported(...options));
}
function sameSums(found, expected) {
  assert.equal(found.samples, expected.samples);
  assert.ok(expected.samples > 0, "nothing was sampled");
  // Periods are whole nanoseconds in both.
  assert.equal(Math.round(found.value), expected.value);
  assert.deepEqual(Object.keys(found.functions).sort(), Object.keys(expected.functions).sort());
  for (const [name, amounts] of Object.entries(expected.functions))
    assert.deepEqual(found.functions[name].map(Math.round), amounts, name);
}

async function opened(hash = "", page = html) {
  await browser.open(page, hash);
  assert.equal(await inPage("gosym.error"), null, "the page is broken");
}

async function box(name) {
  const found = (await inPage("gosym.boxes()")).filter((each) => each.text === name);
  assert.ok(found.length > 0, `no box ${name}`);
  return found.sort((a, b) => b.total - a.total)[0];
}
async function pointOf(place) {
  const [x, y] = await inPage(`gosym.middleOf(${place})`);
  const [left, top] = await inPage(`(() => { const box = document.getElementById("flame")
    .getBoundingClientRect(); return [box.left, box.top]; })()`);
  return [left + x, top + y];
}

test("opens without an error and without a request; sums are report's", async () => {
  await opened();
  assert.deepEqual(browser.errors(), []);
  assert.deepEqual(browser.requests(), []);
  await samePage();
});

test("a click zooms into a box, crumbs and Back lead out", async () => {
  await opened();
  const place = await box("main.nested");
  await browser.click(...await pointOf(place.place));
  assert.notEqual((await state()).zoom, 0);
  const [begin, end] = await inPage("gosym.window()");
  assert.ok(Math.abs(end - begin - place.total) < 1e-6);
  assert.match(await text("#crumbs"), /all›.*nested/);
  await browser.clickOn("#crumbs button");
  assert.equal((await state()).zoom, 0);
  await inPage("history.back()");
  await browser.until("gosym.state().zoom !== 0");
});

test("arrows move, Enter zooms, Escape goes back", async () => {
  await opened();
  await inPage("document.getElementById('flame').focus()");
  await browser.key("ArrowDown");
  await browser.key("ArrowDown");
  const selected = await inPage("gosym.selected()");
  assert.equal((await inPage("gosym.boxes()"))[selected].depth, 2);
  assert.match(await text("#said"), /depth 2/);
  await browser.key("Enter");
  assert.notEqual((await state()).zoom, 0);
  await browser.key("Escape");
  await browser.key("Escape");
  assert.equal((await state()).zoom, 0);
});

test("Ctrl and the wheel come closer, a drag pans, the overview moves", async () => {
  await opened();
  const [x, y] = await browser.middle("#flame");
  await browser.wheel(x, y, 0, -400, kCtrl);
  await browser.until("gosym.window()[1] - gosym.window()[0] < gosym.boxes()[0].total * 0.9");
  const before = await inPage("gosym.window()");
  await browser.drag([x, y], [x - 120, y]);
  const after = await inPage("gosym.window()");
  assert.ok(after[0] > before[0], `${before} ${after}`);
  assert.equal((await state()).zoom, 0);
  await browser.wheel(x, y, -200, 0);
  await browser.until(`gosym.window()[0] < ${after[0]}`);
  const box = await inPage(`(() => { const box = document.querySelector("#overview canvas")
    .getBoundingClientRect(); return [box.right - 3, box.top + 9]; })()`);
  await browser.click(...box);
  const all = (await inPage("gosym.boxes()"))[0].total;
  await browser.until(`Math.abs(gosym.window()[1] - ${all}) < ${all} * 0.02`);
});

test("the pointer over a box shows its details", async () => {
  await opened();
  const {place} = await box("main.hash");
  await browser.mouse("mouseMoved", ...await pointOf(place));
  await browser.until("document.getElementById('details').textContent.includes('main.hash')");
  const details = await text("#details");
  assert.match(details, /work\.go:\d+/);
  assert.match(details, /pclntab/);
  assert.match(details, /self [\d.]+ m?s [\d.]+ % of all/);
});

test("search: what matches has the share that report --focus has", async () => {
  await opened();
  await browser.key("/");
  await browser.type("main\\.(encode|nonesuch)");
  await browser.until("document.getElementById('matched').textContent.includes('matched')");
  const share = 100 * reported("--focus", "main\\.encode").value / reported().value;
  assert.equal(await text("#matched"), `${share.toFixed(1)} % matched`);
  await browser.key("Enter");
  await browser.key("n");
  assert.match((await inPage("gosym.boxes()"))[await inPage("gosym.selected()")].text, /main\.encode/);
  await set({search: "main.("});
  assert.match(await text("#matched"), /missing closing/);
});

test("inverted: the first boxes have the self time of functions", async () => {
  await opened();
  await browser.clickOn("#invert");
  assert.equal((await state()).invert, true);
  const unit = (await totals()).value / (await inPage("gosym.boxes()"))[0].total;
  const {functions} = await totals();
  for (const {text: name, total, depth} of await inPage("gosym.boxes()"))
    if (depth === 1)
      assert.equal(Math.round(total * unit), Math.round(functions[name][0]), name);
  await browser.key("i");
  assert.equal((await state()).invert, false);
  await browser.key("U");
  assert.equal((await state()).up, true);
});

test("the table sorts by each column, and has a function's callers and callees", async () => {
  await opened();
  await browser.key("1");
  const {functions} = await totals();
  const sorted = async (value) => {
    const rows = await inPage("gosym.rows()");
    for (let i = 1; i < rows.length; i++)
      assert.ok(value(rows[i - 1]) >= value(rows[i]), rows[i]);
    return rows;
  };
  await sorted((name) => functions[name][0]);
  await browser.clickOn("#table .head .total button");
  const rows = await sorted((name) => functions[name][1]);
  await browser.clickOn("#table .head .name button");
  assert.deepEqual(await inPage("gosym.rows()"), [...rows].sort());
  assert.equal(await inPage(`document.querySelector("#table .head .name").getAttribute("aria-sort")`),
    "ascending");
  await set({search: "^main\\.hash$"});
  assert.deepEqual(await inPage("gosym.rows()"), ["main.hash"]);
  await inPage("document.getElementById('table').focus()");
  await browser.key("ArrowDown");
  await browser.key("Enter");
  assert.equal((await state()).view, "around");
  assert.equal((await state()).around, "main.hash");
});

test("callers and callees are those of report", async () => {
  await opened("#view=around&around=main.nested");
  const [, all] = reported().functions["main.nested"], around = await inPage("gosym.around()");
  for (const [i, option] of ["--callers", "--callees"].entries()) {
    // "self %,self ns,total %,total ns,function,depth"
    const expected = gosym("report", "--csv", option, "^main\\.nested$", "--min", "0", cpu).toString()
      .trim().split("\n").slice(1).map((line) => line.match(/^.*,(\d+),"?([^"]*)"?,(\d+)$/).slice(1).join());
    const unit = all / around[i][0].total;
    const found = around[i].slice(1).map(({text: name, depth, total}) =>
      [Math.round(total * unit), name, depth].join());
    assert.deepEqual(found.filter((row) => !expected.includes(row)), []);
    assert.deepEqual(expected.filter((row) => !found.includes(row)), []);
    assert.equal(found.length, expected.length);
    assert.ok(found.length > 5);
  }
  assert.match(await text("#around-name"), /main\.nested.*total/);
  await browser.key("Escape");
  assert.equal((await state()).view, "flame");
});

test("the call tree opens and closes as an ARIA tree", async () => {
  await opened("#view=tree");
  await inPage("document.getElementById('tree').focus()");
  const rows = () => inPage("Number(document.getElementById('tree').getAttribute('aria-rowcount'))");
  const active = (name) => inPage(`document.getElementById(document.getElementById("tree")
    .getAttribute("aria-activedescendant")).getAttribute("${name}")`);
  await browser.key("ArrowDown");
  await browser.key("Home");
  assert.equal(await active("aria-level"), "1");
  const before = await rows();
  if (await active("aria-expanded") === "true")
    await browser.key("ArrowLeft");
  assert.equal(await active("aria-expanded"), "false");
  const closed = await rows();
  assert.ok(closed < before);
  await browser.key("ArrowRight");
  assert.equal(await active("aria-expanded"), "true");
  assert.ok(await rows() > closed);
  await browser.key("ArrowRight");
  assert.equal(await active("aria-level"), "2");
});

test("a drag over the heat map selects time: all else is of it, as report --time has it", async () => {
  await opened();
  const heat = await inPage("gosym.heat()");
  const [left, top] = await inPage(`(() => { const box = document.querySelector("#heat canvas")
    .getBoundingClientRect(); return [box.left, box.top]; })()`);
  const x = (column) => left + heat.left + (column + 0.5) * heat.pixels;
  await browser.drag([x(10), top + 10], [x(Math.floor(heat.columns / 2)), top + 10]);
  const {range} = await state();
  assert.deepEqual(range, [10 * heat.perColumn, (Math.floor(heat.columns / 2) + 1) * heat.perColumn]);
  const step = (await inPage("gosym.stepNs()")) / 1e9;
  await samePage("--time", `${(range[0] * step).toFixed(9)},${(range[1] * step).toFixed(9)}`);
  const all = (await inPage("gosym.boxes()"))[0].total, unit = (await totals()).value / all;
  assert.equal(Math.round(all * unit), Math.round((await totals()).value));
  await browser.clickOn("#chips button");
  assert.equal((await state()).range, null);
  await samePage();
});

test("keys select time too", async () => {
  await opened();
  await browser.key("[");
  await browser.key("]");
  const {range} = await state();
  assert.ok(range[0] > 0 && range[1] > range[0]);
  await browser.key("\\");
  assert.equal((await state()).range, null);
  await inPage("document.querySelector('#heat canvas').focus()");
  await browser.key("ArrowRight");
  const first = (await state()).range;
  await browser.key("ArrowRight");
  assert.ok((await state()).range[0] > first[0]);
  await browser.key("Escape");
  assert.equal((await state()).range, null);
});

test("a filter chosen in the dialog: by thread, as report --tid has it", async () => {
  await opened();
  await browser.key("t");
  const name = await inPage(`document.querySelector("#choose li span").textContent`);
  await browser.clickOn("#choose li input");
  await browser.until("document.querySelector('#choose li input').checked");
  await browser.key("Escape");
  assert.deepEqual((await state()).filters, {thread: [name]});
  const [, comm, tid] = name.match(/^(.*) \((\d+)\)$/);  // a thread may have had another name before
  await samePage("--tid", tid, "--comm", comm);
  await browser.until("!document.getElementById('choose').open");
  await browser.key("c");
  await browser.until("Object.keys(gosym.state().filters).length === 0");
  assert.deepEqual((await state()).filters, {});
});

test("filters by process, thread name and label are those of report", async () => {
  await opened();
  const values = (id) => inPage(`gosym.dimensions().find((each) => each.id === "${id}")?.values ?? []`);
  const [process] = await values("process");
  await set({filters: {process: [process]}});
  await samePage("--pid", process.match(/\((\d+)\)/)[1]);
  const [comm] = await values("comm");
  await set({filters: {comm: [comm]}});
  await samePage("--comm", comm);
  for (const handler of ["read", "write"]) {
    await set({filters: {"label:handler": [handler]}});
    await samePage("--label", `handler=${handler}`);
  }
  const range = [0, Math.floor(1e9 / await inPage("gosym.stepNs()"))];
  await set({filters: {"label:handler": ["read"]}, range});
  await samePage("--label", "handler=read", "--time",
    `0,${(range[1] * await inPage("gosym.stepNs()") / 1e9).toFixed(9)}`);
});

// Two programs in cgroups that are named as those of containers are, by 64 digits.
function recordContainers(file) {
  const roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
  const root = roots.find((each) => fs.existsSync(path.join(each, "cgroup.controllers")));
  if (!root)
    return null;
  const parent = path.join(root, `gosym-page-${process.pid}`);
  const ids = ["a", "b"].map((digit) => digit.repeat(64));
  const places = ids.map((id) => path.join(parent, `docker-${id}.scope`));
  places.forEach((place) => fs.mkdirSync(place, {recursive: true}));
  try {
    const enter = places.map((place, i) =>
      `(echo 0 > ${place}/cgroup.procs; for i in $(seq ${40000 * (i + 1)}); do :; done) &`);
    gosym("record", "-F", "999", "-o", file, "--", "sh", "-c", `${enter.join(" ")} wait`);
  } finally {
    [...places, parent].forEach((place) => fs.rmdirSync(place));
  }
  return ids;
}

test("filters by container and cgroup are those of report", async (t) => {
  const file = path.join(kWork, "containers.raw"), page = path.join(kWork, "containers.html");
  const ids = recordContainers(file);
  if (!ids)
    return t.skip("no cgroup v2");
  gosym("report", "--html", page, file);
  await opened("", page);
  const values = (id) => inPage(`gosym.dimensions().find((each) => each.id === "${id}").values`);
  const containers = await values("container"), cgroups = await values("cgroup");
  for (const id of ids) {
    const container = containers.find((each) => each.startsWith(id.slice(0, 12)));
    await set({filters: {container: [container]}});
    sameSums(await totals(), reportedOf(file, "--cgroup", id));
    const cgroup = cgroups.find((each) => each.includes(id));
    await set({filters: {cgroup: [cgroup]}});
    sameSums(await totals(), reportedOf(file, "--cgroup", cgroup));
  }
  await set({filters: {container: containers.filter((each) => /^[ab]/.test(each))}});
  const sums = ids.map((id) => reportedOf(file, "--cgroup", id).samples);
  assert.equal((await totals()).samples, sums[0] + sums[1]);
});

test("only stacks with what is chosen, only those without", async () => {
  await opened();
  const {place} = await box("main.encode");
  await browser.mouse("mouseMoved", ...await pointOf(place));
  await browser.key("f");
  await samePage("--focus", "^main\\.encode$");
  await browser.key("c");
  await browser.key("x");
  await samePage("--ignore", "^main\\.encode$");
  // The command line's expressions, in which case counts.
  await opened("#only=^main\\.Encode$");
  assert.equal((await totals()).samples, 0);
  await opened("#without=^main\\.encode$");
  await samePage("--ignore", "^main\\.encode$");
});

test("a filter that cannot be one says that it filters nothing", async () => {
  for (const [hash, said] of [["only=(", "missing closing )"], ["without=%5C1", "invalid escape"],
    ["onlyOf=main.nonesuch", "no such function"]]) {
    await opened(`#${hash}`);
    assert.ok((await text("#chips")).includes(said), await text("#chips"));
    assert.match(await text("#chips"), /filters nothing/);
    await samePage();
  }
});

test("of functions of one name the one that was chosen is meant, in all views", async () => {
  buildGo("other", kProgram);
  const file = path.join(kWork, "two.raw"), page = path.join(kWork, "two.html");
  gosym("record", "-q", "-F", "199", "-o", file, "--", "sh", "-c", `cd ${kWork}; ./other & ./work & wait`);
  gosym("report", "--html", page, file);
  // Samples of each function of a program, from its folded stacks.
  const counted = (comm) => {
    const counts = new Map();
    for (const line of gosym("report", "-q", "--folded", "--comm", comm, file).toString().trim().split("\n")) {
      const [, stack, count] = line.match(/^(.*) (\d+)$/);
      for (const name of new Set(stack.split(";").filter((each) => each.startsWith("main."))))
        counts.set(name, (counts.get(name) ?? 0) + Number(count));
    }
    return counts;
  };
  await opened("#view=table", page);
  const all = (await totals()).samples, labels = await inPage("gosym.labels()");
  for (const comm of ["work", "other"])
    for (const [name, count] of counted(comm)) {
      const label = `${name} (${comm})`;
      assert.ok(labels.includes(label), label);
      await set({view: "table", search: `^\\Q${name}\\E$`});
      const row = (await inPage("gosym.labels()")).indexOf(label);
      assert.ok(row >= 0 && row < 10, `${label} in row ${row}: ${await text("#matched")} ${await text("#chips")} ${JSON.stringify(await state())} ${(await totals()).samples} of ${all}`);
      await browser.clickOn(`#table .row:not(.head):nth-child(${row + 1}) .name`);
      assert.equal(await inPage("gosym.chosen()"), label);
      await browser.key("#");
      const [callers, callees] = await inPage("gosym.around()");
      assert.equal(Math.round(callers[0].total), count, label);
      assert.equal(Math.round(callees[0].total), count, label);
      assert.ok((await text("#around-name")).startsWith(label));
      const hash = await inPage("location.hash");
      await browser.key("f");
      assert.equal((await totals()).samples, count, label);
      assert.ok((await text("#chips")).includes(label));
      await browser.key("c");
      await browser.key("x");
      assert.equal((await totals()).samples, all - count, label);
      await browser.key("c");
      assert.equal(await inPage("gosym.chosen()"), label);
      await opened(hash, page);
      assert.ok((await text("#around-name")).startsWith(label));
    }
});

test("what is chosen in the call tree stays that, through filters, views and Back", async () => {
  await opened("#view=tree");
  await set({search: "^main\\.encode$"});
  await browser.key("n");
  const path = await inPage("gosym.path()");
  assert.equal(path.at(-1), "main.encode");
  const isSame = async (expected) => {
    assert.equal(await inPage("gosym.chosen()"), "main.encode");
    assert.deepEqual(await inPage("gosym.path()"), expected);
    assert.doesNotMatch(await text("#details"), /NaN/);
    await browser.key("Y");
    if (expected.length)
      assert.equal(await inPage("gosym.copied()"), expected.join("\n"));
  };
  for (const key of ["f", "c", "4", "2", "x"]) {
    await browser.key(key);
    await isSame(key === "x" ? [] : path);
  }
  await browser.key("c");
  await set({filters: {"label:handler": ["read"]}});
  await isSame(path);
  const back = async () => {
    const before = await inPage("location.hash");
    await inPage("history.back()");
    await browser.until(`location.hash !== ${JSON.stringify(before)}`);
    await inPage("new Promise((done) => setTimeout(done, 50)).then(() => true)");
  };
  await back();
  await isSame(path);
  await browser.key("i");
  await isSame([]);
  await browser.key("m");
  assert.equal(await inPage("gosym.chosen()"), "all");  // nobody has chosen a line
  await back();
  await back();
  await isSame(path);
  await browser.key("f");
  await set({search: ""});
  await samePage("--focus", "^main\\.encode$");
});

test("groups: the first boxes are labels", async () => {
  await opened();
  await inPage(`(() => { const select = document.getElementById("group");
    select.value = "label:handler"; select.dispatchEvent(new Event("change")); })()`);
  const first = (await inPage("gosym.boxes()")).filter(({depth}) => depth === 1);
  const unit = (await totals()).value / (await inPage("gosym.boxes()"))[0].total;
  for (const {text: name, total} of first.filter(({text: name}) => name !== "(none)"))
    assert.equal(Math.round(total * unit), reported("--label", `handler=${name}`).value);
  assert.ok(first.length >= 2);
});

test("packages, categories, modules and files are those of report --by", async () => {
  await opened();
  for (const by of ["package", "category", "module", "file"]) {
    await set({by});
    const found = (await totals()).functions, expected = {};
    const [, ...lines] = gosym("report", "--csv", "--by", by, "--top", "0", cpu).toString().trim().split("\n");
    for (const line of lines) {
      const [, self, total, name] = line.match(/^[^,]*,(\d+),[^,]*,(\d+),"?([^"]*)"?$/);
      expected[name] = [Number(self), Number(total)];
    }
    assert.ok(lines.length > 0);
    assert.deepEqual(Object.fromEntries(Object.entries(found).map(([name, amounts]) =>
      [name, amounts.map(Math.round)])), expected, by);
  }
});

test("colours and legend: by kind, package, category, module", async () => {
  await opened();
  assert.match(await text("#legend"), /own Go code|Go standard library/);
  for (const colour of ["package", "category", "module"]) {
    await browser.key("v");
    assert.equal((await state()).colour, colour);
    assert.match(await text("#legend"), {package: /crypto\/sha256/, category: /crypto and hashing/,
      module: /work\b/}[colour]);
  }
});

test("names and stacks are copied", async () => {
  await opened();
  const {place} = await box("main.hash");
  await browser.mouse("mouseMoved", ...await pointOf(place));
  await browser.key("y");
  assert.equal(await inPage("gosym.copied()"), "main.hash");
  await browser.key("Y");
  assert.match(await inPage("gosym.copied()"), /^runtime\.goexit\n[^]*\nmain\.nested\n[^]*main\.hash$/);
});

test("the address has the state, and restores it", async () => {
  await opened();
  await set({view: "table", sort: "total", search: "json", filters: {"label:handler": ["read"]}, range: [1, 50]});
  const hash = await inPage("location.hash"), before = await totals();
  await opened(hash);
  assert.deepEqual(await totals(), before);
  const {view, sort, search, filters, range} = await state();
  assert.deepEqual({view, sort, search, filters, range}, {view: "table", sort: "total", search: "json",
    filters: {"label:handler": ["read"]}, range: [1, 50]});
  await opened("#view=nonesuch&zoom=99999999&range=5000000-6000000&event=77&group=x&only.y=z");
  await samePage();
});

test("the stacks of a thread in order of time, by key, dialog and the titles of rows", async () => {
  await opened();
  await browser.key("t");
  const thread = await inPage(`document.querySelector("#choose li span").textContent`);
  await browser.clickOn("#choose li button");
  assert.deepEqual([(await state()).view, (await state()).thread], ["chart", thread]);
  const step = await inPage("gosym.stepNs()"), busy = reported("--tid", thread.match(/\((\d+)\)/)[1]).value;
  const boxes = await inPage("gosym.chart()"), outer = boxes.filter(({depth}) => depth === 1);
  const sum = outer.reduce((all, {total}) => all + total * step, 0);
  // A step in which it ran is drawn whole.
  assert.ok(sum > 0.9 * busy && sum <= boxes[0].total * step, `${sum} of ${busy}`);
  for (let i = 1; i < outer.length; i++)
    assert.ok(outer[i].start >= outer[i - 1].start + outer[i - 1].total - 1e-6);
  // One goroutine encodes first, and then hashes.
  const first = (name) => boxes.find((each) => each.text === name)?.start ?? Infinity;
  assert.ok(Math.min(first("main.encode"), first("main.nested")) < boxes[0].total);
  await inPage("document.getElementById('chart').focus()");
  await browser.key("ArrowDown");
  await browser.key("ArrowDown");
  assert.match(await text("#said"), /, [\d.]+ s – [\d.]+ s \(.*\), depth 2/);
  await browser.key("Enter");
  const zoomed = (await inPage("gosym.ticks()")).chart;
  await browser.key("Escape");
  assert.equal((await state()).view, "chart");
  assert.match(await text("#spoken"), /Stack chart of .*From.*For/);
  await browser.key("4");
  const {left, top} = await inPage("document.querySelector('#heat canvas').getBoundingClientRect().toJSON()");
  await browser.click(left + 60, top + 26 + 19);
  const {rows} = await inPage("gosym.heat()");
  assert.deepEqual([(await state()).view, (await state()).thread], ["chart", rows[1]]);
  await browser.key("\\");
  await browser.key("4");
  await browser.key("6");
  assert.equal((await state()).view, "chart");
  assert.match((await inPage("gosym.ticks()")).heat.join(), /^0(\.0+)? m?s,[125](\d*) m?s,|^0\.0 s,0\.[125] s,/);
  assert.ok(zoomed.every((tick) => / m?s$/.test(tick)));
  assert.deepEqual(browser.errors(), []);
});

test("what is shown is exported as report writes it", async () => {
  await opened();
  const folded = (...options) => gosym("report", "-q", "--folded", ...options, cpu).toString();
  assert.equal(await inPage("gosym.folded()"), folded());
  const inPprof = (file) => execFileSync("go", ["tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", file],
    {stdio: ["ignore", "pipe", "ignore"]}).toString().split(/^ *flat .*$/m)[1].trim().split("\n").map((line) => {
    const [flat, , , cum, , ...name] = line.trim().split(/ +/);
    return [flat, cum, name.join(" ").replace(" (inline)", "").replace(" (partial-inline)", "")].join();
  }).sort();
  for (const options of [[], ["--label", "handler=read"]]) {
    await set({filters: options.length ? {"label:handler": ["read"]} : {}});
    assert.equal(await inPage("gosym.folded()"), folded(...options));
    const [mine, its] = ["mine", "its"].map((name) => path.join(kWork, `${name}.pb.gz`));
    fs.writeFileSync(mine, Buffer.from(await inPage("gosym.pprof()"), "base64"));
    gosym("report", "-q", "--pprof", its, ...options, cpu);
    assert.deepEqual(inPprof(mine), inPprof(its));
    sameSums({...reportedOf(mine)}, reportedOf(its));
  }
  // By a click: a file.
  await browser.send("Page.setDownloadBehavior", {behavior: "allow", downloadPath: kWork});
  for (const [i, name] of ["gosym.folded", "gosym.pb.gz"].entries()) {
    await browser.key("e");
    await browser.clickOn(`#save p:last-child button:nth-child(${i + 1})`);
    const file = path.join(kWork, name);
    for (let turn = 0; !fs.existsSync(file) && turn < 500; turn++)
      await new Promise((done) => setTimeout(done, 20));
    assert.equal(reportedOf(file).samples, reported("--label", "handler=read").samples);
    await browser.key("Escape");
  }
  assert.deepEqual(browser.errors(), []);
  assert.deepEqual(browser.requests().filter((url) => !url.startsWith("blob:")), []);
});

test("Tab reaches every control, and shows which has the focus", async () => {
  for (const view of ["flame", "table", "tree", "around", "chart"]) {
    await opened(`#view=${view}&without=nonesuch`);
    const all = await inPage(`(() => {
      const found = [...document.querySelectorAll("button, select, input, [tabindex='0']")]
        .filter((each) => !each.closest("dialog") && each.checkVisibility() && !each.disabled);
      found.forEach((each, i) => each.dataset.number = i);
      return found.length; })()`);
    const reached = new Set();
    for (let i = 0; i < all + 8; i++) {
      await browser.key("Tab");
      const {number, outline} = await inPage(`(() => { const it = document.activeElement, style = getComputedStyle(it);
        return {number: it.dataset.number, outline: style.outlineStyle + parseFloat(style.outlineWidth)}; })()`);
      if (number === undefined)
        continue;
      reached.add(number);
      assert.match(outline, /^(solid|auto)[1-9]/, `${view}: ${number} shows no focus`);
    }
    assert.equal(reached.size, all, view);
  }
  // A control that takes itself away leaves the focus beside it.
  await opened("#without=nonesuch&only=main");
  await inPage("document.querySelector('#chips button').focus()");
  await browser.key("Enter");
  await browser.until("document.querySelectorAll('#chips button').length === 1");
  assert.ok(await inPage("document.activeElement === document.querySelector('#chips button')"));
  await browser.key("Enter");
  await browser.until("document.querySelectorAll('#chips button').length === 0");
  assert.equal(await inPage("document.activeElement.dataset.view"), "flame");
});

test("tables say what is painted", async () => {
  await opened();
  const rows = () => inPage(`[...document.querySelectorAll("#spoken table")].map((table) => [table.caption.textContent,
    ...[...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent).join("|"))])`);
  const [shown, top] = await rows(), [first] = await inPage("gosym.rows()");
  assert.match(shown[0], /^Flame graph: /);
  assert.match(shown[2], /^1\|runtime\.goexit\|[\d.]+ m?s\|[\d.]+ %$/);
  assert.deepEqual(top.slice(0, 2), ["Top functions", "Name|Self|Self %|Total|Total %|Where"]);
  assert.ok(top[2].startsWith(`${first}|`));
  await set({only: "json"});
  assert.notDeepEqual(await rows(), [shown, top]);
});

test("at 420 pixels rows of threads keep what tells them apart", async () => {
  const name = (i) => `a-rather-long-name-${i}`;
  await opened("", profilePage("names", {samples: [...Array(12).keys()].map((i) => ({stack: [{name: "main"}], step: i,
    owner: {comm: name(i % 3), tid: 1234500 + i}}))}));
  await browser.size(420, 800);
  await browser.until("gosym.heat().left < 100");
  const {rows, shown} = await inPage("gosym.heat()");
  assert.equal(new Set(shown).size, 12, shown.join());
  shown.forEach((each, i) => assert.ok(each.endsWith(rows[i].slice(-6)), each));
  await browser.size(1280, 800);
});

test("in both themes names are readable while a search dims boxes", async () => {
  const luminance = (pixel) => pixel.slice(0, 3).map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const rgb = (css) => css.match(/[\d.]+/g).map(Number);
  for (const scheme of ["light", "dark"]) {
    await browser.scheme(scheme);
    await opened("#search=main.nested");
    // Its colour, and the one of its text: the pixel that differs most.
    const colours = async (name) => {
      const {place} = await box(name), [x, y] = await inPage(`gosym.middleOf(${place})`);
      const [back, text] = await inPage(`(() => {
        const context = document.querySelector("#flame canvas").getContext("2d");
        const back = [...context.getImageData(${x}, ${y} - 7, 1, 1).data];
        const left = Math.max(0, ${x} - gosym.boxes()[${place}].total / gosym.boxes()[0].total * context.canvas.width / 2);
        const {data} = context.getImageData(left + 3, ${y} - 5, 30, 10);
        let text = back, most = 0;
        for (let i = 0; i < data.length; i += 4) {
          const far = Math.abs(data[i] - back[0]) + Math.abs(data[i + 1] - back[1]) + Math.abs(data[i + 2] - back[2]);
          if (far > most)
            [text, most] = [[...data.slice(i, i + 4)], far];
        }
        return [back, text]; })()`);
      const page = rgb(await inPage("getComputedStyle(document.body).backgroundColor"));
      const over = (pixel) => pixel.slice(0, 3).map((each, i) => each * pixel[3] / 255 + page[i] * (1 - pixel[3] / 255));
      return [over(back), over(text), page];
    };
    const [match, matchText] = await colours("main.nested"), [dim, dimText, page] = await colours("main.main.func1");
    for (const [what, ratio, least] of [["text of a match", contrast(match, matchText), 4.5],
      ["text that is dimmed", contrast(dim, dimText), 4.5], ["match beside dimmed", contrast(match, dim), 2.4],
      ["dimmed box on the page", contrast(dim, page), scheme === "dark" ? 1.35 : 1.1]])
      assert.ok(ratio >= least, `${scheme}, ${what}: ${ratio.toFixed(2)}`);
  }
  await browser.scheme("light");
});

test("a dump of goroutines begins grouped by state, all processes by process; none ungroups", async () => {
  const first = async () => (await inPage("gosym.boxes()")).filter(({depth}) => depth === 1).map(({text}) => text).sort();
  const dump = profilePage("dump", {origin: {timeStep: 0, duration: 0}, events: [{name: "goroutine", period: 1}], samples: [
    {stack: [{name: "main"}], owner: {state: "chan receive"}, count: 3},
    {stack: [{name: "main"}], owner: {state: "running"}}]});
  const many = profilePage("many", {origin: {isSystemWide: true}, samples: [
    {stack: [{name: "main"}], owner: {pid: 1, comm: "a"}}, {stack: [{name: "main"}], owner: {pid: 2, comm: "b"}, step: 1}]});
  for (const [page, groups] of [[dump, ["chan receive", "running"]], [many, ["a (1)", "b (2)"]]]) {
    await opened("", page);
    assert.deepEqual(await first(), groups);
    await inPage(`(() => { const select = document.getElementById("group");
      select.value = ""; select.dispatchEvent(new Event("change")); })()`);
    assert.deepEqual(await first(), ["main"]);
    await opened(await inPage("location.hash"), page);
    assert.deepEqual(await first(), ["main"]);
  }
  assert.equal(await inPage("document.querySelector('[data-view=chart]').hidden"), false);
  await opened("#view=chart", dump);
  assert.equal((await state()).view, "flame");
});

test("own code is that of report --mine, exports too", async () => {
  await opened();
  await browser.key("o");
  assert.equal((await state()).mine, true);
  await samePage("--mine");
  const names = (await inPage("gosym.rows()")).filter((name) => name.startsWith("["));
  assert.ok(names.every((name) => /^\[not in own code: .+\]$/.test(name)), names.join());
  assert.equal(await inPage("gosym.folded()"), gosym("report", "-q", "--folded", "--mine", cpu).toString());
  await set({only: "nested"});
  await samePage("--mine", "--focus", "nested");
  await set({only: "json"});  // which is not own code
  await samePage("--mine", "--focus", "json");
  for (const change of [{invert: true}, {group: "thread"}, {by: "line"}, {view: "table"}, {view: "tree"},
    {view: "around"}, {view: "chart"}, {by: "category", only: ""}])
    await set(change);
  assert.deepEqual(browser.errors(), []);
  await inPage("history.back()");
  await browser.until("gosym.state().view === 'chart' && gosym.state().by === 'line'");
});

test("recursions are folded: names tell how often, sums and exports stay", async () => {
  await opened();
  const before = await totals(), folded = await inPage("gosym.folded()");
  const nested = async () => (await inPage("gosym.boxes()")).filter(({text: name}) => name === "main.nested");
  const outermost = (await nested())[0];
  await browser.clickOn("#fold");
  const boxes = await nested();
  assert.deepEqual(boxes.map(({name}) => name), ["main.nested ×7"]);
  assert.equal(boxes[0].total, outermost.total);
  assert.deepEqual(await totals(), before);
  assert.equal(await inPage("gosym.folded()"), folded);
  await set({view: "tree", search: "nested"});
  assert.match(await text("#tree .row.match .name"), /main\.nested ×7$/);
  await set({view: "flame", search: "", invert: true});
  assert.ok((await inPage("gosym.boxes()")).some(({name}) => name === "main.nested ×7"));
  await browser.key("R");
  assert.equal((await nested()).filter(({name}) => name.includes("×")).length, 0);
});

test("source texts are in a page that is to have them, with the amounts that annotate and report --lines tell", async () => {
  const page = path.join(kWork, "source.html");
  assert.throws(() => gosym("report", "--html-source", cpu), /needs --html/);
  gosym("report", "-q", "--html", page, "--html-source", cpu);
  await opened("", page);
  const unit = (await totals()).value / (await inPage("gosym.boxes()"))[0].total;
  await opened("#view=code&around=main.nested", page);
  const source = fs.readFileSync(path.join(kWork, "work.go"), "utf8").replaceAll("\t", "    ").trimEnd().split("\n");
  const nested = await inPage("gosym.code()");
  assert.equal(nested.path, path.join(kWork, "work.go"));
  assert.deepEqual(nested.lines, source);
  const told = gosym("annotate", cpu, "main.nested").toString().split("\n\n")[0].split("\n")
    .map((line) => line.match(/([\d.]+) +[\d.]+ +>? +(\d+)  /)).filter(Boolean).map(([, ms, line]) => [Number(line), ms]);
  assert.ok(told.length >= 2);
  assert.deepEqual(nested.total.map(([line, amount]) => [line, (amount * unit / 1e6).toFixed(1)]).sort((a, b) => a[0] - b[0]), told);
  // The hottest line, by self and then by total, is in view.
  const selfOf = new Map(nested.self);
  const [[hottest]] = nested.total.sort((a, b) => selfOf.get(b[0]) - selfOf.get(a[0]) || b[1] - a[1]);
  assert.equal(await text("#code .row[aria-selected=true] .line"), `${hottest}`);
  assert.ok(await inPage(`(() => { const row = document.querySelector("#code .row[aria-selected=true]").getBoundingClientRect();
    const host = document.getElementById("code").getBoundingClientRect();
    return row.top >= host.top && row.bottom <= host.bottom; })()`));
  await set({view: "table", search: "^main\\.hash$"});
  await inPage("document.getElementById('table').focus()");
  await browser.key("ArrowDown");
  await browser.key("a");
  assert.equal((await state()).view, "code");
  const hash = await inPage("gosym.code()"), lines = {};
  for (const [, self, total, line] of gosym("report", "--csv", "--lines", "^main\\.hash$", cpu).toString()
    .matchAll(/^[\d.]+,(\d+),[\d.]+,(\d+),.*work\.go:(\d+)/gm))
    lines[line] = [Number(self), Number(total)];
  const self = new Map(hash.self);
  assert.deepEqual(Object.fromEntries(hash.total.map(([line, amount]) =>
    [line, [self.get(line), amount].map((each) => Math.round(each * unit))])), lines);
  const files = (await text("#code-head")).match(/source texts of (\d+) files are in this page/);
  await browser.key("w");
  await browser.until("document.getElementById('about').open");
  assert.ok((await text("#about")).includes(files[0]));
  await browser.key("Escape");
  assert.equal(await inPage("document.querySelector('[data-view=code]').hidden"), false);
  assert.ok(gosym("report", "-q", "--folded", page).equals(gosym("report", "-q", "--folded", cpu)));
  await opened("#view=code");  // of a page for which nobody asked
  assert.equal((await state()).view, "flame");
  assert.equal(await inPage("document.querySelector('[data-view=code]').hidden"), true);
  assert.deepEqual(browser.errors(), []);
});

test("help, and how it was made", async () => {
  await opened();
  await browser.key("?");
  assert.ok(await inPage("document.getElementById('help').open"));
  assert.match(await text("#help"), /callers and callees/);
  await browser.key("Escape");
  await browser.until("!document.getElementById('help').open");
  await browser.key("w");
  await browser.until("document.getElementById('about').open");
  assert.match(await text("#about"), /gosym record/);
  await browser.key("Escape");
  await browser.until("!document.getElementById('about').open");
});

test("on paper and in the dark it is drawn again", async () => {
  await opened();
  const colours = () => inPage("getComputedStyle(document.body).backgroundColor");
  await browser.scheme("light");
  const light = await colours();
  await browser.scheme("dark");
  assert.notEqual(await colours(), light);
  await browser.scheme("light");
  const {data} = await browser.send("Page.printToPDF", {});
  assert.ok(Buffer.from(data, "base64").subarray(0, 5).equals(Buffer.from("%PDF-")));
});

test("a view is printed on the sheets that it needs, with all of its rows", async () => {
  const sheets = async () => {
    const {data} = await browser.send("Page.printToPDF", {});
    return Buffer.from(data, "base64").toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g).length;
  };
  const printed = async (expression) => {
    await inPage("window.dispatchEvent(new Event('beforeprint'))");
    const result = await inPage(expression);
    await inPage("window.dispatchEvent(new Event('afterprint'))");
    return result;
  };
  // 1,200 functions, each called by the one before.
  const stack = Array.from({length: 1200}, (_, i) => ({name: `main.f${i}`}));
  const page = profilePage("deep", {samples: stack.map((_, i) => ({stack: stack.slice(0, i + 1)}))});
  await opened("#view=table", page);
  const rows = "[...document.querySelectorAll('#table .space .row')].filter((row) => !row.hidden).length";
  assert.equal(await printed(rows), 1000);
  assert.equal(await printed("document.querySelector('main').innerText.includes('200 more rows are not printed')"),
    true);
  assert.ok(await inPage(rows) < 100);
  // The command that was recorded is not cut, and nothing is printed that is for the screen.
  await browser.send("Emulation.setEmulatedMedia", {media: "print"});
  assert.deepEqual(await inPage(`[...document.querySelectorAll("button, #spoken, .hint")].filter((each) =>
    each.checkVisibility() && !each.closest("#chips, .grid .head, #crumbs")).map((each) => each.textContent)`), []);
  assert.equal(await inPage("getComputedStyle(document.getElementById('what')).whiteSpace"), "normal");
  assert.equal(await inPage("[...document.querySelectorAll('.swatch')].every((each) => " +
    "getComputedStyle(each).printColorAdjust === 'exact')"), true);
  await browser.send("Emulation.setEmulatedMedia", {media: ""});
  const long = await sheets();
  assert.ok(long >= 15 && long <= 40, `${long} sheets`);
  await set({search: "f7$"});
  const few = await inPage("gosym.rows().length");
  assert.equal(await printed(rows), few);
  assert.ok(await sheets() <= 5);
  await set({search: "", view: "flame"});
  assert.equal(await printed("document.querySelectorAll('#flame .printed canvas').length"), 20);
  const deep = await sheets();
  assert.ok(deep >= 10 && deep <= 22, `${deep} sheets`);
  assert.equal(await inPage("document.querySelectorAll('.printed').length"), 0);
  await opened();
  assert.ok(await sheets() <= 3);
});

test("firefox shows the same, by mouse and keys", async () => {
  const firefox = new Firefox();
  try {
    await firefox.begin();
    await firefox.open(html);
    sameSums(await firefox.eval("gosym.totals()"), reported());
    const [x, y] = await firefox.eval(`(() => {
      const found = gosym.boxes().filter(({text}) => text === "main.nested")
        .sort((a, b) => b.total - a.total)[0];
      const [x, y] = gosym.middleOf(found.place);
      const box = document.getElementById("flame").getBoundingClientRect();
      return [box.left + x, box.top + y]; })()`);
    await firefox.click(x, y);
    assert.notEqual((await firefox.eval("gosym.state()")).zoom, 0);
    await firefox.keys("i1");
    const {view, invert} = await firefox.eval("gosym.state()");
    assert.deepEqual({view, invert}, {view: "table", invert: true});
    await firefox.eval(`gosym.set({filters: {"label:handler": ["read"]}})`);
    sameSums(await firefox.eval("gosym.totals()"), reported("--label", "handler=read"));
  } finally {
    await firefox.end();
  }
});

test("a comparison: sums and verdicts are those of gosym diff, and colours say what changed", async () => {
  const sides = ["read", "write"].map((name) => path.join(kWork, `${name}.html`));
  for (const side of sides)
    gosym("report", "--html", side, "--label", `handler=${path.basename(side, ".html")}`, cpu);
  const page = path.join(kWork, "diff.html");
  gosym("diff", "--html", page, ...sides);
  await browser.open(page);
  assert.equal(await inPage("gosym.error"), null);
  assert.match(await text("#what"), /^before: .*handler=read\).* UTC · .* s · .* samplesafter: .*handler=write\)/);
  assert.equal(await inPage("document.getElementById('heat').hidden"), true);
  const found = Object.fromEntries((await inPage("gosym.changes()")).map((each) => [each.name, each]));
  const verdicts = [];
  for (const [i, options] of [[], ["--children"]].entries()) {
    // Any other note says that it is more than one function, or inlined on one side.
    const {rows} = JSON.parse(gosym("diff", "--json", ...options, ...sides));
    if (i === 0)
      verdicts.push(...rows.filter(({verdict}) => /dearer|cheaper/.test(verdict)));
    const plain = rows.filter(({note = "none", name}) => note.startsWith("none") && found[name]);
    assert.ok(plain.length > 5, `${plain.length}`);
    for (const {name, before, after} of plain)
      for (const [side, {rate}] of Object.entries({before, after}))
        assert.ok(Math.abs(found[name][side][i] - rate) < 1e-6, `${name} ${found[name][side][i]} ${rate}`);
  }
  // Above the middle of a box there is no text.
  const colour = async (name) => {
    const {place} = await box(name), [x, y] = await inPage(`gosym.middleOf(${place})`);
    return inPage(`[...document.querySelector("#flame canvas").getContext("2d")
      .getImageData(${x}, ${y} - 7, 1, 1).data]`);
  };
  const [red, , blue] = await colour("main.encode");
  assert.ok(blue > red + 20, "what is gone is blue");
  const [moreRed, , lessBlue] = await colour("main.nested");
  assert.ok(moreRed > lessBlue + 20, "what is dearer is red");
  assert.match(await text("#legend"), /gone.*cheaper.*chance.*dearer.*new/);
  await set({view: "table", search: "^main\\.encode$"});
  assert.match(await text("#table .row:not(.head) .total"), /^gone$/);
  await browser.key("w");
  await browser.until("document.getElementById('about').open");
  const about = await text("#about");
  assert.match(about, new RegExp(`${verdicts.filter(({verdict}) => verdict === "dearer").length} dearer, `));
  for (const {name, verdict} of verdicts)
    assert.ok(about.includes(`${name}: `) && about.includes(`${verdict} in this run`), name);
  await browser.key("Escape");
  for (const view of ["tree", "around", "flame"])
    await set({view, search: ""});
  for (const by of ["package", "line", "module"])
    await set({by, invert: by === "line", colour: by === "module" ? "kind" : "change"});
  assert.deepEqual(browser.errors(), []);
  // The page reads back as the recordings it was made of.
  for (const options of [["--json"], ["--json", "--children", "--per", "second"], ["--tree"], ["--folded"]])
    assert.deepEqual(gosym("diff", "-q", ...options, page), gosym("diff", "-q", ...options, ...sides));
  for (const [i, side] of ["before", "after"].entries())
    assert.deepEqual(gosym("report", "--side", side, "--folded", page), gosym("report", "--folded", sides[i]));
  assert.throws(() => gosym("report", page), /compares two profiles/);
});

test("profiles of pprof and folded text, made pages", async () => {
  for (const kind of ["pprof", "folded"]) {
    const profile = path.join(kWork, `cpu.${kind}`), page = path.join(kWork, `${kind}.html`);
    gosym("report", `--${kind}`, ...kind === "pprof" ? [profile] : ["-o", profile], cpu);
    gosym("report", "--html", page, profile);
    await browser.open(page);
    assert.equal(await inPage("gosym.error"), null);
    const {totals: {samples}} = JSON.parse(gosym("report", "--json", profile));
    assert.equal((await totals()).samples, samples);
    assert.ok((await totals()).functions["main.nested"]);
    assert.match(await text("#legend"), /own Go code/);
  }
});

// ---- Other profiles, in the same viewer

test("0 samples and 1 sample", async () => {
  await browser.open(profilePage("none", {samples: []}));
  assert.match(await text("#nothing"), /no samples/);
  await browser.open(profilePage("one", {samples: [{stack: [{name: "main"}]}]}));
  assert.deepEqual((await totals()).functions, {main: [1e7, 1e7]});
  for (const key of ["1", "2", "3", "4", "i", "m", "g", "[", "]", "#"])
    await browser.key(key);
  assert.deepEqual(browser.errors(), []);
});

const kHostile = ["</script><script>window.hacked = 1</script>", "<img src=x onerror=window.hacked=1>",
  "\"'`&amp;", "a\u202egnp.exe", "x\u0000y\nz", "n".repeat(65536), "__proto__", "constructor",
  "漢字 🔥", "<!-- -->", "\u001b]0;title\u0007", "x\u2028y\u2066z", ""];

test("hostile names are text", async () => {
  const names = kHostile;
  const file = profilePage("hostile", {
    origin: {host: names[0], command: names[1]}, notes: [[names[0], names[1]]],
    modules: [{path: `/bin/${names[0]}`}], labels: [[[names[0], names[1]], ["__proto__", "x"]]],
    samples: names.map((name, i) => ({stack: [{name, file: names[0], line: 1}, {name: names[i - 1] ?? ""}],
      step: i, owner: {comm: name.slice(0, 100), tid: i, labelSet: i % 2, cgroup: name}}))});
  await browser.open(file);
  for (const view of ["table", "tree", "around", "flame"])
    await set({view});
  for (const group of await inPage("gosym.dimensions().map(({id}) => id)"))
    await set({group});
  await set({search: "script"});
  for (const key of ["w", "Escape", "t", "Escape", "L", "Escape"])
    await browser.key(key);
  assert.equal(await inPage("window.hacked"), null);
  assert.deepEqual(browser.errors(), []);
  await set({search: "", view: "table", group: ""});
  const rows = await inPage("gosym.rows()");
  assert.ok(rows.includes("a<U+202E>gnp.exe"), "turned direction");
  assert.ok(rows.includes("__proto__"));
});

test("hostile names, from a profile through gosym to the page and back", async () => {
  const names = kHostile.filter((name) => name), profile = path.join(kWork, "hostile.pb.gz");
  const page = path.join(kWork, "hostile-profile.html"), other = path.join(kWork, "other.pb.gz");
  fs.writeFileSync(profile, encodePprof(names.map((name, i) => [names.at(i - 1), name])));
  fs.writeFileSync(other, encodePprof(names.map((name) => [name])));
  gosym("report", "--html", page, profile);
  assert.ok(gosym("report", "--folded", profile).equals(gosym("report", "--folded", page)));
  const compared = path.join(kWork, "hostile-diff.html");
  gosym("diff", "--html", compared, profile, other);
  for (const file of [page, compared]) {
    const html = fs.readFileSync(file, "latin1");
    assert.equal(html.match(/<script/g).length, template.match(/<script/g).length);
    assert.ok(!/[\0\x1b]|hacked|onerror/.test(html));
    await browser.open(file);
    const rows = await inPage("gosym.rows()");
    assert.equal(rows.length, names.length);
    assert.ok(rows.some((name) => name === "n".repeat(65536)));
    assert.ok(!rows.some((name) => /[\u0000-\u001f\u2028\u202e\u2066]/.test(name)), "a character that controls");
    for (const view of ["tree", "around", "flame", "table"])
      await set({view});
    await browser.key("w");
    await browser.key("Escape");
    await browser.key("ArrowDown");
    assert.equal(await inPage("window.hacked"), null);
    assert.equal(await inPage("document.documentElement.scrollWidth > innerWidth"), false);
    assert.deepEqual(browser.errors(), []);
    assert.deepEqual(browser.requests(), []);
  }
});

test("a damaged page says what is wrong", async () => {
  const good = pack(encodeMessage({samples: [{stack: [{name: "main"}]}]}));
  for (const [name, data] of Object.entries({cut: good.slice(0, -12), empty: "", other: "&&&&",
    version: pack(encodeMessage({version: 9, samples: []})), noise: pack(Buffer.alloc(99, 0xa5))})) {
    await browser.open(pageOf(name, data));
    assert.match(await text(".broken"), /cannot show its profile: .{20,}/, name);
  }
});

test("several events: each has its own sums", async () => {
  await browser.open(profilePage("events", {
    events: [{name: "cpu-clock", frequency: 100, unitNs: 1e7}, {name: "page-faults", period: 1}],
    samples: [{stack: [{name: "a"}]}, {stack: [{name: "b"}], count: 7, owner: {event: 1}}]}));
  assert.deepEqual((await totals()).functions, {a: [1e7, 1e7]});
  await browser.key("E");
  assert.deepEqual((await totals()).functions, {b: [7, 7]});
  assert.equal(await inPage("document.getElementById('event-label').hidden"), false);
});

// Each has work of its own, on a thread of its own.
const kThreads = `package main

import (
	"runtime"
	"sync"
)

var sums [500]int

func main() {
	var group sync.WaitGroup
	for i := range sums {
		i := i
		group.Add(1)
		go func() {
			defer group.Done()
			runtime.LockOSThread()
			for k := 0; k < 12000000; k++ {
				sums[i] += k ^ i
			}
		}()
	}
	group.Wait()
}
`;

test("500 threads, recorded", async () => {
  const recording = path.join(kWork, "threads.raw"), page = path.join(kWork, "threads.html");
  buildGo("threads", kThreads);
  gosym("record", "-F", "499", "-o", recording, "--", path.join(kWork, "threads"));
  gosym("report", "--html", page, recording);
  await browser.open(page);
  const {threads} = Object.fromEntries(await inPage(
    "gosym.dimensions().map(({id, values}) => [`${id}s`, values])"));
  assert.ok(threads.length > 250, `${threads.length} threads have samples`);
  const {rows} = await inPage("gosym.heat()");
  assert.equal(rows.length, 24);
  assert.equal(rows[23], `${threads.length - 23} others`);
  const {totals: {samples}} = JSON.parse(gosym("report", "--json", recording));
  assert.equal((await totals()).samples, samples);
  await set({group: "thread"});
  const groups = (await inPage("gosym.boxes()")).filter(({depth}) => depth === 1);
  assert.equal(groups.length, threads.length);
  await set({filters: {thread: [rows[0]]}});
  const [, comm, tid] = rows[0].match(/^(.*) \((\d+)\)$/);
  const one = JSON.parse(gosym("report", "--json", "--tid", tid, "--comm", comm, recording));
  assert.equal((await totals()).samples, one.totals.samples);
  assert.deepEqual(browser.errors(), []);
});

test("500 threads, and a day at 19 Hz", async () => {
  const samples = [];
  for (let step = 0; step < 8640; step++)  // of ten seconds
    for (let i = 0; i < 20; i++)
      samples.push({stack: [{name: "main"}, {name: `f${(step * 7 + i) % 50}`}], step, count: 9,
        owner: {tid: 1 + (step * 20 + i) % 500, comm: `t${(step * 20 + i) % 500}`}});
  await browser.open(profilePage("day", {origin: {duration: 86400e9, timeStep: 10e9},
    events: [{name: "cpu-clock", frequency: 19, unitNs: 52631578}], samples}));
  const {rows} = await inPage("gosym.heat()");
  assert.equal(rows.length, 24);
  assert.match(rows[23], /477 others/);
  assert.equal((await totals()).samples, 8640 * 20 * 9);
  await set({range: [0, 360]});
  assert.equal((await totals()).samples, 360 * 20 * 9);
  await set({group: "thread", view: "tree"});
  assert.deepEqual(browser.errors(), []);
});
