// A flame graph on a canvas. The tree is as layOut() gives it; only boxes of half a pixel and more
// are visited, whatever the size of the tree.

const kRow = 18;  // pixels a call
// Calls of a piece that a sheet of paper holds, and of all pieces that are printed.
const kSheetRows = 40, kMostPrinted = 800;
const kFont = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const kSmallFont = '10.5px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

// A canvas of so many CSS pixels, sharp on any screen; cleared.
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const pixels = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
    [canvas.width, canvas.height] = pixels;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

class FlameView {
  // `host` scrolls. `on` has hover(place), select(place) and zoom(place), and window(), which is called when another part
  // of the amounts is seen; a place is that of a box in the layout, -1 for none.
  constructor(host, on) {
    this.host = host;
    this.on = on;
    this.canvas = document.createElement("canvas");
    this.space = document.createElement("div");  // as high as all calls
    this.space.append(this.canvas);
    host.append(this.space);
    this.layout = null;
    this.hovered = this.selected = -1;
    this.zoomed = 0;
    this.isUpward = false;  // the root is at the bottom
    this.begin = 0;         // what is seen, in amounts
    this.finish = 1;
    this.drawn = 0;  // boxes, the last time
    this.listen();
  }

  // `style`: {names(key, place), colourOf(place), colours (another list when they change), isMatch or null,
  // isPlain}.
  show(layout, style) {
    this.layout = layout;
    this.width = layout.width ?? layout.total;
    this.style = style;
    this.hovered = -1;
    if (this.selected >= layout.count)
      this.selected = -1;
    if (this.zoomed >= layout.count)
      this.zoomed = 0;
    this.zoomTo(this.zoomed);
  }

  zoomTo(place) {
    this.zoomed = place;
    this.begin = this.layout.start[place];
    this.finish = this.begin + this.width[place];
    this.resize();
    if (!this.isUpward)
      this.host.scrollTop = Math.max(0, (this.layout.depth[place] - 3) * kRow);
  }

  // The depth of the deepest box that is seen.
  visibleDepth() {
    let depth = 0;
    this.visit((place) => {
      depth = Math.max(depth, this.layout.depth[place]);
    });
    return depth;
  }

  resize() {
    if (!this.layout || this.host.clientWidth === 0)
      return;
    this.space.style.height = `${(this.visibleDepth() + 1) * kRow}px`;
    if (this.isUpward)
      this.host.scrollTop = this.host.scrollHeight;
    this.draw();
  }

  // On paper: pieces of the picture, each of which a sheet holds.
  beginPrint() {
    const {host, canvas} = this;
    this.endPrint();
    if (!this.layout || host.clientWidth === 0)
      return;
    const depth = this.visibleDepth() + 1, rows = Math.min(depth, kMostPrinted);
    host.style.flex = "none";
    host.style.height = `${rows * kRow}px`;
    this.resize();
    this.printed = document.createElement("div");
    this.printed.className = "printed";
    const scale = canvas.width / Math.max(1, host.clientWidth);
    for (let top = 0; top < rows; top += kSheetRows) {
      const high = Math.min(kSheetRows, rows - top) * kRow, piece = document.createElement("canvas");
      piece.width = canvas.width;
      piece.height = Math.round(high * scale);
      piece.getContext("2d").drawImage(canvas, 0, -Math.round(top * kRow * scale));
      this.printed.append(piece);
    }
    if (depth > rows)
      this.printed.append(`${formatCount(depth - rows)} more calls in depth are not printed`);
    host.style.flex = host.style.height = "";
    host.append(this.printed);
  }
  endPrint() {
    this.printed?.remove();
    this.printed = null;
  }

  // The y of a box of a depth. It asks the browser for the layout: not for each box.
  top(depth) {
    const all = this.isUpward ? Math.max(this.space.clientHeight, this.host.clientHeight) : kRow;
    return all - kRow + depth * this.rowStep() - this.host.scrollTop;
  }
  rowStep() {
    return this.isUpward ? -kRow : kRow;
  }

  // Calls visit(place, x, width in pixels) for each box that is at least half a pixel wide; what it
  // returns true for is left out with all above it.
  visit(visit) {
    const {start, end, count} = this.layout, width = this.width;
    const scale = this.host.clientWidth / Math.max(this.finish - this.begin, 1e-9);
    for (let i = 0; i < count;) {
      const wide = width[i] * scale;
      const isSeen = wide >= 0.5 && start[i] < this.finish && start[i] + width[i] > this.begin;
      i = isSeen && !visit(i, (start[i] - this.begin) * scale, wide) ? i + 1 : end[i];
    }
  }

  draw() {
    if (!this.layout)
      return;
    const began = performance.now();
    const wide = this.host.clientWidth, high = this.host.clientHeight;
    const context = sized(this.canvas, wide, high);
    const theme = themeColours();
    this.large ??= new TextMeasure(context, kFont);
    this.small ??= new TextMeasure(context, kSmallFont);
    const labels = [], top = this.top(0), step = this.rowStep(), {depth} = this.layout;
    this.drawn = 0;
    this.filled = "";
    this.visit((place, x, width) => {
      const y = top + depth[place] * step;
      if (this.isUpward ? y + kRow < 0 : y > high)
        return true;
      if (y + kRow >= 0 && y <= high)
        this.drawBox(context, theme, labels, place, Math.max(0, x), y, Math.min(wide, x + width));
      return false;
    });
    this.drawLabels(context, theme, labels);
    this.drawOutline(context, this.hovered, theme.hover, 1);
    this.drawOutline(context, this.selected, theme.text, 2);
    this.lastDraw = performance.now() - began;
  }

  drawBox(context, theme, labels, place, left, y, right) {
    const {layout, style} = this, width = right - left;
    const isInlined = place > 0 && !style.isPlain[layout.node[place]];
    const isMatch = style.isMatch && style.isMatch[layout.key[place]] === 1;
    const colour = place === 0 ? theme.root
        : isMatch ? theme.match : style.colourOf(place) ?? theme.root;
    if (colour !== this.filled)  // to set it is slow
      context.fillStyle = this.filled = colour;
    context.globalAlpha = (style.isMatch && !isMatch && place > 0) ||
        layout.depth[place] < layout.depth[this.zoomed] ? theme.dimmed : 1;
    const inset = isInlined ? 5 : 0;
    context.fillRect(left, y + inset, Math.max(0.5, width - (width > 3 ? 1 : 0)), kRow - 1 - inset);
    this.drawn++;
    if (width >= 24)
      labels.push(place, left, y, width, isInlined ? 1 : 0, isMatch ? 1 : 0);
  }

  // Draws labels font by font, for changing the font is slow.
  drawLabels(context, theme, labels) {
    context.globalAlpha = 1;
    context.textBaseline = "middle";
    context.direction = "ltr";
    for (const pass of [0, 1]) {
      const measure = pass ? this.small : this.large;
      context.font = measure.font;
      for (let i = 0; i < labels.length; i += 6) {
        if (labels[i + 4] !== pass)
          continue;
        const [place, x, y, width] = labels.slice(i, i + 4);
        const text = measure.fitName(this.style.names(this.layout.key[place], place), width - 7);
        context.fillStyle = labels[i + 5] ? theme.matchText : theme.text;
        if (text)
          context.fillText(text, x + 3, y + (pass ? 11.5 : kRow / 2 + 0.5));
      }
    }
  }

  drawOutline(context, place, colour, width) {
    if (place < 0 || place >= this.layout.count)
      return;
    const scale = this.host.clientWidth / Math.max(this.finish - this.begin, 1e-9);
    const x = Math.max(0, (this.layout.start[place] - this.begin) * scale);
    const right = Math.min(this.host.clientWidth,
      (this.layout.start[place] + this.width[place] - this.begin) * scale);
    if (right <= 0 || x >= this.host.clientWidth)
      return;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(x + width / 2, this.top(this.layout.depth[place]) + width / 2,
      Math.max(1, right - x - 1 - width), kRow - 1 - width);
  }

  // The box at a point of the host.
  at(x, y) {
    if (!this.layout)
      return -1;
    const {start, end, depth, count} = this.layout;
    const amount = this.begin + (this.finish - this.begin) * x / this.host.clientWidth;
    const top = this.top(0);
    const wanted = this.isUpward ? Math.floor((top + kRow - y) / kRow) : Math.floor((y - top) / kRow);
    for (let i = 0; i < count;) {
      const isInside = amount >= start[i] && amount < start[i] + this.width[i];
      if (isInside && depth[i] === wanted)
        return i;
      i = isInside ? i + 1 : end[i];
    }
    return -1;
  }

  // The middle of a box on the host, for tests.
  middleOf(place) {
    const scale = this.host.clientWidth / (this.finish - this.begin);
    const left = Math.max(0, (this.layout.start[place] - this.begin) * scale);
    const right = Math.min(this.host.clientWidth,
      (this.layout.start[place] + this.width[place] - this.begin) * scale);
    return [(left + right) / 2, this.top(this.layout.depth[place]) + kRow / 2];
  }

  // Shows [begin, finish) of the amounts, within all and not closer than a millionth.
  setWindow(begin, finish) {
    const all = this.width[0], size = Math.min(all, Math.max(finish - begin, all * 1e-6));
    this.begin = Math.min(Math.max(0, begin), all - size);
    this.finish = this.begin + size;
    this.draw();
    this.on.window();
  }

  select(place) {
    this.selected = place;
    this.reveal(place);
    this.draw();
    this.on.select(place);
  }

  reveal(place) {
    if (place < 0)
      return;
    const {start} = this.layout, width = this.width;
    if (start[place] >= this.finish || start[place] + width[place] <= this.begin)
      this.setWindow(start[place] - (this.finish - this.begin) / 2 + width[place] / 2,
        start[place] + (this.finish - this.begin) / 2 + width[place] / 2);
    const y = this.top(this.layout.depth[place]);
    if (y < 0)
      this.host.scrollTop += y;
    else if (y + kRow > this.host.clientHeight)
      this.host.scrollTop += y + kRow - this.host.clientHeight;
  }

  listen() {
    const {host} = this;
    const point = (event) => {
      const box = host.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let held = null;  // where the pointer went down
    host.addEventListener("scroll", () => this.draw(), {passive: true});
    host.addEventListener("pointerdown", (event) => {
      const [x] = point(event);
      if (event.button === 0 && event.target !== host && x < host.clientWidth)
        held = {x: event.clientX, y: event.clientY, begin: this.begin, top: host.scrollTop,
          isDrag: false, isMouse: event.pointerType === "mouse"};
    });
    host.addEventListener("pointermove", (event) => {
      if (held && event.buttons & 1)
        this.drag(held, event);
      else
        this.hover(this.at(...point(event)));
    });
    host.addEventListener("pointerup", (event) => {
      const place = held && !held.isDrag ? this.at(...point(event)) : -1;
      held = null;
      if (place >= 0)
        this.click(place);
    });
    host.addEventListener("pointerleave", () => this.hover(-1));
    host.addEventListener("wheel", (event) => this.wheel(event, point(event)[0]), {passive: false});
    host.addEventListener("keydown", (event) => this.key(event));
  }

  hover(place) {
    if (place === this.hovered)
      return;
    this.hovered = place;
    this.host.classList.toggle("over", place >= 0);
    this.draw();
    this.on.hover(place);
  }

  drag(held, event) {
    const right = event.clientX - held.x, down = event.clientY - held.y;
    held.isDrag ||= Math.hypot(right, down) > 4;
    if (!held.isDrag)
      return;
    if (!this.host.hasPointerCapture(event.pointerId))
      this.host.setPointerCapture(event.pointerId);
    if (held.isMouse)
      this.host.scrollTop = held.top - down;
    const size = this.finish - this.begin;
    const begin = held.begin - right * size / this.host.clientWidth;
    this.setWindow(begin, begin + size);
  }

  click(place) {
    this.selected = place;
    this.on.select(place);
    this.on.zoom(place);
  }

  // With Ctrl or Alt it zooms at the pointer, sideways it pans; else the host scrolls.
  wheel(event, x) {
    if (!this.layout)
      return;
    const size = this.finish - this.begin, unit = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      const factor = Math.exp(event.deltaY * unit * 0.003);
      const at = this.begin + size * x / this.host.clientWidth;
      this.setWindow(at - (at - this.begin) * factor, at + (this.finish - at) * factor);
    } else if (event.deltaX || event.shiftKey) {
      event.preventDefault();
      const by = (event.deltaX || event.deltaY) * unit * size / this.host.clientWidth;
      this.setWindow(this.begin + by, this.finish + by);
    }
  }

  // The box beside one: its sibling, or the next of the same depth that is seen.
  beside(place, step) {
    const {depth} = this.layout, seen = [];
    this.visit((each) => {
      if (depth[each] === depth[place])
        seen.push(each);
      return depth[each] >= depth[place];
    });
    const at = seen.indexOf(place);
    return at < 0 ? seen[0] ?? place : seen[Math.min(seen.length - 1, Math.max(0, at + step))];
  }

  key(event) {
    if (!this.layout || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const place = this.selected < 0 ? this.zoomed : this.selected;
    const {parent, end, depth} = this.layout;
    const child = place + 1 < end[place] ? place + 1 : place;
    const up = this.isUpward ? child : Math.max(0, parent[place]);
    const down = this.isUpward ? Math.max(0, parent[place]) : child;
    const size = this.finish - this.begin, middle = (this.begin + this.finish) / 2;
    const moves = {
      ArrowUp: () => this.select(up), ArrowDown: () => this.select(down),
      k: () => this.select(up), j: () => this.select(down),
      ArrowLeft: () => this.select(this.beside(place, -1)),
      ArrowRight: () => this.select(this.beside(place, 1)),
      h: () => this.select(this.beside(place, -1)), l: () => this.select(this.beside(place, 1)),
      Home: () => this.select(0),
      Enter: () => this.on.zoom(place),
      "+": () => this.setWindow(middle - size / 4, middle + size / 4),
      "-": () => this.setWindow(middle - size, middle + size),
      "<": () => this.setWindow(this.begin - size / 4, this.finish - size / 4),
      ">": () => this.setWindow(this.begin + size / 4, this.finish + size / 4),
    };
    if (!moves[event.key] || depth.length === 0)
      return;
    event.preventDefault();
    moves[event.key]();
  }
}

// The whole tree as a strip, with what the flame graph shows of it; a drag moves that.
class OverviewRow {
  constructor(canvas, flame) {
    this.canvas = canvas;
    this.flame = flame;
    const move = (event) => {
      if (!(event.buttons & 1) || !flame.layout)
        return;
      const box = canvas.getBoundingClientRect(), all = flame.width[0];
      const size = Math.min(flame.finish - flame.begin, all * 0.999);
      const middle = (event.clientX - box.left) / box.width * all;
      flame.setWindow(middle - size / 2, middle + size / 2);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    canvas.addEventListener("pointermove", move);
  }

  // The picture of the tree is kept as long as that is the same.
  draw() {
    const {flame, canvas} = this, {layout} = flame;
    const wide = flame.host.clientWidth, high = 28;  // without a scroll bar
    if (!layout || wide === 0)
      return;
    if (this.of !== layout || this.colours !== flame.style.colours || this.wide !== wide) {
      Object.assign(this, {of: layout, colours: flame.style.colours, wide,
        deepest: this.findDeepest(layout, flame.width)});
      this.picture ??= document.createElement("canvas");
      this.drawTree(sized(this.picture, wide, high), wide, high, null);
    }
    const context = sized(canvas, wide, high), theme = themeColours(), {isMatch} = flame.style;
    context.drawImage(this.picture, 0, 0, wide, high);
    if (isMatch)
      this.drawTree(context, wide, high, isMatch);
    const scale = wide / Math.max(flame.width[0], 1e-9);
    const left = flame.begin * scale, right = flame.finish * scale;
    context.fillStyle = theme.veil;
    context.fillRect(0, 0, left, high);
    context.fillRect(right, 0, wide - right, high);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, Math.max(2, right - left - 1.5), high - 1.5);
  }

  // Down to where there is a hundredth of all: a deep recursion would leave the rest no room.
  findDeepest({count, depth, maxDepth}, width) {
    const sums = new Float64Array(maxDepth + 1);
    for (let i = 0; i < count; i++)
      sums[depth[i]] += width[i];
    return sums.findLastIndex((sum) => sum >= width[0] / 100);
  }

  // All calls, or those that match.
  drawTree(context, wide, high, matches) {
    const {flame: {style, width}, of: {start, end, depth, key, count}, deepest} = this;
    const scale = wide / Math.max(width[0], 1e-9), row = high / (deepest + 1);
    const theme = themeColours();
    // One of the calls that share a row of pixels is drawn.
    const hasRow = (i) => i === 1 || Math.floor(i * row) > Math.floor((i - 1) * row);
    for (let i = 0; i < count;) {
      const isSeen = width[i] * scale >= 0.5 && depth[i] <= deepest;
      if (isSeen && i > 0 && (matches ? matches[key[i]] : hasRow(depth[i]))) {
        context.fillStyle = matches ? theme.match : style.colourOf(i) ?? theme.root;
        context.fillRect(start[i] * scale, depth[i] * row, width[i] * scale, Math.max(row, 1));
      }
      i = isSeen ? i + 1 : end[i];
    }
  }
}
