// Colors of the points: by a category or by a number.
const FAINT = pack([225, 229, 233]);

function rgb(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

// The four bytes r, g, b and opaque, as one number.
function pack([r, g, b]) {
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

// A function from 0..1 to [r, g, b], along the stops.
function ramp(stops) {
  const known = stops.map(rgb);
  return (t) => {
    const place = Math.max(0, Math.min(1, t)) * (known.length - 1);
    const k = Math.min(known.length - 2, Math.floor(place));
    return known[k].map((c, j) => Math.round(c + (place - k) * (known[k + 1][j] - c)));
  };
}

const scales = new Map(); // of numbers shown before: sorting them takes time

function numberScale(data, values) {
  if (!scales.has(values)) scales.set(values, newNumberScale(data, values));
  return scales.get(values);
}

// Colors of numbers. One in a hundred may be beyond either end, so that outliers do not hide the rest.
function newNumberScale(data, values) {
  const [least, low, high, most] = quantiles(values, [0, 0.01, 0.99, 1]);
  const color = ramp(data.sequential);
  const table = Array.from({ length: 256 }, (_, k) => pack(color(k / 255)));
  const width = high - low || 1;
  const missing = pack(rgb(data.missing));
  const of = (i) =>
    Number.isFinite(values[i])
      ? table[Math.max(0, Math.min(255, Math.round((255 * (values[i] - low)) / width)))]
      : missing;
  return { kind: "numbers", of, text: (i) => format(values[i]), least, low, high, most };
}

function categoryScale(data, column) {
  const codes = decode(column.codes);
  const names = column.categories;
  const counts = new Uint32Array(names.length);
  let absent = 0;
  for (const code of codes) code < names.length ? counts[code]++ : absent++;
  const colors = names.map((_, k) => rgb(data.palette[k]));
  const packed = colors.map(pack);
  const missing = pack(rgb(data.missing));
  return {
    kind: "categories",
    of: (i) => packed[codes[i]] ?? missing,
    text: (i) => names[codes[i]] ?? "missing",
    names, counts, colors, codes, absent,
  };
}

// The colors of all points as bytes; points outside the chosen categories are faint.
function paint(scale, n, chosen) {
  if (!chosen.size && scale.painted) return scale.painted;
  const pixels = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    pixels[i] = chosen.size && !chosen.has(scale.codes[i]) ? FAINT : scale.of(i);
  }
  const rgba = new Uint8Array(pixels.buffer);
  if (!chosen.size) scale.painted = rgba;
  return rgba;
}
