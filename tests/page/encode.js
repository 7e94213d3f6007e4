// Writes pages for tests: the message Page of page.proto from stacks, with an encoder of its own.
"use strict";

const {execFileSync} = require("child_process");
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");

const kViewer = path.join(__dirname, "../../src/page/viewer");

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128))
    bytes.push(value % 128 | 128);
  return Buffer.from([...bytes, value]);
}
const field = (number, wire) => varint(number * 8 + wire);
const bytesField = (number, bytes) => Buffer.concat([field(number, 2), varint(bytes.length), bytes]);
const textField = (number, text) => bytesField(number, Buffer.from(text));
const numberField = (number, value) => Buffer.concat([field(number, 0), varint(value)]);
function fixedField(number, value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return Buffer.concat([field(number, 1), bytes]);
}
function column(number, values) {
  const parts = [];
  for (let value of values) {
    for (; value >= 128; value = Math.floor(value / 128))
      parts.push(value % 128 | 128);
    parts.push(value);
  }
  return bytesField(number, Buffer.from(parts));
}
// Differences to what likely(row) says, as page.proto has them.
function differences(values, likely) {
  return values.map((value, row) => {
    const difference = (value - likely(row)) | 0;
    return ((difference << 1) ^ (difference >> 31)) >>> 0;
  });
}
const asBefore = (values) => differences(values, (row) => values[row - 1] ?? 0);
function asNext(values) {
  let next = 0;
  return differences(values, (row) => {
    const likely = next;
    next = Math.max(next, values[row] + 1);
    return likely;
  });
}
function asLastOf(values, by, first) {
  const last = new Map();
  return differences(values, (row) => {
    const likely = last.get(by[row]) ?? first?.[by[row] - 1] ?? values[row - 1] ?? 0;
    last.set(by[row], values[row]);
    return likely;
  });
}
const message = (number, ...parts) => bytesField(number, Buffer.concat(parts));

class Table {
  constructor() {
    this.known = new Map();
    this.rows = [];
  }
  of(row) {
    const identity = JSON.stringify(row);
    if (!this.known.has(identity)) {
      this.known.set(identity, this.rows.length);
      this.rows.push(row);
    }
    return this.known.get(identity);
  }
}

// profile: {origin, events, recordings: [{name, host, command}], sides: [{recordings}], modules: [{path, kind}],
// labels: [[[key, value]]], notes, samples: [{stack: [frame], owner: {pid, tid, comm, event, cgroup,
// labelSet, recording, state, process}, step, count, weight}]}.
// Stacks are outermost first; a frame is {name, module, file, startLine, declared, line, package, source, isInlined,
// unnamed, category, categoryKind, leftOut, text, isOwn}.
function encodeMessage(profile) {
  const texts = new Set([""]);
  const text = (value) => {
    texts.add(value ?? "");
    return value ?? "";
  };
  const functions = new Table(), frames = new Table(), owners = new Table();
  const root = {children: new Map(), samples: []};
  for (const sample of profile.samples) {
    let node = root;
    for (const each of sample.stack) {
      const id = each.name === undefined ? 0 : 1 + functions.of([text(each.name), text(each.file),
        text(each.package), each.startLine ?? 0, text(each.declared)]);
      const frame = frames.of([id, each.line ?? 0, each.module ?? 1, each.source ?? 2, 0,
        each.isInlined ? 1 : 0, each.unnamed ?? 0, text(each.text), each.leftOut ?? 0,
        text(each.category), each.categoryKind ?? 2, each.isOwn ? 1 : 0]);
      if (!node.children.has(frame))
        node.children.set(frame, {children: new Map(), samples: []});
      node = node.children.get(frame);
    }
    const o = {pid: 1, tid: 1, comm: "main", ...sample.owner};
    node.samples.push({owner: owners.of([o.event ?? 0, o.pid, o.tid, text(o.comm), text(o.cgroup),
      o.labelSet ?? 0, o.recording ?? 0, text(o.state), 0, text(o.process)]), step: sample.step ?? 0,
      count: sample.count ?? 1, weight: sample.weight ?? 0});
  }
  for (const module of profile.modules ?? [{path: "/bin/prog"}])
    text(module.path);
  for (const set of profile.labels ?? [])
    for (const [key, value] of set)
      text(key), text(value);
  const sorted = [...texts].map((each) => Buffer.from(each)).sort(Buffer.compare);
  const idOf = new Map(sorted.map((bytes, i) => [bytes.toString("latin1"), i]));
  const id = (value) => idOf.get(Buffer.from(value).toString("latin1"));

  const tree = {up: [], added: [], samples: [], next: [], first: []}, followers = new Map();
  const samples = [...root.samples];
  let lastDepth = 0, up = 0, added = 0;
  const visit = [...root.children].map(([frame, node]) => [frame, node, 1, -1]).reverse();
  while (visit.length) {
    const [frame, node, depth, above] = visit.pop();
    up += lastDepth + 1 - depth;
    lastDepth = depth;
    added++;
    if (!followers.has(above))
      followers.set(above, []);
    const known = followers.get(above), at = known.indexOf(frame);
    tree.next.push(at + 1);
    if (at < 0) {
      known.push(frame);
      tree.first.push(frame);
    }
    if (node.samples.length) {
      tree.up.push(up);
      tree.added.push(added);
      tree.samples.push(node.samples.length);
      samples.push(...node.samples);
      up = added = 0;
    }
    visit.push(...[...node.children].map(([child, of]) => [child, of, depth + 1, frame]).reverse());
  }

  const columns = (rows, first, of) => rows.length === 0 ? []
    : rows[0].map((_, i) => column(first + i, rows.map((row) => of(row[i]))));
  const number = (value) => typeof value === "string" ? id(value) : value;
  const of = (table, i) => table.rows.map((row) => number(row[i]));
  let before = Buffer.alloc(0);
  const shared = [], rest = [], tails = [];
  for (const bytes of sorted) {
    let same = 0;
    while (same < before.length && same < bytes.length && before[same] === bytes[same])
      same++;
    shared.push(same);
    rest.push(bytes.length - same);
    tails.push(bytes.subarray(same));
    before = bytes;
  }
  const origin = {host: "host", command: "gosym record -- prog", duration: 1e9, timeStep: 1e7,
    ...profile.origin};
  const events = profile.events ?? [{name: "cpu-clock", frequency: 100, unitNs: 1e7}];
  return Buffer.concat([
    numberField(1, profile.version ?? 1),
    message(2, textField(2, origin.host), textField(5, origin.command),
      fixedField(8, origin.start ?? 1.7e18), numberField(9, origin.duration),
      numberField(10, origin.timeStep), numberField(14, origin.isSystemWide ? 1 : 0), textField(18, origin.per ?? ""),
      numberField(19, origin.scaleBefore ?? 0)),
    ...events.map((event) => message(3, textField(1, event.name), numberField(2, event.frequency ?? 0),
      numberField(3, event.period ?? 0), numberField(4, event.unitNs ?? 0),
      numberField(5, event.unitEvents ?? 1), numberField(8, event.cut ?? 0))),
    ...(profile.recordings ?? []).map((each) => message(4, textField(1, each.name),
      textField(2, each.host ?? ""), fixedField(3, each.start ?? 1.7e18),
      numberField(4, each.duration ?? 1e9), textField(5, each.command ?? ""))),
    ...(profile.sides ?? []).map((each) => message(14, numberField(3, each.recordings))),
    message(5, column(1, shared), column(2, rest), bytesField(3, Buffer.concat(tails))),
    ...(profile.modules ?? [{path: "/bin/prog"}]).map((each) => message(6,
      numberField(1, id(each.path)), numberField(2, each.kind ?? 0))),
    message(7, column(1, of(functions, 0)), column(3, asBefore(of(functions, 1))),
      column(4, of(functions, 3)), ...[[5, 2], [6, 4]].map(([number, i]) =>
        column(number, asLastOf(of(functions, i), of(functions, 1))))),
    message(8, column(1, asNext(of(frames, 0))),
      column(2, asLastOf(of(frames, 1), of(frames, 0), of(functions, 3))),
      ...[2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((i) => column(i + 1, asLastOf(of(frames, i), of(frames, 0))))),
    message(9, column(1, tree.up), column(2, tree.added), column(3, tree.samples), column(4, tree.next),
      column(5, asNext(tree.first)), numberField(6, root.samples.length)),
    message(10, ...columns(owners.rows, 1, number)),
    ...(profile.labels ?? []).map((set) => message(11, column(1, set.map(([key]) => id(key))),
      column(2, set.map(([, value]) => id(value))))),
    message(12, column(1, asBefore(samples.map((each) => each.owner))),
      column(2, asLastOf(samples.map((each) => each.step), samples.map((each) => each.owner))),
      column(3, samples.map((each) => each.count)), column(4, samples.map((each) => each.weight))),
    ...(profile.notes ?? []).map(([title, note]) => message(13, textField(1, title),
      textField(2, note))),
  ]);
}

// A profile of pprof: a sample of 10 ms for each stack of names, outermost first. Each name is that of
// its file, too.
function encodePprof(stacks) {
  const names = ["", "cpu", "nanoseconds", ...new Set(stacks.flat())];
  const id = (name) => names.indexOf(name);
  return zlib.gzipSync(Buffer.concat([
    message(1, numberField(1, 1), numberField(2, 2)),
    ...stacks.map((stack) => message(2, column(1, [...stack].reverse().map(id)), column(2, [1e7]))),
    ...names.slice(3).flatMap((name) => [
      message(4, numberField(1, id(name)), message(4, numberField(1, id(name)), numberField(2, 7))),
      message(5, numberField(1, id(name)), numberField(2, id(name)), numberField(4, id(name))),
    ]),
    ...names.map((name) => textField(6, name)),
  ]));
}

// The text that a page has of bytes, as packing.h says.
const kDigits = Array.from({length: 94}, (_, i) => String.fromCharCode(33 + i)).filter((c) => !"&<>".includes(c));
function pack(bytes) {
  let text = "", bits = 0, count = 0;
  for (const byte of zlib.deflateRawSync(bytes)) {
    bits |= byte << count;
    count += 8;
    if (count >= 13) {
      text += kDigits[Math.floor((bits & 8191) / 91)] + kDigits[(bits & 8191) % 91];
      bits >>= 13;
      count -= 13;
    }
  }
  if (count > 6)
    text += kDigits[Math.floor(bits / 91)] + kDigits[bits % 91];
  else if (count > 0)
    text += kDigits[bits];
  return text.replace(/.{1000}/g, "$&\n");
}

// Loads the named functions from those of the viewer's files that need no browser.
function load(...names) {
  const schema = execFileSync(path.join(kViewer, "../page_schema.py"), ["script",
    path.join(kViewer, "../page.proto"), path.join(kViewer, "../../profile/profile.h")], {encoding: "utf8"});
  const files = ["unpack.js", "wire.js", "model.js", "look.js", "state.js", "export.js"].map((file) =>
    fs.readFileSync(path.join(kViewer, file), "utf8"));
  return new Function(`"use strict";\n${schema}${files.join("\n")}\nreturn {${names.join(", ")}};`)();
}

module.exports = {encodeMessage, encodePprof, pack, load};
