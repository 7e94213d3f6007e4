// A table of any length: only the rows that are seen are elements. One component is the table of
// functions and the call tree. Follows the ARIA patterns "grid" and "treegrid": the host has the
// focus, the row that is meant is its active descendant.

const kGridRow = 22;
const kMostPrintedRows = 1000;

class Grid {
  // columns: [{id, title, hint, isNumber, isSorted}]; `on` has sort(id), choose(row), open(row),
  // toggle(row, isOpen) for trees (isOpen undefined: the other way). `fill(row, cells)` writes the
  // text of a row's cells and returns {level, isOpen (undefined: no children), isMatch}.
  constructor(host, label, columns, on) {
    Object.assign(this, {host, columns, on, count: 0, active: -1, elements: [], id: host.id});
    this.isTree = Boolean(on.toggle);
    host.setAttribute("role", this.isTree ? "treegrid" : "grid");
    host.setAttribute("aria-label", label);
    host.setAttribute("aria-colcount", columns.length);
    host.tabIndex = 0;
    this.head = document.createElement("div");
    this.head.className = "row head";
    this.head.setAttribute("role", "row");
    this.head.setAttribute("aria-rowindex", "1");
    this.headers = columns.map((column) => this.header(column));
    this.head.append(...this.headers);
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", "rowgroup");
    host.append(this.head, this.space);
    host.addEventListener("scroll", () => this.draw(), {passive: true});
    host.addEventListener("keydown", (event) => this.key(event));
    this.space.addEventListener("click", (event) => this.click(event));
    this.space.addEventListener("dblclick", (event) => {
      const row = this.rowOf(event);
      if (row >= 0)
        on.open(row);
    });
  }

  header(column) {
    const cell = document.createElement("div");
    cell.setAttribute("role", "columnheader");
    cell.className = `cell ${column.id}${column.isNumber ? " number" : ""}`;
    if (!column.isSorted) {
      cell.textContent = column.title;
      return cell;
    }
    const button = document.createElement("button");
    button.textContent = column.title;
    button.title = column.hint ?? `sort by ${column.title.toLowerCase()}`;
    button.addEventListener("click", () => this.on.sort(column.id));
    cell.append(button);
    return cell;
  }

  show(count, fill, sortedBy, isAscending) {
    Object.assign(this, {count, fill});
    this.host.setAttribute("aria-rowcount", count + 1);
    this.space.style.height = `${count * kGridRow}px`;
    this.columns.forEach((column, i) => {
      const isSorted = column.id === sortedBy;
      this.headers[i].classList.toggle("sorted", isSorted);
      if (column.isSorted)
        this.headers[i].setAttribute("aria-sort",
          !isSorted ? "none" : isAscending ? "ascending" : "descending");
    });
    if (this.active >= count)
      this.active = count - 1;
    this.draw();
  }

  // On paper there is no scrolling: all rows are elements, and where that is too many it is told.
  beginPrint() {
    this.endPrint();
    if (!this.fill || this.host.clientHeight === 0)
      return;
    this.isPrinted = true;
    this.draw();
    if (this.count <= kMostPrintedRows)
      return;
    this.more = document.createElement("p");
    this.more.textContent = `${formatCount(this.count - kMostPrintedRows)} more rows are not printed`;
    this.host.after(this.more);
  }
  endPrint() {
    this.isPrinted = false;
    this.more?.remove();
    this.more = null;
  }

  draw() {
    if (!this.fill || this.host.clientHeight === 0)
      return;
    // Some rows more than are seen, so that scrolling shows no gap before the next drawing.
    const first = this.isPrinted ? 0 : Math.max(0, Math.floor(this.host.scrollTop / kGridRow) - 2);
    const last = Math.min(this.count, this.isPrinted ? kMostPrintedRows
      : first + Math.ceil(this.host.clientHeight / kGridRow) + 5);
    while (this.elements.length < last - first)
      this.elements.push(this.rowElement());
    this.elements.forEach((element, i) => this.fillRow(element, first + i, first + i < last));
    const active = this.elements.find((each) => each.row === this.active && !each.element.hidden);
    if (active)
      this.host.setAttribute("aria-activedescendant", active.element.id);
    else
      this.host.removeAttribute("aria-activedescendant");
  }

  rowElement() {
    const element = document.createElement("div");
    element.className = "row";
    element.id = `${this.id}-row${this.elements.length}`;
    element.setAttribute("role", "row");
    const cells = this.columns.map((column) => {
      const cell = document.createElement("div");
      cell.className = `cell ${column.id}${column.isNumber ? " number" : ""}`;
      cell.setAttribute("role", "gridcell");
      element.append(cell);
      return cell;
    });
    this.space.append(element);
    return {element, cells, row: -1};
  }

  fillRow(entry, row, isUsed) {
    const {element, cells} = entry;
    element.hidden = !isUsed;
    entry.row = row;
    if (!isUsed)
      return;
    element.style.top = `${row * kGridRow}px`;
    element.setAttribute("aria-rowindex", row + 2);
    element.setAttribute("aria-selected", row === this.active);
    const {level, isOpen, isMatch} = this.fill(row, cells);
    element.classList.toggle("match", Boolean(isMatch));
    if (!this.isTree)
      return;
    element.setAttribute("aria-level", level);
    if (isOpen === undefined)
      element.removeAttribute("aria-expanded");
    else
      element.setAttribute("aria-expanded", isOpen);
  }

  rowOf(event) {
    const element = event.target.closest(".row");
    return this.elements.find((each) => each.element === element)?.row ?? -1;
  }

  click(event) {
    const row = this.rowOf(event);
    if (row < 0)
      return;
    if (this.isTree && event.target.closest(".twist"))
      this.on.toggle(row);
    this.choose(row);
  }

  choose(row, isMiddle = false) {
    this.active = Math.max(0, Math.min(this.count - 1, row));
    const top = this.active * kGridRow, {host} = this;
    const high = host.clientHeight - kGridRow;  // without the head
    if (isMiddle)
      host.scrollTop = top - high / 2;
    else if (top < host.scrollTop)
      host.scrollTop = top;
    else if (top + kGridRow > host.scrollTop + high)
      host.scrollTop = top + kGridRow - high;
    this.draw();
    if (this.count > 0)
      this.on.choose(this.active);
  }

  key(event) {
    if (event.target !== this.host || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const page = Math.max(1, Math.floor(this.host.clientHeight / kGridRow) - 2);
    const at = Math.max(0, this.active);
    const moves = {
      ArrowDown: () => this.choose(this.active + 1), j: () => this.choose(this.active + 1),
      ArrowUp: () => this.choose(at - 1), k: () => this.choose(at - 1),
      PageDown: () => this.choose(at + page), PageUp: () => this.choose(at - page),
      Home: () => this.choose(0), End: () => this.choose(this.count - 1),
      Enter: () => this.count && this.on.open(at),
    };
    if (this.isTree)
      Object.assign(moves, {
        ArrowRight: () => this.on.toggle(at, true), ArrowLeft: () => this.on.toggle(at, false),
        " ": () => this.on.toggle(at),
      });
    if (!moves[event.key])
      return;
    event.preventDefault();
    moves[event.key]();
  }
}
