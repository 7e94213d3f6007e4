// The heat map: time from left to right; from top to bottom threads, or processes, or what lies
// within a second. Above it the load of all. A drag selects time.

const kBars = 26;   // pixels, of the load
const kAxis = 16;
const kMaxRows = 24;  // the others are one row

// The axis of time: from `begin` to `end` in nanoseconds, drawn from `left` to `wide`, below `top`. Which texts it has.
function drawTicks(context, measure, {begin, end, left, wide, top}) {
  const texts = [];
  for (const {ns, text} of timeTicks(begin, end, Math.max(1, Math.floor((wide - left) / 80)))) {
    const x = left + (ns - begin) / (end - begin) * (wide - left), half = measure.widthOf(text) / 2;
    context.fillRect(Math.min(x, wide - 1), top, 1, 3);
    context.textAlign = x - half < left ? "left" : x + half > wide ? "right" : "center";
    context.fillText(text, x, top + kAxis / 2 + 2);
    texts.push(text);
  }
  context.textAlign = "left";
  return texts;
}

class HeatView {
  // `on` has select(begin, end) of steps, and open(title) of a row.
  constructor(host, on) {
    this.host = host;
    this.on = on;
    this.canvas = host.querySelector("canvas");
    this.tip = host.querySelector(".tip");
    this.cursor = null;  // steps [begin, end) that the keyboard has chosen
    this.listen();
  }

  // Shows the samples that are selected but for the time; `rowDimension` is one of
  // ownerDimensions(), or null for the time within a second.
  show(profile, amounts, rowDimension, event) {
    Object.assign(this, {profile, amounts, rowDimension, event});
    const {steps} = profile.samples;
    // Rows within a second need several steps of each, and more than a second.
    const perSecond = profile.stepNs > 0 ? Math.round(1e9 / profile.stepNs) : 0;
    this.isWithin = !rowDimension && perSecond > 1 && steps > perSecond;
    this.perSecond = perSecond;
    this.rowsOf();
    this.draw();
  }

  // The rows with the most, those of the others being one.
  rowsOf() {
    this.titles = [];
    this.ends = [];
    if (!this.rowDimension)
      return;
    const {of, values} = this.rowDimension, {owner} = this.profile.samples;
    const sums = new Float64Array(values.length);
    for (let i = 0; i < this.amounts.length; i++)
      sums[of[owner[i]]] += this.amounts[i];
    const ranked = [...values.keys()].filter((value) => sums[value] > 0)
        .sort((a, b) => sums[b] - sums[a]);
    const hasOthers = ranked.length > kMaxRows;
    const shown = hasOthers ? ranked.slice(0, kMaxRows - 1) : ranked;
    this.rowOfValue = new Int32Array(values.length).fill(hasOthers ? shown.length : -1);
    shown.forEach((value, row) => {
      this.rowOfValue[value] = row;
    });
    this.titles = shown.map((value) => values[value]);
    this.ends = differingEnds(this.titles);
    if (hasOthers)
      this.titles.push(`${formatCount(ranked.length - shown.length)} others`);
  }

  // Arranges steps as rows and columns for the width that there is.
  measure() {
    const {steps} = this.profile.samples;
    const wide = this.wide = this.host.clientWidth - 2 * this.canvas.offsetLeft;
    this.left = this.rowDimension ? Math.min(170, Math.max(70, wide * 0.16)) : 44;
    // Columns are three pixels wide or more.
    const space = Math.max(50, wide - this.left);
    if (this.isWithin) {
      this.rows = Math.min(25, this.perSecond);
      const seconds = Math.ceil(steps / this.perSecond);
      this.perColumn = this.perSecond * Math.ceil(seconds / (space / 3));
      this.rowHeight = 4;
    } else {
      this.rows = this.titles.length;
      this.perColumn = Math.ceil(steps / (space / 3));
      this.rowHeight = this.rows > 12 ? 10 : 13;
    }
    this.columns = Math.ceil(steps / this.perColumn);
    this.pixels = space / (steps / this.perColumn);  // a column
    this.bottom = kBars + this.rows * this.rowHeight;
  }

  cells() {
    const {columns, perColumn, rows, perSecond} = this;
    if (this.isWithin)
      return heatCells(this.profile, this.amounts, rows, columns, (owner, step) =>
        Math.floor((step % perSecond) * rows / perSecond) * columns + Math.floor(step / perColumn));
    const {of} = this.rowDimension ?? {};
    const rowOf = this.rowOfValue;
    return heatCells(this.profile, this.amounts, rows, columns, (owner, step) =>
      of ? rowOf[of[owner]] * columns + Math.floor(step / perColumn) : -1);
  }

  draw() {
    if (!this.profile || this.host.clientWidth === 0)
      return;
    this.measure();
    const {wide} = this;
    const context = sized(this.canvas, wide, this.bottom + kAxis);
    const theme = themeColours();
    const {cells, rows, columns, max} = this.heat = this.cells();
    const load = heatCells(this.profile, this.amounts, 1, columns,
      (owner, step) => Math.floor(step / this.perColumn));
    this.load = load;
    for (let column = 0; column < columns; column++) {
      const x = this.left + column * this.pixels, size = Math.max(1, this.pixels - 0.5);
      const high = load.max ? (kBars - 4) * load.cells[column] / load.max : 0;
      context.fillStyle = theme.bar;
      context.fillRect(x, kBars - 1 - high, size, high);
      for (let row = 0; row < rows; row++) {
        const amount = cells[row * columns + column];
        if (amount === 0)
          continue;
        // By the square root: else all but the largest would look empty.
        context.fillStyle = theme.heat[Math.ceil((theme.heat.length - 1) * Math.sqrt(amount / max))];
        context.fillRect(x, kBars + row * this.rowHeight, size, this.rowHeight - 1);
      }
    }
    this.drawTexts(context, theme);
    this.drawSelection(context, theme);
  }

  drawTexts(context, theme) {
    context.font = kSmallFont;
    this.text ??= new TextMeasure(context, kSmallFont);
    context.font = kSmallFont;
    context.fillStyle = theme.dim;
    context.textBaseline = "middle";
    context.textAlign = "right";
    if (this.left > 100)  // else the choice of rows stands there
      context.fillText("all", this.left - 6, kBars - 8);
    this.shownTitles = this.titles.map((title, row) => this.text.fitEnds(title, this.left - 10, this.ends[row]));
    this.shownTitles.forEach((title, row) => context.fillText(title, this.left - 6,
      kBars + (row + 0.5) * this.rowHeight));
    if (this.isWithin) {
      context.fillText("0 ms", this.left - 6, kBars + 5);
      context.fillText("1 s", this.left - 6, this.bottom - 5);
    }
    const {stepNs} = this.profile, end = this.profile.samples.steps * stepNs;
    this.ticks = drawTicks(context, this.text, {begin: 0, end, left: this.left, wide: this.wide, top: this.bottom});
  }

  drawSelection(context, theme) {
    const shown = this.dragged ?? this.range;
    if (!shown)
      return;
    const left = this.xOf(shown[0]), right = Math.max(left + 1, this.xOf(shown[1]));
    context.fillStyle = theme.veil;
    context.fillRect(this.left, 0, left - this.left, this.bottom);
    context.fillRect(right, 0, this.wide - right, this.bottom);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left, 0.75, right - left, this.bottom - 1.5);
  }

  xOf(step) {
    return this.left + step / this.perColumn * this.pixels;
  }

  stepAt(x) {
    const column = Math.floor((x - this.left) / this.pixels);
    return Math.min(this.columns - 1, Math.max(0, column)) * this.perColumn;
  }

  // [begin, end) in steps, or null for all.
  setRange(range) {
    this.range = range;
    this.dragged = null;
    this.draw();
  }

  listen() {
    const {canvas} = this;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.profile)
        return;
      canvas.setPointerCapture(event.pointerId);
      from = this.stepAt(place(event)[0]);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.profile)
        return;
      const [x, y] = place(event), step = this.stepAt(x);
      this.showTip(x, y);
      if (from === null || !(event.buttons & 1))
        return;
      this.dragged = this.between(from, step);
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      const dragged = this.dragged;
      const isClick = from !== null && !dragged;
      from = null;
      this.dragged = null;
      const [x, y] = place(event), row = Math.floor((y - kBars) / this.rowHeight);
      if (dragged)
        this.on.select(...dragged);
      else if (isClick && x < this.left && this.ends?.[row] !== undefined)
        this.on.open(this.titles[row]);
      else if (isClick && this.range)
        this.on.select(0, Infinity);
    });
    canvas.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  between(a, b) {
    return [Math.min(a, b), Math.min(this.profile.samples.steps, Math.max(a, b) + this.perColumn)];
  }

  showTip(x, y) {
    const column = Math.floor((x - this.left) / this.pixels);
    this.tip.hidden = column < 0 || column >= this.columns;
    if (this.tip.hidden)
      return;
    const row = Math.floor((y - kBars) / this.rowHeight);
    const isRow = row >= 0 && row < this.rows;
    const amount = isRow ? this.heat.cells[row * this.columns + column] : this.load.cells[column];
    const {stepNs} = this.profile, begin = column * this.perColumn * stepNs;
    const title = isRow && this.titles[row] ? `${clipped(this.titles[row])} · ` : "";
    this.tip.textContent = `${title}${formatClock(begin, this.perColumn * stepNs)} · ` +
        formatAmount(amount, this.event);
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.wide - 220))}px`;
    this.tip.style.top = `${y + 14}px`;
  }

  // Arrows move what is selected, with Shift its end; Escape selects all.
  key(event) {
    if (!this.profile || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const {steps} = this.profile.samples;
    const unit = this.perColumn * Math.max(1, Math.round(this.columns / 50));
    let [begin, end] = this.range ?? [0, Math.min(steps, unit)];
    const by = {ArrowLeft: -unit, ArrowRight: unit}[event.key];
    if (by && event.shiftKey) {
      end = Math.min(steps, Math.max(begin + unit, end + by));
    } else if (by && this.range) {
      const moved = Math.min(Math.max(by, -begin), steps - end);
      begin += moved;
      end += moved;
    } else if (event.key === "Home" || event.key === "End") {
      const moved = event.key === "Home" ? -begin : steps - end;
      begin += moved;
      end += moved;
    } else if (!by) {
      return;
    }
    event.preventDefault();
    this.on.select(begin, end);
  }

  // The beginning or the end, one fiftieth of all earlier or later: the keys [ and ].
  move(isEnd, by) {
    if (!this.profile)
      return;
    const {steps} = this.profile.samples;
    const unit = Math.max(1, Math.round(steps / 50));
    let [begin, end] = this.range ?? [0, steps];
    if (isEnd)
      end = Math.min(steps, Math.max(begin + 1, end + by * unit));
    else
      begin = Math.max(0, Math.min(end - 1, begin + by * unit));
    this.on.select(begin, end);
  }
}
