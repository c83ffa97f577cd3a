// The nearest point to a place, by a grid of buckets: points sorted by bucket, as a counting sort.
class Grid {
  constructor(xy) {
    this.xy = xy;
    [this.left, this.right, this.bottom, this.top] = boxOf(xy);
    const n = xy.length / 2;
    this.m = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(n / 2))));
    this.width = (this.right - this.left) / this.m || 1;
    this.height = (this.top - this.bottom) / this.m || 1;
    this.starts = new Uint32Array(this.m * this.m + 1);
    const bucket = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      bucket[i] = this.row(xy[2 * i + 1]) * this.m + this.column(xy[2 * i]);
      this.starts[bucket[i] + 1]++;
    }
    for (let b = 0; b < this.m * this.m; b++) this.starts[b + 1] += this.starts[b];
    const next = this.starts.slice();
    this.points = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.points[next[bucket[i]]++] = i;
  }

  column(x) {
    return Math.max(0, Math.min(this.m - 1, Math.floor((x - this.left) / this.width)));
  }

  row(y) {
    return Math.max(0, Math.min(this.m - 1, Math.floor((y - this.bottom) / this.height)));
  }

  // The index of the nearest point within a radius for which `shown` holds, or -1.
  nearest(x, y, radius, shown) {
    let [best, least] = [-1, radius * radius];
    for (let r = this.row(y - radius); r <= this.row(y + radius); r++) {
      const [from, to] = [this.column(x - radius), this.column(x + radius)];
      const end = this.starts[r * this.m + to + 1];
      for (let k = this.starts[r * this.m + from]; k < end; k++) {
        const i = this.points[k];
        const distance = (this.xy[2 * i] - x) ** 2 + (this.xy[2 * i + 1] - y) ** 2;
        if (distance < least && shown(i)) [best, least] = [i, distance];
      }
    }
    return best;
  }
}
