// Writes pages for tests: the message Page of page.proto from stacks, with an encoder of its own.
"use strict";

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
const zigzag = (value) => value < 0 ? -2 * value - 1 : 2 * value;
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

// profile: {origin, events, modules: [{path, kind}], labels: [[[key, value]]], notes, samples:
// [{stack: [frame], owner: {pid, tid, comm, event, cgroup, labelSet, state}, step, count, weight}]}.
// Stacks are outermost first; a frame is {name, module, file, line, package, source, isInlined,
// unnamed, category, categoryKind, leftOut, text}.
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
        text(each.package)]);
      const frame = frames.of([id, each.line ?? 0, each.module ?? 1, each.source ?? 2, 0,
        each.isInlined ? 1 : 0, each.unnamed ?? 0, text(each.text), each.leftOut ?? 0,
        text(each.category), each.categoryKind ?? 2]);
      if (!node.children.has(frame))
        node.children.set(frame, {children: new Map(), samples: []});
      node = node.children.get(frame);
    }
    const o = {pid: 1, tid: 1, comm: "main", ...sample.owner};
    node.samples.push({owner: owners.of([o.event ?? 0, o.pid, o.tid, text(o.comm), text(o.cgroup),
      o.labelSet ?? 0, o.recording ?? 0, text(o.state)]), step: sample.step ?? 0,
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

  const tree = {up: [], next: [], first: [], samples: []}, followers = new Map();
  const samples = [];
  let lastDepth = 0, lastFirst = 0;
  const take = (node) => {
    node.samples.sort((a, b) => a.step - b.step).forEach((each, i) => samples.push({...each,
      step: each.step - (i ? node.samples[i - 1].step : 0)}));
  };
  take(root);
  const visit = [...root.children].map(([frame, node]) => [frame, node, 1, -1]).reverse();
  while (visit.length) {
    const [frame, node, depth, above] = visit.pop();
    tree.up.push(tree.up.length ? lastDepth - depth + 1 : 0);
    lastDepth = depth;
    if (!followers.has(above))
      followers.set(above, []);
    const known = followers.get(above), at = known.indexOf(frame);
    tree.next.push(at + 1);
    if (at < 0) {
      known.push(frame);
      tree.first.push(zigzag(frame - lastFirst));
      lastFirst = frame;
    }
    tree.samples.push(node.samples.length);
    take(node);
    visit.push(...[...node.children].map(([child, of]) => [child, of, depth + 1, frame]).reverse());
  }

  const columns = (rows, first, of) => rows.length === 0 ? []
    : rows[0].map((_, i) => column(first + i, rows.map((row) => of(row[i]))));
  const number = (value) => typeof value === "string" ? id(value) : value;
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
      numberField(10, origin.timeStep)),
    ...events.map((event) => message(3, textField(1, event.name), numberField(2, event.frequency ?? 0),
      numberField(3, event.period ?? 0), numberField(4, event.unitNs ?? 0),
      numberField(5, event.unitEvents ?? 1), numberField(8, event.cut ?? 0))),
    message(5, column(1, shared), column(2, rest), bytesField(3, Buffer.concat(tails))),
    ...(profile.modules ?? [{path: "/bin/prog"}]).map((each) => message(6,
      numberField(1, id(each.path)), numberField(2, each.kind ?? 0))),
    message(7, ...functions.rows.length ? [column(1, functions.rows.map((row) => id(row[0]))),
      column(3, functions.rows.map((row) => id(row[1]))),
      column(5, functions.rows.map((row) => id(row[2])))] : []),
    message(8, ...columns(frames.rows, 1, number)),
    message(9, column(1, tree.up), column(2, tree.next), column(3, tree.first),
      column(4, tree.samples), numberField(5, root.samples.length)),
    message(10, ...columns(owners.rows, 1, number)),
    ...(profile.labels ?? []).map((set) => message(11, column(1, set.map(([key]) => id(key))),
      column(2, set.map(([, value]) => id(value))))),
    message(12, column(1, samples.map((each) => each.owner)), column(2, samples.map((each) => each.step)),
      column(3, samples.map((each) => each.count)), column(4, samples.map((each) => each.weight))),
    ...(profile.notes ?? []).map(([title, note]) => message(13, textField(1, title),
      textField(2, note))),
  ]);
}

const base64 = (bytes) => zlib.deflateRawSync(bytes).toString("base64").replace(/.{1000}/g, "$&\n");

// What is named of those of the viewer's files that need no browser.
function load(...names) {
  const files = ["wire.js", "model.js", "look.js", "state.js"].map((file) =>
    fs.readFileSync(path.join(kViewer, file), "utf8"));
  return new Function(`"use strict";\n${files.join("\n")}\nreturn {${names.join(", ")}};`)();
}

module.exports = {encodeMessage, base64, load};
