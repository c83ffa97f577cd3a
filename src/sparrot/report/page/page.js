// The page: one state, and the parts that show it.
const data = JSON.parse(document.getElementById("data").textContent);
const n = data.shape[0];
const at = (id) => document.getElementById(id);
const state = { step: data.chosen, layout: 0, color: 0, chosen: new Set() };
const choices = [
  ...["potential", "perplexity", "neighbors"].map((name) => ({ name, kind: "step" })),
  ...data.columns,
];
const widest = Math.max(...data.steps.map((step) => step.most_perplexity));
const stage = new Stage(at("stage"), hover);
let scale = null;

function add(parent, tag, text, attributes = {}) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  Object.assign(element, attributes);
  parent.append(element);
  return element;
}

function rows(id, entries) {
  at(id).replaceChildren();
  for (const [name, value] of entries) {
    const row = add(at(id), "tr");
    add(row, "th", name, { scope: "row" });
    add(row, "td", value);
  }
}

// The first of the two eigenvectors of each layout that moves with eps; other layouts stand still.
const firsts = [];
for (let j = 0; j < data.dimensions; j += 2) firsts.push(Math.min(j, data.dimensions - 2));

function layoutOf(step) {
  const { layout } = state;
  if (layout >= firsts.length) return decode(data.layouts[layout - firsts.length].xy);
  return columnsOf(step.embedding, data.dimensions, firsts[layout]);
}

function recolor() {
  const choice = choices[state.color];
  if (choice.kind === "categories") scale = categoryScale(data, choice);
  else if (choice.kind === "step") scale = numberScale(data, decode(data.steps[state.step][choice.name]));
  else scale = numberScale(data, decode(choice.values));
  if (scale.kind !== "categories") state.chosen.clear();
  repaint();
  drawLegend();
}

function repaint() {
  const { chosen } = state;
  stage.shown = (i) => !chosen.size || chosen.has(scale.codes[i]);
  stage.paint(paint(scale, n, chosen));
}

function drawLegend() {
  const legend = at("legend");
  legend.replaceChildren();
  if (scale.kind === "numbers") return drawBar(legend);
  scale.names.forEach((name, k) => {
    const button = add(legend, "button", undefined, { type: "button", title: "Show only this" });
    button.setAttribute("aria-pressed", String(state.chosen.has(k)));
    add(button, "i").style.background = `rgb(${scale.colors[k]})`;
    add(button, "span", name === "" ? "(empty)" : name);
    add(button, "small", scale.counts[k].toLocaleString("en"));
    button.addEventListener("click", () => {
      if (!state.chosen.delete(k)) state.chosen.add(k);
      button.setAttribute("aria-pressed", String(state.chosen.has(k)));
      repaint();
    });
  });
  if (scale.absent) drawMissing(legend);
}

function drawMissing(legend) {
  const entry = add(legend, "div", undefined, { className: "missing" });
  add(entry, "i").style.background = data.missing;
  add(entry, "span", "missing");
  add(entry, "small", scale.absent.toLocaleString("en"));
}

function drawBar(legend) {
  const bar = add(legend, "div", undefined, { className: "bar" });
  add(bar, "span", (scale.least < scale.low ? "≤ " : "") + format(scale.low));
  add(bar, "div").style.background = `linear-gradient(to right, ${data.sequential.join(", ")})`;
  add(bar, "span", (scale.most > scale.high ? "≥ " : "") + format(scale.high));
}

function hover(i) {
  at("tip").hidden = at("ring").hidden = i < 0;
  if (i < 0) return;
  const step = data.steps[state.step];
  const [x, y] = stage.placeOf(i);
  Object.assign(at("ring").style, { left: `${x}px`, top: `${y}px` });
  const tip = at("tip");
  tip.replaceChildren();
  add(tip, "strong", data.names ? data.names[i] : `row ${i}`);
  const choice = choices[state.color];
  if (choice.kind !== "step") add(tip, "span", `${choice.name}: ${scale.text(i)}`);
  for (const { name } of choices.slice(0, 3)) add(tip, "span", `${name}: ${format(decode(step[name])[i])}`);
  const onRight = x < stage.element.clientWidth / 2;
  tip.style.left = onRight ? `${x + 14}px` : "auto";
  tip.style.right = onRight ? "auto" : `${stage.element.clientWidth - x + 14}px`;
  tip.style.top = `${Math.min(y, stage.element.clientHeight - tip.offsetHeight - 4)}px`;
}

function describe(step) {
  at("eps-value").textContent =
    `${format(step.eps)} × mean cost${state.step === data.chosen ? " (chosen)" : ""}`;
  at("eps").setAttribute("aria-valuetext", at("eps-value").textContent);
  const [least, low, median, high, most] = step.quantiles.map(format);
  rows("statistics", [
    ["median", median], ["80 % of points", `${low} to ${high}`], ["least, most", `${least}, ${most}`],
    ["mean perplexity", format(step.mean_perplexity)], ["connected components", format(step.components)],
  ]);
  drawHistogram(step, widest);
  drawSpectrum(step);
  drawPath(data.steps, state.step);
  at("verdict").textContent = step.verdict;
  rows("certificate", step.certificate);
  at("warnings").replaceChildren();
  for (const text of [...step.warnings, ...data.notes]) add(at("warnings"), "li", text);
  if (!at("warnings").children.length) add(at("warnings"), "li", "None at this eps.", { className: "fine" });
  at("code").textContent = step.code;
}

function go(k) {
  state.step = k;
  const step = data.steps[k];
  describe(step);
  if (state.layout < firsts.length) stage.show(layoutOf(step), 350);
  if (choices[state.color].kind === "step") recolor();
}

function resized() {
  stage.size = Math.max(1.5, Math.min(9, 420 / Math.sqrt(n))) * 2 ** Number(at("size").value);
  stage.draw();
}

// Decode the other steps while the page is idle, the nearest first, so that the slider is quick.
function prepare() {
  const far = (k) => Math.abs(k - data.chosen);
  const waiting = data.steps.map((_, k) => k).sort((a, b) => far(a) - far(b));
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
  const next = () => {
    const step = data.steps[waiting.shift()];
    for (const key of ["embedding", "perplexity", "potential", "neighbors"]) decode(step[key]);
    if (waiting.length) idle(next);
  };
  idle(next);
}

function begin() {
  at("title").textContent = data.title;
  at("about").textContent = data.about;
  at("footer").textContent = data.footer;
  const moving = firsts.map((j) => `eigenvectors ${j + 2} and ${j + 3}`);
  [...moving, ...data.layouts.map((layout) => layout.name)].forEach((name, k) =>
    add(at("layout"), "option", name, { value: String(k) }));
  choices.forEach((choice, k) => add(at("color"), "option", choice.name, { value: String(k) }));
  Object.assign(at("eps"), { max: data.steps.length - 1, value: data.chosen });
  state.color = data.columns.length ? 3 : 0;
  at("color").value = String(state.color);
  at("eps").addEventListener("input", () => go(Number(at("eps").value)));
  at("color").addEventListener("change", () => {
    state.color = Number(at("color").value);
    state.chosen.clear();
    recolor();
  });
  at("layout").addEventListener("change", () => {
    state.layout = Number(at("layout").value);
    stage.fitted = true;
    stage.show(layoutOf(data.steps[state.step]), 350);
  });
  at("size").addEventListener("input", resized);
  at("fit").addEventListener("click", () => stage.fit());
  stage.resize();
  resized();
  describe(data.steps[state.step]);
  stage.show(layoutOf(data.steps[state.step]));
  recolor();
  document.body.dataset.ready = "true";
  prepare();
}

begin();
window.sparrot = { stage, state }; // for the console, and for tests
