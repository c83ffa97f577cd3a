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

  colours(rgba) {
    this.pixels = new Uint32Array(rgba.buffer);
  }

  draw(view, blend, size) {
    const { width, height } = this.canvas;
    const image = this.context.createImageData(width, height);
    const out = new Uint32Array(image.data.buffer);
    const disc = discOf(size);
    for (let i = 0; i < this.pixels.length; i++) {
      const x = this.before[2 * i] + blend * (this.after[2 * i] - this.before[2 * i]);
      const y = this.before[2 * i + 1] + blend * (this.after[2 * i + 1] - this.before[2 * i + 1]);
      const column = Math.round((x - view.x) * view.zoom + width / 2);
      const row = Math.round((view.y - y) * view.zoom + height / 2);
      for (let k = 0; k < disc.length; k += 2) {
        const [c, r] = [column + disc[k], row + disc[k + 1]];
        if (c >= 0 && c < width && r >= 0 && r < height) out[r * width + c] = this.pixels[i];
      }
    }
    this.context.putImageData(image, 0, 0);
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
  return Int32Array.from(offsets);
}
