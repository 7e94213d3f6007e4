// Numbers, names and colours as they are shown.

// ---- Numbers

const kCount = new Intl.NumberFormat("en-US");
// Beyond 2^53 not all digits are known.
const kRounded = new Intl.NumberFormat("en-US", {maximumSignificantDigits: 15});
const formatCount = (number) => Number.isSafeInteger(Math.round(number))
  ? kCount.format(Math.round(number)) : `≈ ${kRounded.format(number)}`;

function formatTime(ns) {
  const units = [[3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of units)
    if (ns >= size)
      return `${(ns / size).toPrecision(Math.max(3, Math.ceil(Math.log10(ns / size))))} ${unit}`;
  return ns === 0 ? "0 s" : `${Math.round(ns)} ns`;
}

function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; unit++)
    bytes /= 1024;
  return `${unit === 0 ? Math.round(bytes) : bytes.toPrecision(bytes >= 1000 ? 4 : 3)} ${units[unit]}`;
}

// An amount of an event: time where it stands for time.
function formatAmount(amount, event) {
  if (event.unit === "bytes")
    return formatBytes(amount * (event.unitEvents || 1));
  return event.unitNs > 0 ? formatTime(amount * event.unitNs)
                          : formatCount(amount * (event.unitEvents || 1));
}

function formatShare(part, whole) {
  if (!(whole > 0))
    return "0 %";
  const share = 100 * part / whole;
  return `${share >= 99.95 ? "100" : share.toFixed(share < 0.1 && share > 0 ? 2 : 1)} %`;
}

// Places on the axis of time: "0 s", "12.5 s", "3:20", "2:05:00".
function formatClock(ns, stepNs) {
  const seconds = ns / 1e9;
  if (seconds < 60) {
    const digits = Math.min(3, Math.max(0, Math.ceil(-Math.log10(Math.max(stepNs, 1) / 1e9))));
    return `${seconds.toFixed(digits)} s`;
  }
  const whole = Math.round(seconds), two = (number) => String(number).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes}:${two(whole % 60)}`
                      : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

const kTickUnits = [[86400e9, "d"], [3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

// Round places on the axis of time from `begin` to `end`, about `most` at the most: each 1, 2 or 5 of a unit, or ten or
// a tenth of that, …: [{ns, text}].
function timeTicks(begin, end, most) {
  const length = end - begin;
  if (!(length > 0))
    return [];
  // Minutes and longer units need five in sight, or there would be few ticks: a tenth of a minute is not round. Of the
  // others it is the largest that `end` has one of.
  const [size, unit] = kTickUnits.find(([size]) => size > 1e9 ? length >= 5 * size : end >= size) ?? kTickUnits.at(-1);
  const least = length / Math.max(1, most) / size, power = 10 ** Math.floor(Math.log10(least));
  const round = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least * (1 - 1e-9));
  const step = size > 1e9 ? Math.max(1, round) : round, digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(begin / size / step - 1e-9); i * step * size <= end * (1 + 1e-12); i++)
    ticks.push({ns: i * step * size, text: `${(i * step).toFixed(digits)} ${unit}`});
  return ticks;
}

// ---- Names

// Places, by text, from which it differs from the one that is most like it: the begin of a word or a number.
function differingEnds(texts) {
  const order = [...texts.keys()].sort((a, b) => texts[a] < texts[b] ? -1 : 1), from = texts.map(() => 0);
  for (let i = 1; i < order.length; i++) {
    const [a, b] = [texts[order[i - 1]], texts[order[i]]];
    let same = 0;
    while (same < a.length && a[same] === b[same])
      same++;
    for (const each of [order[i - 1], order[i]])
      from[each] = Math.max(from[each], same);
  }
  return texts.map((text, i) => text.slice(0, from[i]).search(/[\w(]*$/));
}

// "encoding/json.(*decodeState).object" -> "json.(*decodeState).object" -> "(*decodeState).object".
// Shorter forms of a name; C++ names lose their arguments first.
function shorterNames(name) {
  const names = [name];
  if (name.startsWith("["))
    return names;
  const brackets = name.search(/[[<(]/);
  const path = brackets < 0 ? name : name.slice(0, brackets);
  const slash = path.lastIndexOf("/");
  let rest = slash < 0 ? name : name.slice(slash + 1);
  if (slash >= 0)
    names.push(rest);
  const call = rest.indexOf("(");
  if (call > 0 && rest[call - 1] !== ".") {
    rest = rest.slice(0, call);
    names.push(rest);
  }
  const dot = slash >= 0 || /^[\w]+\./.test(rest) ? rest.indexOf(".") : -1;
  if (dot > 0 && dot + 1 < rest.length)
    names.push(rest.slice(dot + 1));
  return names;
}

// A name of 64 KB is not for the screen.
const kMaxShown = 400;
const clipped = (text) => text.length <= kMaxShown ? text
    : `${text.slice(0, kMaxShown)}… (${formatCount(text.length)} characters)`;

// Measures text on a canvas; the widths of ASCII are measured once.
class TextMeasure {
  constructor(context, font) {
    this.font = font;
    context.font = font;
    this.widths = new Float32Array(128);
    for (let code = 32; code < 127; code++)
      this.widths[code] = context.measureText(String.fromCharCode(code)).width;
    this.other = context.measureText("漢").width;
    this.dots = context.measureText("…").width;
  }

  // The text, or as much of its beginning as fits, with "…"; "" if that says nothing: less than three letters.
  fit(text, width) {
    let sum = 0, fits = 0;
    for (let i = 0; i < text.length; i++) {
      sum += this.widthAt(text, i);
      if (sum > width)
        return fits < 3 ? "" : `${text.slice(0, fits)}…`;
      if (sum + this.dots <= width)
        fits = i + 1;
    }
    return text;
  }

  // Fits as fit() does, but keeps the end: from where it differs, or else the last word, which tells threads of one name
  // apart. If that is too wide, its own end is kept.
  fitEnds(text, width, differs = 0) {
    let from = differs || text.lastIndexOf(" ") + 1;
    if (from === 0 || this.fit(text, width) === text)
      return this.fit(text, width);
    let begin = 0, room = width - this.dots - this.widthOf(text.slice(from));
    for (; begin < from && (room -= this.widthAt(text, begin)) >= 0;)
      begin++;
    if (begin === 0)
      for (room = width - this.dots, from = text.length; from > 0 && (room -= this.widthAt(text, from - 1)) >= 0;)
        from--;
    return from === text.length ? this.fit(text, width) : `${text.slice(0, begin).trimEnd()}…${text.slice(from)}`;
  }

  widthAt(text, i) {
    const code = text.charCodeAt(i);
    return code < 128 ? this.widths[code] : this.other;
  }
  widthOf(text) {
    let sum = 0;
    for (let i = 0; i < text.length; i++) {
      sum += this.widthAt(text, i);
    }
    return sum;
  }

  // The longest of the names that fits as a whole, or the beginning of the last.
  fitName(names, width) {
    if (width < 3 * this.dots)
      return "";
    for (const name of names)
      if (name.length * this.dots * 0.25 <= width && this.fit(name, width) === name)
        return name;
    return this.fit(names[names.length - 1], width);
  }
}

// ---- Colours

// Hue and saturation of each of kKinds.
const kKindColours = [[142, 45], [178, 42], [212, 55], [40, 72], [8, 62], [282, 42], [220, 6]];
// Hues that stay apart, for what has no colour of its own; the largest gets the first.
const kHues = [142, 212, 40, 282, 8, 178, 320, 75, 250, 100, 20, 195];

// Boxes of one colour differ a little, so that neighbours are told apart.
function boxColour([hue, saturation], shade, isDark) {
  const light = isDark ? 26 + shade * 5 : 74 + shade * 9;
  return `hsl(${hue} ${isDark ? saturation * 0.8 : saturation}% ${light}%)`;
}

// Red for dearer, blue for cheaper, the more the stronger; grey for no change.
function changeColour(change, isDark) {
  const strength = change === 0 ? 0 : 25 + 60 * Math.sqrt(Math.abs(change));
  const light = isDark ? 31 - strength / 17 : 83 - strength / 9;
  return `hsl(${change > 0 ? 8 : 212} ${Math.round(strength)}% ${Math.round(light)}%)`;
}

// "+12 %", "new", "gone"; "≈ +1.2 %" where it is no more than chance may make of it.
function formatChange(after, both, variance) {
  const before = both - after, isChance = changeOf(after, both, variance) === 0 ? "≈ " : "";
  if (both <= 0)
    return "";
  if (Math.abs(2 * after - both) < 1e-6 * both)
    return "=";
  if (before <= 0 || after <= 0)
    return `${isChance}${after > 0 ? "new" : "gone"}`;
  const ratio = after / before, percent = Math.abs(100 * (ratio - 1));
  return isChance + (ratio >= 10 ? `× ${ratio.toPrecision(2)}`
    : `${ratio > 1 ? "+" : "−"}${percent.toFixed(percent < 9.95 ? 1 : 0)} %`);
}

// FNV-1a, for the shade of a box. Names of C++ may be long: their beginning tells them apart well enough.
function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < Math.min(text.length, 200); i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

// Classes of keys that have a colour each: {titles, of, colours}. `classes` is what kind of class:
// "kind", or a dimension whose classes are ranked by their totals.
function colourClasses(profile, keys, classes, classKeys, classTotals) {
  const of = new Int32Array(keys.count);
  if (classes === "kind") {
    for (let key = 0; key < keys.count; key++)
      of[key] = kindOf(profile, keys.frame[key]);
    return {titles: kKinds, of, colours: kKindColours};
  }
  // Classes that run get colours first, but their callers are not to be all grey.
  const weight = (key) => Math.max(classTotals.self[key], classTotals.total[key] / 4);
  const ranked = [...classKeys.text.keys()].sort((a, b) => weight(b) - weight(a));
  const colours = [];
  ranked.forEach((key, rank) => {
    colours[key] = rank < kHues.length ? [kHues[rank], 50] : [220, 6];
  });
  for (let key = 0; key < keys.count; key++)
    of[key] = Math.max(0, classKeys.of[keys.frame[key]]);
  return {titles: classKeys.text, of, colours};
}

// The text of each key's colour, for one theme.
function keyColours(keys, classes, isDark) {
  return keys.text.map((text, key) => boxColour(classes.colours[classes.of[key]] ?? [220, 6],
    (hashOf(text) % 101) / 100, isDark));
}
