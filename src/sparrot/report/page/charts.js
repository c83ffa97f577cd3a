// Small charts in SVG. Text is set as text, never as markup.
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [340, 150, 44, 30, 8];

function svg(parent, tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Round numbers from low to high, at most five: 1, 2 or 5 times a power of ten apart, or on a
// logarithmic axis such numbers themselves, where there are two of them.
function roundTicks(low, high, logarithmic = false, least = 0) {
  if (!(high > low)) return [low];
  for (const multiples of logarithmic ? [[1, 2, 5], [1]] : []) {
    const round = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) {
      for (const m of multiples) round.push(Number(`${m}e${e}`));
    }
    const ticks = round.filter((t) => low <= t && t <= high);
    if (ticks.length > 1 && (ticks.length <= 5 || multiples.length === 1)) return ticks;
  }
  const rough = Math.max((high - low) / 4, least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * (1 - 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

// A chart with its two axes; x and y map numbers to places. Ticks are `least` apart.
function chart(id, [x0, x1], [y0, y1], { xName, log = [false, false], least = [0, 0] }) {
  const holder = document.getElementById(id);
  holder.replaceChildren();
  const root = svg(holder, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const scale = (value, from, to, logarithmic) => {
    const f = logarithmic ? Math.log : (v) => v;
    return (f(value) - f(from)) / (f(to) - f(from) || 1);
  };
  const x = (v) => LEFT + (WIDTH - LEFT - 6) * scale(v, x0, x1, log[0]);
  const y = (v) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * scale(v, y0, y1, log[1]);
  svg(root, "path", {
    d: `M${LEFT},${TOP}V${HEIGHT - BOTTOM}H${WIDTH - 6}`, fill: "none", stroke: "#b8c0c8",
  });
  for (const t of roundTicks(x0, x1, log[0], least[0])) {
    const anchor = x(t) < LEFT + 12 ? "start" : x(t) > WIDTH - 18 ? "end" : "middle";
    svg(root, "text", { x: x(t), y: HEIGHT - BOTTOM + 13, "text-anchor": anchor }, format(t));
  }
  for (const t of roundTicks(y0, y1, log[1], least[1])) {
    svg(root, "text", { x: LEFT - 5, y: y(t) + 4, "text-anchor": "end" }, format(t));
  }
  svg(root, "text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 3, "text-anchor": "middle" }, xName);
  return { root, x, y };
}

function drawSpectrum(step) {
  const values = step.eigenvalues;
  const [low, high] = [values.at(-1), values[0]];
  const { root, x, y } = chart("spectrum", [0.5, values.length + 0.5], [low, high], {
    xName: "eigenvalue number", least: [1, 0],
  });
  const drops = values.slice(1).map((value, k) => values[k] - value);
  const k = drops.indexOf(Math.max(...drops)) + 1;
  svg(root, "rect", {
    x: x(k), y: TOP, width: x(k + 1) - x(k), height: HEIGHT - BOTTOM - TOP, fill: "#d55e00",
    "fill-opacity": 0.13,
  });
  values.forEach((value, j) => svg(root, "circle", { cx: x(j + 1), cy: y(value), r: 3.5, fill: "#0072b2" }));
  const onLeft = 2 * k > values.length;
  svg(root, "text", {
    id: "gap", x: onLeft ? x(k) - 6 : x(k + 1) + 6, y: onLeft ? HEIGHT - BOTTOM - 8 : TOP + 10,
    "text-anchor": onLeft ? "end" : "start",
  }, `gap ${format(drops[k - 1])} after ${k}`);
}

function drawHistogram(step, limit) {
  const values = decode(step.perplexity);
  const bins = 34;
  const counts = new Uint32Array(bins);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value / limit) * bins))]++;
  const most = Math.max(...counts);
  const { root, x, y } = chart("histogram", [0, limit], [0, most], {
    xName: "perplexity of a row", least: [0, 1],
  });
  counts.forEach((count, k) => svg(root, "rect", {
    x: x((k * limit) / bins) + 0.5, width: x(limit / bins) - LEFT - 1, y: y(count),
    height: y(0) - y(count), fill: "#0072b2",
  }));
}

function drawPath(steps, current) {
  const eps = steps.map((step) => step.eps);
  const column = (k) => steps.map((step) => Math.max(step.quantiles[k], 0.5));
  const [low, middle, high] = [1, 2, 3].map(column);
  const ends = [Math.min(...low), Math.max(...high)];
  const { root, x, y } = chart("path", [eps[0], eps.at(-1)], ends, {
    xName: "eps / mean cost: neighbors, median and 80 %", log: [true, true],
  });
  const places = (values) => values.map((value, k) => `${x(eps[k])},${y(value)}`);
  const band = [...places(low), ...places(high).reverse()].join(" ");
  svg(root, "polygon", { points: band, fill: "#0072b2", "fill-opacity": 0.22 });
  svg(root, "polyline", { points: places(middle).join(" "), fill: "none", stroke: "#0072b2", "stroke-width": 2 });
  svg(root, "circle", { cx: x(eps[current]), cy: y(middle[current]), r: 5, fill: "#d55e00" });
}
