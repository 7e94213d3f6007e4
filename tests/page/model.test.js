// The viewer's own model: what it reads from a page, what it makes of damage, and what it computes,
// compared with a slow and plain count of the same stacks.
"use strict";

const assert = require("assert");
const fs = require("fs");
const path = require("path");
const test = require("node:test");
const zlib = require("zlib");
const {encodeMessage, pack, load} = require("./encode.js");

const v = load("readPage", "readTexts", "fromDigits", "inflate", "visible", "makeProfile", "makeKeys",
  "ownerDimensions", "treeFromRoot", "makeStructure", "selectAmounts", "selectOwners",
  "selectStacks", "layOut", "selfOf", "keyTotals", "hottestFrames", "aroundKey", "matchedAmount",
  "heatCells", "kindOf", "kKinds", "shorterNames", "clipped", "formatTime", "formatShare",
  "formatClock", "formatAmount", "stateToHash", "stateFromHash", "parsePattern", "keyOfLink", "matchesOf",
  "kInitialState", "boxColour", "kKindColours", "kHues", "amountsAfter", "varianceOf", "changeOf",
  "formatChange", "changeColour", "kSources", "kUnnamedWords", "kUnnamedReasons", "kGoSources", "TextMeasure",
  "timeTicks", "differingEnds", "layOutTime", "foldedText", "ofOwnCode",
  "withoutRepeats", "waitNodes", "waitedIn");

const profileOf = (profile) => v.makeProfile(v.readPage(encodeMessage(profile)));
const frame = (text) => {
  const [name, line] = text.split(":");
  return {name, line: Number(line ?? 0)};
};
const sample = (stack, more = {}) => ({stack: stack.split(" ").filter(Boolean).map(frame), ...more});

// Everything of a profile, selected by `selection`.
function look(profile, {by = "function", invert = false, group = null, selection = {}} = {}) {
  const keys = v.makeKeys(profile, by), root = v.treeFromRoot(profile, keys);
  const structure = v.makeStructure(profile, keys, root, invert, group);
  const amounts = v.selectAmounts(profile,
    {event: 0, owners: null, stacks: null, begin: 0, end: Infinity, ...selection});
  const layout = v.layOut(structure.tree, v.selfOf(structure, amounts));
  const text = (key) => key < 0 ? "" : keys.text[key] ?? group.values[key - keys.count];
  return {keys, root, structure, amounts, layout, totals: v.keyTotals(profile, keys, root, amounts),
    boxes: Array.from(layout.key, (key, i) =>
      `${".".repeat(layout.depth[i])}${text(key)} ${layout.total[i]} ${layout.self[i]}`)};
}
function table({keys, totals}) {
  return Object.fromEntries(keys.text.map((text, key) => [text, [totals.self[key], totals.total[key]]])
    .filter(([, [, total]]) => total > 0));
}

test("a page is read as it was written", () => {
  const profile = profileOf({
    origin: {host: "h", command: "c"}, notes: [["lost", "nothing"]],
    samples: [sample("main:3 work:7"), sample("main:3", {count: 5, step: 9})],
  });
  assert.deepEqual(look(profile).boxes, [" 6 0", ".main 6 5", "..work 1 1"]);
  assert.equal(profile.origin.host, "h");
  assert.equal(profile.samples.steps, 10);
  assert.deepEqual(profile.notes, [{title: "lost", text: "nothing"}]);
});

test("waits are of the function that waited, as report has them; what they ended in is told", () => {
  const kernel = (name) => ({name, module: 2, source: 9});
  const go = (name, more = {}) => ({name, package: name.replace(/\.[^/]*$/, ""), source: 0, ...more});
  const profile = profileOf({events: [{name: "off-cpu", unitNs: 1}],
    modules: [{path: "/bin/p"}, {path: "[kernel]", kind: 1}], samples: [
      {stack: [go("main.run"), go("internal/poll.runtime_pollWait"), go("runtime.futex"), kernel("futex_wait")], count: 3},
      {stack: [go("main.run"), go("syscall.read"), go("syscall.Syscall"), kernel("pipe_read")], count: 2},
      {stack: [go("runtime.mcall"), go("runtime.futex"), kernel("futex_wait")], count: 4},
      {stack: [{name: "main", module: 1}, {name: "read", module: 1}, kernel("pipe_read")], count: 5},
      {stack: [kernel("kthread")], count: 6}]});
  const {keys, root, amounts} = look(profile), waits = v.waitNodes(profile);
  const {self, total} = v.keyTotals(profile, keys, root, amounts, waits);
  const of = (values) => Object.fromEntries(keys.text.map((text, key) => [text, values[key]]).filter(([, value]) => value > 0));
  assert.deepEqual(of(self), {"main.run": 3, "syscall.read": 2, "runtime.futex": 4, read: 5, kthread: 6});
  assert.deepEqual(of(total), of(look(profile).totals.total));
  const ended = (name) => keys.text[v.waitedIn(profile, keys, amounts, waits, keys.text.indexOf(name))];
  assert.deepEqual(["main.run", "syscall.read", "read", "kthread"].map(ended),
    ["futex_wait", "pipe_read", "pipe_read", undefined]);
});

test("lines of a function are one box, and two by line", () => {
  const profile = profileOf({samples: [sample("main:3 work:7"), sample("main:4 work:8")]});
  assert.deepEqual(look(profile).boxes, [" 2 0", ".main 2 0", "..work 2 2"]);
  assert.equal(look(profile, {by: "line"}).boxes.length, 5);
});

test("a recursion counts once in totals", () => {
  const profile = profileOf({samples: [sample("a b a b a"), sample("b", {count: 2})]});
  assert.deepEqual(table(look(profile)), {a: [1, 1], b: [2, 3]});
});

test("the table has the line with the most samples", () => {
  const profile = profileOf({samples: [sample("a:1 b:2"), sample("a:1 b:5", {count: 3})]});
  const {keys, totals} = look(profile);
  const hottest = v.hottestFrames(profile, keys, totals);
  assert.equal(profile.frames.line[hottest[keys.text.indexOf("b")]], 5);
});

test("inverted, a function stands once, above its callers", () => {
  const profile = profileOf({samples: [sample("main a work"), sample("main b work", {count: 2})]});
  assert.deepEqual(look(profile, {invert: true}).boxes,
    [" 3 0", ".work 3 0", "..b 2 0", "...main 2 2", "..a 1 0", "...main 1 1"]);
});

test("groups stand above stacks", () => {
  const profile = profileOf({samples: [sample("main a", {owner: {tid: 7, comm: "x"}}),
    sample("main a", {owner: {tid: 8, comm: "y"}, count: 2})]});
  const group = v.ownerDimensions(profile).find(({id}) => id === "thread");
  for (const invert of [false, true]) {
    const {boxes, structure: {tree}, layout} = look(profile, {group, invert});
    assert.deepEqual(boxes.slice(0, 2), [" 3 0", ".y (8) 2 0"]);
    assert.equal(tree.isPlain[layout.node[1]], 1);  // it is not drawn as an inlined call
  }
});

test("counts have more than 32 bits, and stacks of which nothing is known are not own code", () => {
  const gap = {stack: [{unnamed: v.kUnnamedWords.indexOf("left out"), leftOut: 4100}], count: 2};
  const profile = profileOf({samples: [sample("main", {count: 5e9}), gap]});
  assert.equal(look(profile).layout.total[0], 5e9 + 2);
  const categories = v.makeKeys(profile, "category");
  const own = v.ofOwnCode(profile, categories, v.treeFromRoot(profile, categories));
  assert.equal(table(look(own))["[not in own code: not known]"][0], 2);
});

test("a process has its own name, not that of a thread that works", () => {
  const of = (tid, comm, process) => ({owner: {tid, comm, process}});
  const profile = profileOf({samples: [sample("main", {...of(1, "main", "sh"), count: 2}),
    sample("main", {...of(7, "worker-7", "server"), count: 3}), sample("main", of(8, "reader", "server"))]});
  const values = (id) => v.ownerDimensions(profile).find((each) => each.id === id).values;
  assert.deepEqual(values("process"), ["server (1)"]);
  assert.deepEqual(values("comm").sort(), ["main", "reader", "worker-7"]);
});

test("a process has one name in all recordings of its host", () => {
  const of = (recording, process, count) => sample("main", {owner: {recording, process}, count});
  const profile = profileOf({recordings: [{name: "a", host: "web"}, {name: "b", host: "web"}, {name: "c", host: "db"}],
    samples: [of(0, "sh", 2), of(1, "server", 3), of(2, "sh", 1)]});
  const {values} = v.ownerDimensions(profile).find((each) => each.id === "process");
  assert.deepEqual([...values].sort(), ["server (1) @web", "sh (1) @db"]);
});

test("filters by owner, time and stack", () => {
  const labels = [[["handler", "a"]], [["handler", "b"]]];
  const profile = profileOf({labels, samples: [
    sample("main a", {owner: {labelSet: 1}, step: 1}), sample("main b", {owner: {labelSet: 2}, step: 5}),
    sample("main c", {step: 7})]});
  const dimensions = v.ownerDimensions(profile);
  const count = (selection) => look(profile, {selection}).totals.all;
  assert.equal(count({owners: v.selectOwners(profile, dimensions, {"label:handler": ["a"]})}), 1);
  assert.equal(count({owners: v.selectOwners(profile, dimensions, {"label:handler": ["a", "(none)"]})}), 2);
  assert.equal(count({begin: 5, end: 7}), 1);
  const keys = v.makeKeys(profile, "function");
  const meant = (pattern) => v.matchesOf(keys.text, pattern);
  const selected = (onlys, withouts) =>
    count({stacks: v.selectStacks(profile, keys, onlys.map(meant), withouts.map(meant))});
  assert.equal(selected([/^[ab]$/], []), 2);
  assert.equal(selected([/main/], [/c/]), 2);
  assert.equal(selected([/main/, /^a$/], []), 1);
  assert.equal(selected([/^a$/, /^b$/], []), 0);
  assert.equal(selected([], [/^a$/, /^b$/]), 1);
  assert.equal(v.selectStacks(profile, keys, [], []), null);
});

test("a small function of the kernel is of the category that called it", () => {
  const kernel = (name, category, categoryKind) =>
    ({name, module: 2, category, categoryKind});
  const modules = [{path: "/bin/p"}, {path: "[kernel]", kind: 1}];
  const stack = [{name: "main", category: "p", categoryKind: 2},
    kernel("tcp_sendmsg", "kernel: network", 0), kernel("memcpy", "kernel", 1)];
  const alone = [stack[0], kernel("memcpy", "kernel", 1)];
  const looked = look(profileOf({modules, samples: [{stack}, {stack: alone}]}), {by: "category"});
  assert.deepEqual(table(looked), {p: [0, 2], "kernel: network": [1, 1], kernel: [1, 2]});
});

test("neighbours of one package are one box; gaps are none", () => {
  const profile = profileOf({samples: [{stack: [{name: "m.a", package: "m"}, {unnamed: 12, leftOut: 9},
    {name: "m.b", package: "m"}, {name: "n.c", package: "n"}]}]});
  assert.deepEqual(look(profile, {by: "package"}).boxes, [" 1 0", ".m 1 0", "..n 1 1"]);
  assert.deepEqual(look(profile).boxes.map((each) => each.trim().replace(/^\.+/, "")),
    ["1 0", "m.a 1 0", "… 9 frames … 1 0", "m.b 1 0", "n.c 1 1"]);
});

test("own code: the rest counts for what called it, or is a row of its category", () => {
  const of = (text) => text.split(" ").map((name) => ({name, isOwn: name.startsWith("main"), category: `of ${name}`}));
  const profile = profileOf({samples: [{stack: of("goexit main lib main2 lib2"), count: 2}, {stack: of("goexit gc")},
    {stack: of("goexit main")}, {stack: of("gc"), step: 3}, {stack: []}]});
  const {keys, root} = look(profile, {by: "category"});
  const own = v.ofOwnCode(profile, keys, root);
  assert.deepEqual(look(own).boxes, [" 6 1", ".main 3 1", "..main2 2 2", ".[not in own code: of gc] 2 2"]);
  assert.deepEqual(table(look(own)), {main: [1, 3], main2: [2, 2], "[not in own code: of gc]": [2, 2]});
  assert.deepEqual(look(own, {by: "category"}).boxes.slice(1, 3), [".of main 3 1", "..of main2 2 2"]);
});

test("a recursion is folded: direct, in turn, and only what repeats without another call between", () => {
  const folded = (...stacks) => {
    const profile = profileOf({samples: stacks.map((stack) => sample(stack))});
    const {keys, totals} = look(profile), made = v.withoutRepeats(profile, keys), looked = look(made);
    assert.deepEqual(table(looked), table({keys, totals}));
    const {structure: {tree}, layout} = looked;
    return Array.from(layout.key.subarray(1), (key, i) => `${".".repeat(layout.depth[i + 1] - 1)}${keys.text[key]}` +
      `${tree.repeats[layout.node[i + 1]] > 1 ? ` ×${tree.repeats[layout.node[i + 1]]}` : ""}`).join(" ");
  };
  assert.equal(folded("a a a"), "a ×3");
  assert.equal(folded("m a b a b a b c"), "m .a ×3 ..b ×3 ...c");
  assert.equal(folded("a a b a b b"), "a ×3 .b ×3");
  assert.equal(folded("a b a"), "a .b ..a");
  assert.equal(folded("a b c a d"), "a .b ..c ...a ....d");
  assert.equal(folded("m a a", "m a a a a", "m b"), "m .a ×4 .b");
  const many = Array.from({length: 17}, (_, i) => `f${i}`).join(" ");
  assert.equal(folded(`${many} ${many}`).split(" ").length, 34, "no more than 16 in turn");
  // The line is that of the innermost.
  const profile = profileOf({samples: [sample("a:1 a:1 a:7")]});
  const made = v.withoutRepeats(profile, v.makeKeys(profile, "function"));
  assert.deepEqual(look(made, {by: "line"}).boxes.length, 2);
  assert.equal(made.frames.line[made.tree.frame[0]], 7);
});

test("callers and callees count a sample once for each path", () => {
  const profile = profileOf({samples: [sample("main f g f h"), sample("other f")]});
  const {root, structure, amounts, keys} = look(profile);
  const self = v.selfOf(structure, amounts), key = keys.text.indexOf("f");
  const texts = ({layout}) => Array.from(layout.key, (each, i) =>
    `${".".repeat(layout.depth[i])}${each < 0 ? "" : keys.text[each]} ${layout.total[i]}`).sort();
  assert.deepEqual(texts(v.aroundKey(root, self, key, true)),
    [" 2", ".g 1", ".main 1", ".other 1", "..f 1", "...main 1"].sort());
  assert.deepEqual(texts(v.aroundKey(root, self, key, false)),
    [" 2", ".g 1", ".h 1", "..f 1", "...h 1"].sort());
});

test("an inlined call is one only where it is nowhere else a call", () => {
  const profile = profileOf({samples: [{stack: [{name: "a"}, {name: "b", isInlined: true}]},
    {stack: [{name: "a"}, {name: "c", isInlined: true}]}, {stack: [{name: "a"}, {name: "c"}]}]});
  const {keys, root: {tree}} = look(profile);
  const plain = {};
  for (let i = 1; i < tree.count; i++)
    plain[keys.text[tree.key[i]]] = tree.isPlain[i];
  assert.deepEqual(plain, {a: 1, b: 0, c: 1});
});

test("code without a name tells the reason", () => {
  const profile = profileOf({samples: [{stack: [{unnamed: 9}, {unnamed: 1, module: 0}]}]});
  assert.deepEqual(look(profile).keys.text, ["[stripped prog]", "[no mapping]"]);
});

test("it knows each source of a name, and each reason for none", () => {
  const header = fs.readFileSync(path.join(__dirname, "../../src/profile/profile.h"), "utf8");
  const values = (name) => header.match(new RegExp(`enum class ${name} [^{]*{([^}]*)}`))[1]
    .replace(/\/\/.*/g, "").split(",").map((value) => value.trim()).filter(Boolean);
  assert.equal(v.kSources.length, values("FrameSource").length);
  assert.deepEqual(v.kGoSources.map((source) => values("FrameSource")[source]),
    ["kPclntab", "kPclntabDerived", "kGivenGo", "kGsymGo"]);
  for (const words of [v.kUnnamedWords, v.kUnnamedReasons])
    assert.equal(words.length, values("Unnamed").length);
});

// A slow and plain count of what the trees of random stacks have to be.
test("random stacks give the sums of a plain count", () => {
  let seed = 7;
  const random = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  const samples = Array.from({length: 3000}, () => ({
    stack: Array.from({length: 1 + random(12)}, () => ({name: `f${random(6)}`, line: random(3)})),
    owner: {tid: random(5), comm: "t"}, step: random(50), count: 1 + random(4)}));
  const profile = profileOf({samples});
  for (const [begin, end] of [[0, 50], [10, 20], [49, 50]]) {
    const chosen = samples.filter(({step}) => step >= begin && step < end);
    const wanted = {}, paths = {}, inverted = {};
    for (const {stack, count} of chosen) {
      const names = stack.map(({name}) => name);
      for (const name of new Set(names))
        (wanted[name] ??= [0, 0])[1] += count;
      wanted[names.at(-1)][0] += count;
      for (let i = 1; i <= names.length; i++) {
        const path = names.slice(0, i).join(), back = [...names].reverse().slice(0, i).join();
        paths[path] = (paths[path] ?? 0) + count;
        inverted[back] = (inverted[back] ?? 0) + count;
      }
    }
    for (const [invert, expected] of [[false, paths], [true, inverted]]) {
      const looked = look(profile, {invert, selection: {begin, end}});
      assert.deepEqual(table(looked), wanted);
      const {layout, keys} = looked, found = {};
      for (let i = 1; i < layout.count; i++) {
        let path = "";
        for (let at = i; at > 0; at = layout.parent[at])
          path = keys.text[layout.key[at]] + (path ? "," : "") + path;
        found[path] = layout.total[i];
        assert.ok(layout.start[i] >= layout.start[layout.parent[i]]);
        assert.ok(layout.end[i] <= layout.end[layout.parent[i]] || layout.parent[i] < 0);
      }
      assert.deepEqual(found, expected);
    }
  }
});

test("siblings: the largest first, of equal ones the first", () => {
  for (const count of [2, 16, 17, 300]) {
    const samples = Array.from({length: count}, (_, i) => sample(`main f${i}`, {count: 1 + i * 7 % 5}));
    const {layout, keys} = look(profileOf({samples}));
    const found = Array.from(layout.key.subarray(2), (key) => keys.text[key]);
    const amount = (name) => 1 + Number(name.slice(1)) * 7 % 5;
    const expected = [...found].sort((a, b) => amount(b) - amount(a) || a.slice(1) - b.slice(1));
    assert.deepEqual(found, expected);
    assert.equal(found.length, count);
  }
});

test("cells of the heat map add up to all", () => {
  const profile = profileOf({samples: [sample("a", {step: 0}), sample("a", {step: 3, count: 2}),
    sample("b", {step: 3})]});
  const {amounts} = look(profile);
  const heat = v.heatCells(profile, amounts, 1, 2, (owner, step) => Math.floor(step / 2));
  assert.deepEqual([...heat.cells], [1, 3]);
});

test("matches: what lies below a match is not counted again", () => {
  const {layout, keys} = look(profileOf({samples: [sample("a b a"), sample("c a"), sample("c")]}));
  const isMatch = keys.text.map((text) => text === "a" ? 1 : 0);
  assert.equal(v.matchedAmount(layout, isMatch), 2);
});

test("0 samples, and the empty stack", () => {
  assert.deepEqual(look(profileOf({samples: []})).boxes, [" 0 0"]);
  const looked = look(profileOf({samples: [{stack: []}, sample("a")]}));
  assert.deepEqual(looked.boxes, [" 2 1", ".a 1 1"]);
  assert.equal(looked.totals.all, 2);
});

test("a stack of 20,000 calls", () => {
  const stack = Array.from({length: 20000}, (_, i) => ({name: `f${i % 3}`}));
  const looked = look(profileOf({samples: [{stack}]}), {invert: true});
  assert.equal(looked.layout.count, 20001);
  assert.deepEqual(table(looked), {f0: [0, 1], f1: [1, 1], f2: [0, 1]});
});

test("every prefix of a message is refused or has less, and nothing hangs", () => {
  const bytes = encodeMessage({labels: [[["k", "v"]]], samples: [sample("main:3 work:7"),
    sample("main:4 other", {owner: {labelSet: 1}, step: 4})], notes: [["a", "b"]]});
  let refused = 0;
  for (let size = 0; size < bytes.length; size++) {
    try {
      look(v.makeProfile(v.readPage(bytes.subarray(0, size))));
    } catch (error) {
      assert.match(error.message, /damaged|version/);
      refused++;
    }
  }
  assert.ok(refused > bytes.length / 2);
});

test("every byte made wrong is refused or gives a profile", () => {
  const bytes = encodeMessage({samples: [sample("main:3 work:7"), sample("main:4 other", {step: 4})]});
  for (let at = 0; at < bytes.length; at++)
    for (const wrong of [0, 1, 127, 128, 255]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = wrong;
      try {
        const profile = v.makeProfile(v.readPage(damaged));
        look(profile);
        v.ownerDimensions(profile);
      } catch (error) {
        assert.match(error.message, /damaged|version/, `${at} ${wrong}: ${error.stack}`);
      }
    }
});

test("names that share too much are refused", () => {
  const count = 5000, shared = new Uint32Array(count).fill(60000), rest = new Uint32Array(count);
  rest[0] = 60000;
  shared[0] = 0;
  assert.throws(() => v.readTexts({shared, rest, bytes: new Uint8Array(60000).fill(97)}), /damaged/);
});

test("data that is no such text, no DEFLATE, cut short", async () => {
  assert.throws(() => v.fromDigits("a<b"), /cut short/);
  await assert.rejects(v.inflate(new Uint8Array([7, 7, 7])), /cannot be decompressed/);
  const good = zlib.deflateRawSync(Buffer.alloc(5000, "abc"));
  await assert.rejects(v.inflate(good.subarray(0, good.length - 4)), /cannot be decompressed/);
  assert.equal((await v.inflate(v.fromDigits(pack(Buffer.alloc(3000, "abc"))))).length, 3000);
});

test("invisible characters are shown", () => {
  assert.equal(v.visible("a\u202eb\u0000c\u200bd"), "a<U+202E>b<U+0000>c<U+200B>d");
  assert.equal(v.visible("größe 漢字"), "größe 漢字");
});

test("names get shorter", () => {
  assert.deepEqual(v.shorterNames("encoding/json.(*decodeState).object"),
    ["encoding/json.(*decodeState).object", "json.(*decodeState).object", "(*decodeState).object"]);
  assert.deepEqual(v.shorterNames("std::vector<int>::push_back(int)"), ["std::vector<int>::push_back(int)", "std::vector<int>::push_back"]);
  assert.deepEqual(v.shorterNames("[kernel]"), ["[kernel]"]);
  assert.equal(v.clipped("x".repeat(65536)).length, 421);
});

test("a title that is too wide keeps the word that tells it apart", () => {
  const measure = new v.TextMeasure({measureText: (text) => ({width: 6 * text.length})}, "");
  const fit = (text, characters, from) => measure.fitEnds(text, 6 * characters, from);
  assert.equal(fit("prometheus (12345)", 18), "prometheus (12345)");
  assert.equal(fit("prometheus (12345)", 14), "promet…(12345)");
  assert.equal(fit("prometheus (12345)", 17), "prometheu…(12345)", "no wider than it may be");
  assert.equal(fit("prometheus (12345)", 10), "pr…(12345)");
  assert.equal(fit("prometheus (12345)", 8), "…(12345)");
  assert.equal(fit("prometheus (12345)", 6), "…2345)", "an end that is too wide keeps its own end");
  assert.equal(fit("worker-17 (12345)", 14, 7), "wor…17 (12345)");
  assert.equal(fit("prometheus", 6), "prome…");
  assert.equal(fit("", 6), "");
  assert.equal(fit(" ", 0), "");
});

test("titles differ from where their words or numbers do", () => {
  const titles = ["worker-17 (12345)", "worker-18 (12346)", "main (5)", "main (6)", "x"];
  assert.deepEqual(v.differingEnds(titles).map((from, i) => titles[i].slice(from)),
    ["17 (12345)", "18 (12346)", "(5)", "(6)", "x"]);
  assert.deepEqual(v.differingEnds([]), []);
});

test("places on the axis of time are round", () => {
  const texts = (begin, end, most) => v.timeTicks(begin, end, most).map(({text}) => text).join(" ");
  assert.equal(texts(0, 1.59e9, 10), "0.0 s 0.2 s 0.4 s 0.6 s 0.8 s 1.0 s 1.2 s 1.4 s");
  assert.equal(texts(0, 12.3e9, 3), "0 s 5 s 10 s");
  assert.equal(texts(0, 900e9, 8), "0 min 2 min 4 min 6 min 8 min 10 min 12 min 14 min");
  assert.equal(texts(0, 86400e9, 5), "0 h 5 h 10 h 15 h 20 h");
  assert.equal(texts(0, 4e6, 4), "0 ms 1 ms 2 ms 3 ms 4 ms");
  assert.equal(texts(7200e9, 7200.01e9, 2), "7200.000 s 7200.005 s 7200.010 s");
  assert.equal(texts(0, 0, 4), "");
  for (let length = 1; length < 1e15; length *= 1.7)
    for (const most of [1, 3, 12]) {
      const ticks = v.timeTicks(0, length, most);
      assert.ok(ticks.length <= most + 2 && ticks.every(({ns}) => ns <= length * (1 + 1e-9)), `${length} ${most}`);
      const unit = {d: 86400e9, h: 3600e9, min: 60e9, s: 1e9, ms: 1e6, µs: 1e3, ns: 1}[ticks[0].text.split(" ")[1]];
      if (ticks.length > 1)
        assert.match((ticks[1].ns / unit).toExponential(6), /^[125]\.0*e/);
    }
});

test("the stacks of a thread in order of time", () => {
  const owner = (tid) => ({owner: {tid, comm: "t"}});
  const profile = profileOf({origin: {timeStep: 1e7}, samples: [
    sample("main a", {...owner(7), step: 0}), sample("main a", {...owner(7), step: 1}),
    sample("main b", {...owner(7), step: 2}), sample("main a", {...owner(7), step: 6}),
    sample("main b", {...owner(7), step: 7}), sample("main c", {...owner(7), step: 7}),
    sample("main d", {...owner(8), step: 3})]});
  const {keys, root, amounts} = look(profile);
  const isOf = profile.owners.tid.map((tid) => tid === 7 ? 1 : 0);
  const chart = (window = {}) => v.layOutTime(profile, root, amounts, isOf,
    {begin: 0, end: profile.samples.steps, stepsPerAmount: 1, ...window});
  const boxes = (layout) => Array.from(layout.key, (key, i) => `${key < 0 ? "" : keys.text[key]} ` +
    `${layout.depth[i]} ${layout.start[i]}+${layout.total[i]} ${layout.end[i]}`);
  assert.deepEqual(boxes(chart()), [" 0 0+8 8", "main 1 0+3 4", "a 2 0+2 3", "b 2 2+1 4",
    "main 1 6+2 8", "a 2 6+1 6", "b 2 7+0.5 7", "c 2 7.5+0.5 8"]);
  assert.equal(chart().busy, 6);
  // A sample stands for its time, until the next; what half a sample leaves free is no pause.
  assert.deepEqual(boxes(chart({stepsPerAmount: 3})), [" 0 0+8 7", "main 1 0+8 7", "a 2 0+2 3", "b 2 2+4 4",
    "a 2 6+1 5", "b 2 7+0.5 6", "c 2 7.5+0.5 7"]);
  assert.deepEqual(boxes(v.layOutTime(profile, root, amounts, isOf.map(() => 0), {begin: 0, end: 8, stepsPerAmount: 1})),
    [" 0 0+8 1"]);
});

test("folded text: names that tools would misread, threads that are idle, the kernel", () => {
  const profile = profileOf({modules: [{path: "/bin/p"}, {path: "[kernel]", kind: 1}], samples: [
    {stack: [{name: "a;b"}, {name: "c_[k]"}, {name: "read", module: 2}], count: 3},
    {stack: [{name: "a;b"}], owner: {state: "idle thread of Go's runtime", comm: ""}}, {stack: []}]});
  const {keys, amounts} = look(profile);
  assert.equal(v.foldedText(profile, keys, amounts), " [idle thread of Go's runtime];a:b 1\nmain 1\n" +
    "main;a:b;c_[k\\x5d;read_[k] 3\n");
});

test("numbers as people read them", () => {
  assert.equal(v.formatTime(1.5e9), "1.50 s");
  assert.equal(v.formatTime(12e6), "12.0 ms");
  assert.equal(v.formatTime(1234.5e9), "20.6 min");
  assert.equal(v.formatShare(1, 3), "33.3 %");
  assert.equal(v.formatShare(1, 0), "0 %");
  assert.equal(v.formatShare(1, 5000), "0.02 %");
  assert.equal(v.formatClock(3725e9, 1e9), "1:02:05");
  assert.equal(v.formatAmount(1234567, {unitNs: 0, unitEvents: 1}), "1,234,567");
  assert.equal(v.formatAmount(1536, {unitNs: 0, unit: "bytes"}), "1.50 KiB");
});

test("the state survives its way through the address", () => {
  const state = {...v.kInitialState, view: "table", invert: true, search: "a&b#=c|^é$", zoom: 12,
    range: [3, 99], filters: {"label:x": ["a=b", "&"], thread: ["x (1)"]}, ascending: true};
  assert.deepEqual(v.stateFromHash(`#${v.stateToHash(state)}`), state);
  assert.equal(v.stateToHash({...v.kInitialState, filters: {}}), "");
  const odd = v.stateFromHash("#view=__proto__&zoom=-1&range=9-3&event=x&by=constructor&foo=1");
  assert.deepEqual(odd, {...v.kInitialState, filters: {}});
});

// WCAG 2: the ratio of the luminances of text and what is behind it.
function contrast(first, second) {
  const luminance = (rgb) => rgb.map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const [less, more] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
}
function ofHsl(text) {
  const [hue, saturation, light] = text.match(/[\d.]+/g).map(Number);
  const part = (n) => {
    const k = (n + hue / 30) % 12, a = saturation / 100 * Math.min(light / 100, 1 - light / 100);
    return light / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  };
  return [part(0), part(8), part(4)];
}
const ofHex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255);

test("names on boxes have the contrast that WCAG asks for, in the light and in the dark", () => {
  const css = fs.readFileSync(path.join(__dirname, "../../src/page/viewer/viewer.css"), "utf8");
  const [light, dark] = [...css.matchAll(/--text: (#[0-9a-f]{6})/g)].map(([, colour]) => ofHex(colour));
  for (const colour of [...v.kKindColours, ...v.kHues.map((hue) => [hue, 50])])
    for (const shade of [0, 0.5, 1]) {
      assert.ok(contrast(light, ofHsl(v.boxColour(colour, shade, false))) >= 4.5, `light ${colour}`);
      assert.ok(contrast(dark, ofHsl(v.boxColour(colour, shade, true))) >= 4.5, `dark ${colour}`);
    }
  for (const change of [-1, -0.5, -0.01, 0, 0.01, 0.5, 1]) {
    assert.ok(contrast(light, ofHsl(v.changeColour(change, false))) >= 4.5, `light ${change}`);
    assert.ok(contrast(dark, ofHsl(v.changeColour(change, true))) >= 4.5, `dark ${change}`);
  }
});

// 200 samples before and 100 after, which before is scaled to.
const kCompared = {origin: {per: "share", scaleBefore: 0.5e9, timeStep: 0},
  recordings: [{name: "a.raw"}, {name: "b.raw"}], sides: [{recordings: 1}, {recordings: 1}],
  modules: [{path: "/old/prog"}, {path: "/new/prog2"}],
  samples: [
    {stack: [{name: "main"}, {name: "same"}], owner: {recording: 0}, count: 100},
    {stack: [{name: "main", module: 2}, {name: "same", module: 2}], owner: {recording: 1}, count: 49},
    {stack: [{name: "main"}, {name: "removed"}], owner: {recording: 0}, count: 100},
    {stack: [{name: "main", module: 2}, {name: "added", module: 2}], owner: {recording: 1}, count: 51}]};

test("a comparison: before is scaled, and both builds of a function are one", () => {
  const profile = profileOf(kCompared), looked = look(profile);
  assert.deepEqual(table(looked), {main: [0, 200], same: [99, 99], removed: [50, 50], added: [51, 51]});
  const after = v.amountsAfter(profile, looked.amounts);
  const {self, total} = v.keyTotals(profile, looked.keys, looked.root, after);
  assert.deepEqual([...self], [0, 49, 0, 51]);
  assert.deepEqual([...total], [100, 49, 0, 51]);
  // A sample before stands for a half, one after for one.
  const variance = v.varianceOf(profile, looked.amounts);
  assert.equal(variance, 0.75);
  const change = (key) => v.changeOf(total[key], looked.totals.total[key], variance);
  assert.deepEqual([0, 1, 2, 3].map(change), [0, 0, -1, 1]);
  const around = v.aroundKey(looked.root, v.selfOf(looked.structure, looked.amounts), 0, false,
    v.selfOf(looked.structure, after));
  assert.deepEqual([...around.layout.node].map((node) => around.sumAfter[node]), [100, 49, 51, 0]);
});

test("what may be chance is no change, and so much of random samples is not", () => {
  assert.equal(v.changeOf(60, 100, 1), 0);  // 40 and 60
  assert.ok(v.changeOf(61, 100, 1) > 0);
  assert.ok(v.changeOf(39, 100, 1) < 0);
  assert.equal(v.changeOf(1, 1, 1), 0);
  assert.equal(v.changeOf(0, 0, 1), 0);
  let seed = 5, changed = 0;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  // Samples fall to either side by chance: about one time in 22 the two differ by more.
  for (let i = 0; i < 2000; i++) {
    let after = 0;
    for (let k = 0; k < 400; k++)
      after += random() < 0.5 ? 1 : 0;
    changed += v.changeOf(after, 400, 1) !== 0 ? 1 : 0;
  }
  assert.ok(changed > 40 && changed < 160, `${changed}`);
});

test("changes as people read them", () => {
  const texts = [[120, 220], [240, 340], [99, 200], [50, 50], [0, 50], [100, 200], [3000, 3100], [1, 1]];
  assert.deepEqual(texts.map(([after, both]) => v.formatChange(after, both, 0.5)),
    ["≈ +20 %", "+140 %", "≈ −2.0 %", "new", "gone", "=", "× 30", "≈ new"]);
});

test("a comparison has as many recordings before as it says, and steps of time mean nothing", () => {
  const recordings = ["a", "b", "c"].map((name) => ({name}));
  const samples = kCompared.samples.map((each, i) => ({...each, step: i, owner: {recording: i % 3}}));
  const profile = profileOf({...kCompared, recordings, samples, sides: [{recordings: 2}, {recordings: 1}]});
  assert.deepEqual([...profile.samples.owner].map((owner) => profile.owners.side[owner]).sort(), [0, 0, 0, 1]);
  assert.deepEqual([...profile.samples.step], [0, 0, 0, 0]);
  const side = v.ownerDimensions(profile).find(({id}) => id === "side");
  assert.deepEqual(side.values.slice().sort(), ["after", "before"]);
});

test("a comparison of one side is damaged", () => {
  for (const sides of [[], [{recordings: 2}], [1, 1, 0].map((recordings) => ({recordings}))])
    assert.throws(() => profileOf({...kCompared, sides}), /does not compare two/);
});

test("a search that is no regular expression says so", () => {
  assert.ok(v.parsePattern("a(").error);
  assert.equal(v.parsePattern("").pattern, null);
  assert.ok(v.parsePattern("json").pattern.test("JSON"));
  assert.ok(!v.parsePattern("Json").pattern.test("json"));
});

test("a search is an expression of RE2, as those of the command line", () => {
  const matched = (text, names, isSearch) => {
    const {pattern, error} = v.parsePattern(text, isSearch);
    assert.equal(error, undefined, text);
    return names.filter((name) => pattern.test(name)).join(" ");
  };
  const name = "a.(*b[...]).c+d{1}|e^$/-";
  assert.equal(matched(`^\\Q${name}\\E$`, [name, "a"]), name);
  assert.equal(matched("\\Qa.b", ["a.b", "axb"]), "a.b");
  assert.equal(matched("(?i)RUN", ["run", "Run", "walk"]), "run Run");
  assert.equal(matched("(?-i)run", ["run", "Run"]), "run");
  assert.equal(matched("run", ["run", "Run"], false), "run");
  assert.equal(matched("^(?P<first>[[:alpha:]]+)\\.\\pL+\\z", ["main.é", "main.1"]), "main.é");
  assert.equal(matched("struct{}|]", ["struct{}", "a]", "b"]), "struct{} a]");
  assert.equal(matched("\\x{41}b[^]c]", ["Abd", "Abc", "Ab]"]), "Abd");
  assert.equal(matched("^[a-c-]+\\-$", ["a--", "d-"]), "a--");
  const letters = [..."\tAz09 _-~\x01\x7fé€"];
  for (const name of ["alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit"])
    assert.deepEqual(letters.filter((letter) => matched(`(?-i)^[[:^${name}:]]$`, [letter])),
      letters.filter((letter) => !matched(`(?-i)^[[:${name}:]]$`, [letter])), name);
  for (const text of ["(", "a)", "[a", "\\1", "a(?=b)", "a(?<!b)", "a{2000}", "\\Z", "a**", "\\", "[[:x:]]"])
    assert.ok(v.parsePattern(text).error, text);
});

test("a function of two modules is two, whatever sources told its name", () => {
  const of = (module, source) => ({stack: [{name: "work", module, source}]});
  const profile = profileOf({modules: [{path: "/bin/a"}, {path: "/bin/b"}],
    samples: v.kSources.flatMap((_, source) => [of(1, source), of(2, source)])});
  const {keys} = look(profile);
  for (let frame = 0; frame < profile.frames.size; frame++)
    assert.equal(profile.frames.module[keys.frame[keys.of[frame]]], profile.frames.module[frame]);
});

test("functions of one name are told apart by module and by where they are declared", () => {
  const at = (name, module, more) => ({name, module, ...more});
  const work = (declared, file = declared) => at("work", 2, {declared, file, startLine: 3});
  const profile = profileOf({modules: [{path: "/tool/compile"}, {path: "/tool/link"}], samples: [
    {stack: [at("main.main", 1, {source: 0}), at("gc", 1)], count: 5}, {stack: [at("main.main", 2, {source: 0})], count: 2},
    {stack: [work("/x/a.c")], count: 3}, {stack: [work("/x/b.c")], count: 4},
    {stack: [work("../x/a.c", "body.inc")], count: 1},  // the same, of other lines and compiled elsewhere
    {stack: [at("main.main", 1, {source: 0, file: "y.go", startLine: 9})]}]});  // of Go a name is one
  const {keys, totals} = look(profile);
  const found = Object.fromEntries(keys.labels.map((label, key) => [label, totals.total[key]]));
  assert.deepEqual(found, {"main.main (compile)": 6, "main.main (link)": 2, gc: 5, "work (a.c:3)": 4,
    "work (b.c:3)": 4});
  keys.links.forEach((link, key) => assert.equal(v.keyOfLink(keys, link, totals.total), key));
  assert.equal(keys.labels[v.keyOfLink(keys, "main.main", totals.total)], "main.main (compile)");
  assert.equal(v.keyOfLink(keys, "nonesuch", totals.total), -1);
});
