// The state of the page as one value, and that value as the hash of the address: a link opens the
// same view again.

const kInitialState = {
  view: "flame",     // kViews
  mine: false,       // own code alone, as report --mine has it
  fold: false,       // recursions once, as report --fold-recursion
  by: "function",    // kDimensions: what a box is
  invert: false,     // from the leaf
  up: false,         // the root is at the bottom
  colour: "kind",    // kColours
  group: "",         // one of ownerDimensions(); some pages begin with one
  event: 0,
  filters: {},       // id of a dimension of owners -> texts of it that are shown
  only: "",          // regular expressions: stacks with, without such a function
  without: "",
  onlyOf: "",        // links of functions (nameKeys): stacks with, without that one
  withoutOf: "",
  search: "",
  range: null,       // steps [begin, end)
  zoom: 0,           // node of the tree
  around: "",        // link of the key that callers and callees are of
  sort: "self",
  ascending: false,
  thread: "",        // whose stacks are shown in order of time; "": that of the filter, or with the most
  rows: "",          // of the heat map: a dimension of owners, or "within" a second; "": the first
};

// Filters of stacks by their functions, and what is said of them.
const kStackFilters = {only: "only stacks with", onlyOf: "only stacks with", without: "without",
  withoutOf: "without"};
const kNoStackFilters = Object.fromEntries(Object.keys(kStackFilters).map((name) => [name, ""]));

const kViews = {table: "Functions", tree: "Call tree", around: "Callers & callees",
  flame: "Flame graph", code: "Code", chart: "Stack chart"};
// Colours by change are for pages that compare, which begin with them.
const kColours = {change: "change", kind: "kind", package: "package", category: "category",
  module: "module"};

function stateToHash(state) {
  const words = new URLSearchParams();
  for (const [name, initial] of Object.entries(kInitialState)) {
    const value = state[name];
    if (name === "filters") {
      for (const [id, texts] of Object.entries(value))
        for (const text of texts)
          words.append(`only.${id}`, text);
    } else if (name === "range") {
      if (value)
        words.set(name, value.join("-"));
    } else if (value !== initial) {
      words.set(name, String(value));
    }
  }
  return words.toString();
}

// Anything may be in an address: what makes no sense is left as it is initially.
function stateFromHash(hash) {
  const state = {...kInitialState, filters: {}};
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (name.startsWith("only.")) {
      const id = name.slice("only.".length);
      state.filters = {...state.filters, [id]: [...(state.filters[id] ?? []), text]};
    } else if (name === "range") {
      const [begin, end] = text.split("-").map(Number);
      if (Number.isInteger(begin) && Number.isInteger(end) && begin >= 0 && begin < end)
        state.range = [begin, end];
    } else if (name in kInitialState && name !== "filters") {
      const initial = kInitialState[name];
      if (typeof initial === "boolean")
        state[name] = text === "true";
      else if (typeof initial === "number")
        state[name] = /^\d{1,9}$/.test(text) ? Number(text) : initial;
      else
        state[name] = text;
    }
  }
  const allowed = {view: kViews, by: kDimensions, colour: kColours,
    sort: {self: 1, total: 1, name: 1, where: 1}};
  for (const [name, values] of Object.entries(allowed))
    if (!Object.hasOwn(values, state[name]))
      state[name] = kInitialState[name];
  return state;
}

// ---- Regular expressions, as RE2 has them, which gosym's options take

// The \s of RE2, which has no \v as that of RegExp does.
const kNoClass = "[\\t\\n\\f\\r ]";
const kPosixClasses = {alnum: "0-9A-Za-z", alpha: "A-Za-z", ascii: "\\x00-\\x7f", blank: "\\t ",
  cntrl: "\\x00-\\x1f\\x7f", digit: "0-9", graph: "!-~", lower: "a-z", print: " -~",
  punct: "!-\\/:-@\\[-`{-~", space: "\\t\\n\\v\\f\\r ", upper: "A-Z", word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f"};
// The complement, [:^name:], of a class, whose characters are all ASCII.
function posixComplement(ranges) {
  const has = new RegExp(`[${ranges}]`, "u");
  const codes = [...Array(128).keys()].filter((code) => !has.test(String.fromCharCode(code)));
  return codes.map((code) => `\\x${code.toString(16).padStart(2, "0")}`).join("") + "\\u{80}-\\u{10ffff}";
}

// Writes an expression anew for RegExp with Unicode rules; what RegExp cannot say is an error.
class Re2Translator {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.out = "";
    this.flags = new Set();     // of the whole expression
    this.hasCaseFlag = false;
    this.hasCapitals = false;
    this.groups = [[]];         // of each open group the flags that were set inside of it
  }

  translate() {
    while (this.at < this.text.length)
      this.step();
    if (this.groups.length > 1)
      throw new Error("missing closing )");
    this.closeFlags();
    return this;
  }

  rest() {
    return this.text.slice(this.at);
  }
  take(pattern) {
    const found = pattern.exec(this.rest());
    this.at += found ? found[0].length : 0;
    return found;
  }
  // RE2's flags hold up to the end of the group, also behind "|"; those of RegExp are a group of their own, which has to
  // end at each of both and to begin again behind "|".
  closeFlags() {
    this.out += ")".repeat(this.groups.at(-1).length);
  }
  literal(text) {
    this.hasCapitals ||= /\p{Lu}/u.test(text);
    this.out += text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  }

  step() {
    const [c] = this.rest();
    if (c === "\\") {
      const text = this.escape(false);  // which may write as well
      this.out += text;
    } else if (c === "[") {
      this.class();
    } else if (c === "(") {
      this.group();
    } else if (c === ")" || c === "|") {
      this.closeFlags();
      if (c === ")" && this.groups.length === 1)
        throw new Error("unexpected )");
      this.out += c;
      if (c === "|")
        this.out += this.groups.at(-1).join("");
      else
        this.groups.pop();
      this.at++;
    } else if (c === "{") {
      const repeat = this.take(/^\{(\d+)(,(\d*))?\}/);
      if (repeat && Math.max(repeat[1], repeat[3] || 0) > 1000)
        throw new Error(`repeated more than 1000 times: ${repeat[0]}`);
      this.out += repeat ? repeat[0] : "\\{";
      this.at += repeat ? 0 : 1;
    } else if (/^[\]}]/.test(c)) {
      this.literal(c);
      this.at++;
    } else if (/^[.*+?^$]/.test(c)) {
      this.out += c;
      this.at++;
    } else {
      this.literal(c);
      this.at += c.length;
    }
  }

  // Meanings of escapes; in brackets others are allowed.
  escape(isInClass) {
    const quoted = !isInClass && this.take(/^\\Q([^]*?)(\\E|$)/);
    if (quoted) {
      this.literal(quoted[1]);
      return "";
    }
    const property = this.take(/^\\([pP])(?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))/);
    if (property) {
      const [, letter, not, long, short] = property, name = long ?? short;
      const isNot = (letter === "P") !== Boolean(not);
      // General categories have one letter or two; all else are scripts.
      return `\\${isNot ? "P" : "p"}{${name.length > 2 ? `Script=${name}` : name}}`;
    }
    const number = this.take(/^\\(?:x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|(0[0-7]{0,2}|[1-7][0-7]{1,2}))/);
    if (number)
      return `\\u{${number[1] ?? number[2] ?? parseInt(number[3], 8).toString(16)}}`;
    const [, c] = this.take(/^\\([^]?)/u);
    const known = {a: "\\x07", f: "\\f", n: "\\n", r: "\\r", t: "\\t", v: "\\v", d: "\\d", D: "\\D",
      w: "\\w", W: "\\W", s: isInClass ? kNoClass.slice(1, -1) : kNoClass,
      S: isInClass ? "\\x00-\\x08\\x0b\\x0e-\\x1f!-\\u{10ffff}" : `[^${kNoClass.slice(1)}`};
    const assertions = {A: "(?<![^])", z: "(?![^])", b: "\\b", B: "\\B"};
    if (Object.hasOwn(known, c))
      return known[c];
    if (!isInClass && Object.hasOwn(assertions, c))
      return assertions[c];
    if (/^[0-9A-Za-z]$|^$|[^\x00-\x7f]/.test(c))
      throw new Error(`invalid escape sequence: \\${c}`);
    return /^[\\^$.*+?()[\]{}|/]$/.test(c) || (isInClass && c === "-") ? `\\${c}`
      : c;
  }

  class() {
    const begin = this.at;
    let inside = this.take(/^\[\^?/)[0];
    for (let isFirst = true; isFirst || this.rest()[0] !== "]"; isFirst = false) {
      if (this.at >= this.text.length)
        throw new Error(`missing closing ]: ${this.text.slice(begin)}`);
      const posix = this.take(/^\[:(\^?)([a-z]+):\]/);
      if (posix) {
        if (!Object.hasOwn(kPosixClasses, posix[2]))
          throw new Error(`invalid character class range: ${posix[0]}`);
        const ranges = kPosixClasses[posix[2]];
        inside += posix[1] ? posixComplement(ranges) : ranges;
      } else if (this.rest()[0] === "\\") {
        inside += this.escape(true);
      } else {
        const [c] = this.rest();
        this.hasCapitals ||= /\p{Lu}/u.test(c);
        // At the ends it is no range.
        const isPlain = c === "-" && (isFirst || this.text[this.at + 1] === "]");
        inside += isPlain || c === "[" || c === "]" ? `\\${c}` : c;
        this.at += c.length;
      }
    }
    this.at++;
    this.out += `${inside}]`;
  }

  group() {
    const flags = this.take(/^\(\?([imsU]*)(?:-([imsU]+))?([:)])/);
    if (flags && flags[0] !== "(?)")
      return this.setFlags(flags);
    const name = this.take(/^\(\?P?<([A-Za-z0-9_]+)>/);
    if (!name && /^\(\?/.test(this.rest()))
      throw new Error(`no such group: ${this.rest().slice(0, 4)} (there is no looking around)`);
    this.at += name ? 0 : 1;
    this.out += "(";
    this.groups.push([]);
  }

  setFlags([, on, off, end]) {
    const set = [...new Set(on)].filter((flag) => flag !== "U" && !off?.includes(flag)).join("");
    const unset = [...new Set(off)].filter((flag) => flag !== "U").join("");
    this.hasCaseFlag ||= `${set}${unset}`.includes("i");
    const open = set || unset ? `(?${set}${unset && `-${unset}`}:` : "(?:";
    if (end === ":") {
      this.out += open;
      this.groups.push([]);
    } else if (this.out === "") {  // of all of it
      for (const flag of set)
        this.flags.add(flag);
      for (const flag of unset)
        this.flags.delete(flag);
    } else {
      this.out += open;
      this.groups.at(-1).push(open);
    }
  }
}

// A regular expression of what a person typed: {pattern} or {error}. As the options of report take
// it; in a search upper and lower case differ only if a capital letter is in it, or (?i) says so.
function parsePattern(text, isSearch = true) {
  if (!text)
    return {pattern: null};
  try {
    const {out, flags, hasCaseFlag, hasCapitals} = new Re2Translator(text).translate();
    if (isSearch && !hasCaseFlag && !hasCapitals)
      flags.add("i");
    return {pattern: new RegExp(out, [...flags, "u"].join(""))};
  } catch (error) {
    return {pattern: null, error: error.message.replace(/^Invalid regular expression: /, "")};
  }
}
