// The state machine as a drawing: places for its states and paths for its edges, from the ASL. Pure.
//
// Layers from top to bottom by the longest way from the start, back edges left out; states of a layer side by side,
// each near those it comes from. A Map holds a drawing of its own.

const WIDTH = 158;
const HEIGHT = 34;
const BESIDE = 22;
const BELOW = 34;
const INSIDE = 16;
const HEAD = 24;

// { width, height, nodes: [{ name, type, comment, x, y, width, height, inner? }],
//   edges: [{ from, to, kind, counts, path }] }
// `kind` is "next", "back" or "catch"; `counts`: the edge decides on a layer. The inner drawing's places are relative
// to its Map.
export function layout(machine) {
  const states = machine.States;
  const names = reachable(machine);
  const sizes = new Map(names.map((name) => [name, sizeOf(states[name])]));
  const ways = waysOf(states, names);
  const layers = ordered(layersOf(machine.StartAt, names, ways), ways);
  const { places, width, height } = placed(layers, sizes);
  const lanes = { count: 0 };
  const edges = ways.map((way) => ({ ...way, path: way.kind === "catch" && !way.counts ? "" : pathOf(way, places, width, lanes) }));
  const nodes = names.map((name) => {
    const { Type: type, Comment: comment = "" } = states[name];
    return { name, type, comment, ...places.get(name), inner: sizes.get(name).inner };
  });
  return { width: width + lanes.count * 9 + (lanes.count ? 14 : 0), height, nodes, edges };
}

// Where a state can go: `catch` where only an error leads there.
function exits(state) {
  // The default first: it is the usual way.
  const next = [state.Default, ...(state.Choices ?? []).map((choice) => choice.Next), state.Next].filter(Boolean);
  const caught = (state.Catch ?? []).map((entry) => entry.Next).filter((name) => !next.includes(name));
  return { next: [...new Set(next)], caught: [...new Set(caught)] };
}

function reachable(machine) {
  const found = [machine.StartAt];
  for (const name of found) {
    const { next, caught } = exits(machine.States[name]);
    for (const other of [...next, ...caught]) if (!found.includes(other)) found.push(other);
  }
  return found;
}

function sizeOf(state) {
  const within = state.ItemProcessor ?? state.Iterator;
  if (!within) return { width: WIDTH, height: HEIGHT };
  const inner = layout(within);
  return { width: Math.max(WIDTH, inner.width + 2 * INSIDE), height: inner.height + HEAD + 2 * INSIDE, inner };
}

// Edges, those that lead back to a state on the way marked. An error's edge counts for the layers only where
// nothing else leads.
function waysOf(states, names) {
  const ways = [];
  const led = new Set([names[0]]);
  for (const name of names) {
    const { next, caught } = exits(states[name]);
    next.forEach((to) => (ways.push({ from: name, to, kind: "next" }), led.add(to)));
    caught.forEach((to) => ways.push({ from: name, to, kind: "catch" }));
  }
  for (const way of ways) way.counts = way.kind === "next" || !led.has(way.to);
  markBack(ways, names[0]);
  return ways;
}

function markBack(ways, start) {
  const open = new Set();
  const done = new Set();
  const walk = (name) => {
    open.add(name);
    for (const way of ways) {
      if (way.from !== name || !way.counts) continue;
      if (open.has(way.to)) {
        way.counts = false;
        if (way.kind === "next") way.kind = "back";
      } else if (!done.has(way.to)) walk(way.to);
    }
    open.delete(name);
    done.add(name);
  };
  walk(start);
}

function layersOf(start, names, ways) {
  const depth = new Map(names.map((name) => [name, 0]));
  // The longest way: as many rounds as there are states are enough.
  for (let round = 0; round < names.length; round += 1) {
    for (const { from, to, counts } of ways) {
      if (counts && depth.get(to) < depth.get(from) + 1) depth.set(to, depth.get(from) + 1);
    }
  }
  const layers = [];
  for (const name of names) (layers[depth.get(name)] ??= []).push(name);
  return layers.filter(Boolean);
}

function ordered(layers, ways) {
  const place = new Map();
  const note = (layer) => layer.forEach((name, index) => place.set(name, (index + 0.5) / layer.length));
  layers.forEach(note);
  for (let round = 0; round < 4; round += 1) {
    for (const layer of layers) {
      const mean = new Map(layer.map((name) => [name, meanOf(name, ways, place)]));
      layer.sort((a, b) => mean.get(a) - mean.get(b));
      note(layer);
    }
  }
  return layers;
}

function meanOf(name, ways, place) {
  const from = ways.filter((way) => way.to === name && way.counts).map((way) => place.get(way.from));
  return from.length ? from.reduce((a, b) => a + b, 0) / from.length : place.get(name);
}

function placed(layers, sizes) {
  const widthOf = (layer) => layer.reduce((sum, name) => sum + sizes.get(name).width, BESIDE * (layer.length - 1));
  const width = Math.max(...layers.map(widthOf));
  const places = new Map();
  let y = 0;
  for (const layer of layers) {
    const tallest = Math.max(...layer.map((name) => sizes.get(name).height));
    let x = (width - widthOf(layer)) / 2;
    for (const name of layer) {
      const { width: own, height } = sizes.get(name);
      places.set(name, { x, y, width: own, height });
      x += own + BESIDE;
    }
    y += tallest + BELOW;
  }
  return { places, width, height: y - BELOW };
}

function pathOf({ from, to, kind }, places, width, lanes) {
  const a = places.get(from);
  const b = places.get(to);
  const [startX, endX] = [a.x + a.width / 2, b.x + b.width / 2];
  if (kind === "next" && b.y > a.y) {
    const [startY, endY] = [a.y + a.height, b.y];
    const bend = Math.min(40, (endY - startY) / 2);
    return `M${startX} ${startY}C${startX} ${startY + bend} ${endX} ${endY - bend} ${endX} ${endY}`;
  }
  if (kind === "catch" && b.y > a.y) {
    const [startY, endY] = [a.y + a.height, b.y];
    return `M${startX + 18} ${startY}C${startX + 18} ${startY + 34} ${endX + 18} ${endY - 34} ${endX + 18} ${endY}`;
  }
  // Back, around everything on the right.
  lanes.count += 1;
  const lane = width + lanes.count * 9;
  const [startY, endY] = [a.y + a.height / 2, b.y + b.height / 2];
  return `M${a.x + a.width} ${startY}H${lane - 8}Q${lane} ${startY} ${lane} ${startY + (endY < startY ? -8 : 8)}V${endY + (endY < startY ? 8 : -8)}Q${lane} ${endY} ${lane - 8} ${endY}H${b.x + b.width}`;
}
