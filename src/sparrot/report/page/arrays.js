// Arrays in and out of the page: base64 of little-endian numbers, decoded when first asked for.
const TYPES = { f4: Float32Array, u2: Uint16Array, u4: Uint32Array };
const decoded = new Map();

function decode(array) {
  if (!decoded.has(array)) {
    decoded.set(array, new TYPES[array.type](bytesOf(array.base64).buffer));
    array.base64 = "";
  }
  return decoded.get(array);
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Two columns of a flat array of rows; no copy where there are only two.
function columnsOf(array, width, first) {
  if (width === 2) return decode(array);
  const values = decode(array);
  const pair = new Float32Array((2 * values.length) / width);
  for (let i = 0; 2 * i < pair.length; i++) {
    pair[2 * i] = values[i * width + first];
    pair[2 * i + 1] = values[i * width + first + 1];
  }
  return pair;
}

// [left, right, bottom, top] of points in a flat array x0 y0 x1 y1 ...
function boxOf(xy) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < xy.length; i += 2) {
    left = Math.min(left, xy[i]);
    right = Math.max(right, xy[i]);
    bottom = Math.min(bottom, xy[i + 1]);
    top = Math.max(top, xy[i + 1]);
  }
  return [left, right, bottom, top];
}

// The value below which a share of the finite numbers lies, from a sorted copy.
function quantiles(values, shares) {
  const finite = new Float32Array(values.length);
  let count = 0;
  for (const value of values) if (Number.isFinite(value)) finite[count++] = value;
  const sorted = finite.subarray(0, count).sort();
  if (!count) return shares.map(() => NaN);
  return shares.map((share) => sorted[Math.round(share * (sorted.length - 1))]);
}

function format(x) {
  if (!Number.isFinite(x)) return "missing";
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return x.toLocaleString("en");
  const size = Math.abs(x);
  return size >= 1e-3 && size < 1e6 ? String(+x.toPrecision(4)) : x.toExponential(2);
}
