// Points without WebGL: discs written into the pixels of a canvas, opaque, the later on top.
class CanvasPoints {
  static make(canvas) {
    return new CanvasPoints(canvas);
  }

  constructor(canvas) {
    this.name = "canvas";
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  layouts(before, after) {
    [this.before, this.after] = [before, after];
  }

  colors(rgba) {
    this.pixels = new Uint32Array(rgba.buffer);
  }

  draw(view, blend, size) {
    const image = this.cleared();
    this.scatter(new Uint32Array(image.data.buffer), view, blend, discOf(size));
    this.context.putImageData(image, 0, 0);
  }

  // A blank image of the size of the canvas, reused while that size stays.
  cleared() {
    const { width, height } = this.canvas;
    if (this.image?.width === width && this.image.height === height) this.image.data.fill(0);
    else this.image = this.context.createImageData(width, height);
    return this.image;
  }

  scatter(out, view, blend, { offsets, reach }) {
    const { before, after, pixels } = this;
    const { width, height } = this.canvas;
    const jumps = new Int32Array(offsets.length / 2);
    for (let k = 0; k < jumps.length; k++) jumps[k] = offsets[2 * k + 1] * width + offsets[2 * k];
    const left = width / 2 - view.x * view.zoom + 0.5;
    const top = height / 2 + view.y * view.zoom + 0.5;
    for (let i = 0; i < pixels.length; i++) {
      const x = before[2 * i] + blend * (after[2 * i] - before[2 * i]);
      const y = before[2 * i + 1] + blend * (after[2 * i + 1] - before[2 * i + 1]);
      const column = Math.floor(left + x * view.zoom);
      const row = Math.floor(top - y * view.zoom);
      if (column >= reach && column < width - reach && row >= reach && row < height - reach) {
        const place = row * width + column;
        for (let k = 0; k < jumps.length; k++) out[place + jumps[k]] = pixels[i];
      } else {
        for (let k = 0; k < offsets.length; k += 2) {
          const c = column + offsets[k];
          const r = row + offsets[k + 1];
          if (c >= 0 && c < width && r >= 0 && r < height) out[r * width + c] = pixels[i];
        }
      }
    }
  }
}

// Offsets of the pixels of a disc; a little more than its radius makes small ones round.
function discOf(size) {
  const [radius, reach] = [size / 2 + 0.3, Math.ceil(size / 2)];
  const offsets = [];
  for (let r = -reach; r <= reach; r++) {
    for (let c = -reach; c <= reach; c++) {
      if (c * c + r * r <= radius * radius) offsets.push(c, r);
    }
  }
  return { offsets: Int32Array.from(offsets), reach };
}
