// What the page shows, as one value, and that value as the hash of the address: a link opens the
// same view again.

const kInitialState = {
  view: "flame",     // flame, tree, around, table
  by: "function",    // kDimensions: what a box is
  invert: false,     // from the leaf
  up: false,         // the root is at the bottom
  colour: "kind",    // kColours
  group: "",         // one of ownerDimensions()
  event: 0,
  filters: {},       // id of a dimension of owners -> texts of it that are shown
  only: "",          // regular expressions: stacks with, without such a frame
  without: "",
  search: "",
  range: null,       // steps [begin, end)
  zoom: 0,           // node of the tree
  around: "",        // text of the key that callers and callees are of
  sort: "self",
  ascending: false,
  rows: "",          // of the heat map: a dimension of owners, or "within" a second; "": the first
};

const kViews = {table: "Functions", tree: "Call tree", around: "Callers & callees",
  flame: "Flame graph"};
// What changed is known of pages that compare, which begin with it.
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

const escapedPattern = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

// A regular expression of what a person typed: {pattern} or {error}. Upper and lower case differ if
// a capital letter is in it.
function parsePattern(text) {
  if (!text)
    return {pattern: null};
  const hasCapitals = /[A-Z]/.test(text.replace(/\\./g, ""));
  try {
    return {pattern: new RegExp(text, hasCapitals ? "u" : "iu")};
  } catch {
    // What is no expression with Unicode rules may be one without them.
  }
  try {
    return {pattern: new RegExp(text, hasCapitals ? "" : "i")};
  } catch (error) {
    return {pattern: null, error: error.message.replace(/^Invalid regular expression: /, "")};
  }
}
