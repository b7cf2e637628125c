// Loads the systems, runs them in turn, shows the medians and posts all times to /results.
import { SYSTEMS } from "./systems.js";

const options = new URLSearchParams(location.search);
const threads = Number(options.get("threads") ?? 1);
const rounds = Number(options.get("rounds") ?? 12);
const seconds = Number(options.get("seconds") ?? 0.25);
const names = options.get("systems")?.split(",") ?? Object.keys(SYSTEMS);
const status = document.getElementById("status");

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

function difference(result, expected) {
  if (result.length !== expected.length) throw new Error(`${result.length} outputs, not ${expected.length}`);
  let largest = 0;
  let error = 0;
  result.forEach((value, index) => {
    largest = Math.max(largest, Math.abs(expected[index]));
    error = Math.max(error, Math.abs(value - expected[index]));
    if (Number.isNaN(value)) error = NaN;
  });
  return error / largest;
}

async function load(name, expected) {
  const start = performance.now();
  const { run, threads: taken } = await SYSTEMS[name](threads);
  const result = await run();
  const loaded = performance.now() - start;
  for (let i = 0; i < 5; ++i) await run();
  return { name, run, threads: taken, load: loaded, difference: difference(result, expected), rounds: [], processor: [] };
}

// The processor time of this page's main thread, in milliseconds. Other programs disturb it less than elapsed time.
const processorTime = async () => 1000 * Number(await (await fetch("/seconds")).text());

// Each round starts with another system.
async function measure(systems) {
  for (let round = 0; round < rounds; ++round) {
    status.textContent = `Round ${round + 1} of ${rounds}.`;
    for (let i = 0; i < systems.length; ++i) {
      const system = systems[(i + round) % systems.length];
      await system.run();
      const times = [];
      const used = await processorTime();
      const start = performance.now();
      let before = start;
      while (before - start < 1000 * seconds || times.length < 3) {
        await system.run();
        const now = performance.now();
        times.push(now - before);
        before = now;
      }
      system.processor.push(((await processorTime()) - used) / times.length);
      system.rounds.push(times);
    }
    await new Promise((resolve) => setTimeout(resolve)); // lets the browser paint
  }
}

function show(systems) {
  const medians = systems.map((system) => median(system.rounds.flat()));
  systems.forEach((system, index) => {
    const row = document.getElementById("rows").insertRow();
    if (medians[index] === Math.min(...medians)) row.className = "best";
    const cells = [
      system.name, system.threads, system.load.toFixed(0), medians[index].toFixed(2), system.difference.toExponential(1),
    ];
    for (const text of cells) row.insertCell().textContent = text;
    const bar = row.insertCell();
    bar.className = "bar";
    bar.append(document.createElement("div"));
    bar.firstChild.style.width = `${(100 * medians[index]) / Math.max(...medians)}%`;
  });
}

async function main() {
  const expected = new Float32Array(await (await fetch("expected.bin")).arrayBuffer());
  const systems = [];
  for (const name of names) systems.push(await load(name, expected));
  await measure(systems);
  show(systems);
  status.textContent = `${navigator.userAgent.match(/Chrom\w*\/[\d.]+|Firefox\/[\d.]+/)?.[0] ?? navigator.userAgent}, ${rounds} rounds.`;
  return { systems: systems.map(({ run, ...rest }) => rest), isolated: globalThis.crossOriginIsolated };
}

const post = (value) => fetch("/results", { method: "POST", body: JSON.stringify(value) });
main().then(post, (error) => {
  status.textContent = String(error);
  return post({ error: `${error}\n${error.stack}` });
});
