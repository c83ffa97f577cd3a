// The stage: canvas and view, pan and zoom, and the point under the cursor.
const REACH = 9; // pixels around the cursor

class Stage {
  constructor(element, onHover) {
    this.element = element;
    this.onHover = onHover;
    this.view = { x: 0, y: 0, zoom: 1 }; // zoom: device pixels in a unit of the layout
    this.fitted = true;
    this.blend = 1;
    this.size = 4;
    this.shown = () => true;
    if (!this.install(WebGLPoints)) this.install(CanvasPoints);
    new ResizeObserver(() => this.resize()).observe(element);
    this.listen();
  }

  install(kind) {
    this.canvas?.remove();
    this.canvas = document.createElement("canvas");
    this.element.prepend(this.canvas);
    this.points = kind.make(this.canvas);
    this.element.dataset.renderer = this.points?.name;
    this.canvas.addEventListener("webglcontextlost", () => this.fallBack());
    return this.points;
  }

  fallBack() {
    this.install(CanvasPoints);
    this.points.layouts(this.before, this.after);
    this.points.colors(this.rgba);
    this.resize();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(this.element.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.element.clientHeight * ratio));
    if (this.fitted && this.after) this.view = this.fitOf(this.after);
    this.draw();
  }

  paint(rgba) {
    this.rgba = rgba;
    this.points.colors(rgba);
    this.draw();
  }

  // Show a layout; with a time in milliseconds, points travel there.
  show(xy, time = 0) {
    this.before = this.after && time ? this.present() : xy;
    this.after = xy;
    this.points.layouts(this.before, this.after);
    this.grid = null;
    const [from, to] = [this.view, this.fitted ? this.fitOf(xy) : this.view];
    const start = performance.now();
    const travel = ++this.travels || (this.travels = 1);
    const move = (now) => {
      if (travel !== this.travels) return;
      const t = time ? Math.max(0, Math.min(1, (now - start) / time)) : 1;
      this.blend = t * t * (3 - 2 * t);
      if (this.fitted) this.view = between(from, to, this.blend);
      this.draw();
      if (t < 1) requestAnimationFrame(move);
    };
    this.blend = time ? 0 : 1;
    if (time) requestAnimationFrame(move);
    else move(start);
  }

  // Where the points are now, also half way between two layouts.
  present() {
    const { before, after, blend } = this;
    if (blend === 1) return after;
    const there = new Float32Array(after.length);
    for (let k = 0; k < there.length; k++) there[k] = before[k] + blend * (after[k] - before[k]);
    return there;
  }

  fitOf(xy) {
    const [left, right, bottom, top] = boxOf(xy);
    const across = this.canvas.width / (right - left || 1);
    const up = this.canvas.height / (top - bottom || 1);
    return { x: (left + right) / 2, y: (bottom + top) / 2, zoom: 0.92 * Math.min(across, up) };
  }

  fit() {
    this.fitted = true;
    this.show(this.after);
  }

  draw() {
    if (!this.rgba || !this.after) return;
    this.points.draw(this.view, this.blend, this.size * this.ratio);
    this.onHover(-1);
  }

  // The place of a point on the stage, in CSS pixels.
  placeOf(i) {
    const { view, ratio, canvas } = this;
    const [x, y] = [this.after[2 * i], this.after[2 * i + 1]];
    return [((x - view.x) * view.zoom + canvas.width / 2) / ratio,
            ((view.y - y) * view.zoom + canvas.height / 2) / ratio];
  }

  // The place in the layout under a place on the stage.
  under(x, y) {
    const { view, ratio, canvas } = this;
    return [view.x + (x * ratio - canvas.width / 2) / view.zoom,
            view.y - (y * ratio - canvas.height / 2) / view.zoom];
  }

  pointAt(x, y) {
    if (this.blend < 1) return -1; // points are moving
    this.grid ??= new Grid(this.after);
    return this.grid.nearest(...this.under(x, y), (REACH * this.ratio) / this.view.zoom, this.shown);
  }

  pan(dx, dy) {
    const { zoom } = this.view;
    this.move({ x: this.view.x - (dx * this.ratio) / zoom, y: this.view.y + (dy * this.ratio) / zoom, zoom });
  }

  zoom(factor, x, y) {
    const [a, b] = this.under(x, y);
    const { view } = this;
    this.move({ x: a + (view.x - a) / factor, y: b + (view.y - b) / factor, zoom: view.zoom * factor });
  }

  move(view) {
    this.fitted = false;
    this.view = view;
    this.draw();
  }

  listen() {
    const { element } = this;
    const place = (event) => {
      const box = element.getBoundingClientRect();
      return [event.clientX - box.left - element.clientLeft, event.clientY - box.top - element.clientTop];
    };
    let last = null;
    element.addEventListener("pointerdown", (event) => {
      last = place(event);
      element.setPointerCapture(event.pointerId);
      element.classList.add("dragging");
    });
    const drop = () => { last = null; element.classList.remove("dragging"); };
    element.addEventListener("pointerup", drop);
    element.addEventListener("pointercancel", drop);
    element.addEventListener("pointerleave", () => this.onHover(-1));
    element.addEventListener("pointermove", (event) => {
      const now = place(event);
      if (last) this.pan(now[0] - last[0], now[1] - last[1]);
      else this.onHover(this.pointAt(...now));
      if (last) last = now;
    });
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-Math.max(-300, Math.min(300, event.deltaY)) / 400), ...place(event));
    }, { passive: false });
    element.addEventListener("dblclick", () => this.fit());
    element.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const [x, y] = [this.element.clientWidth / 2, this.element.clientHeight / 2];
    const keys = {
      ArrowLeft: () => this.pan(40, 0), ArrowRight: () => this.pan(-40, 0),
      ArrowUp: () => this.pan(0, 40), ArrowDown: () => this.pan(0, -40),
      "+": () => this.zoom(1.25, x, y), "-": () => this.zoom(0.8, x, y), 0: () => this.fit(),
    };
    if (!(event.key in keys) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  }
}

function between(from, to, t) {
  const mix = (a, b) => a + t * (b - a);
  return { x: mix(from.x, to.x), y: mix(from.y, to.y), zoom: from.zoom * (to.zoom / from.zoom) ** t };
}
