import { compare, type Contender } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Bench } from '../bench.ts';
import type { Row } from '../row.ts';
import { startGw } from '../servers.ts';

const FEW = 10;
const MANY = 10_000;

/** The cost of finding a location must not grow with their number. */
export const locationsRow: Row = {
  name: 'locations',
  async run(bench) {
    return compare(bench, await locations(bench, MANY), [
      {
        line: 'a location among 10,000 / among 10',
        goal: 0.95,
        open: () => locations(bench, FEW),
      },
    ]);
  },
};

/** Ten of `count` prefix locations, spread evenly, are requested in turns: both sides get equally long requests. */
async function locations(bench: Bench, count: number): Promise<Contender> {
  const path = (index: number) => `/shop/item-${String(index).padStart(5, '0')}/`;
  const all = Array.from({ length: count }, (_, index) => `location ${path(index)} { return 200 ok; }`);
  const asked = Array.from({ length: FEW }, (_, index) => path((index * count) / FEW));
  const { port, pid } = await startGw(bench, all.join('\n'));
  const script = `
    local paths, requests, turn = { ${asked.map((each) => `"${each}"`).join(', ')} }, {}, 0
    init = function() for i, path in ipairs(paths) do requests[i] = wrk.format("GET", path) end end
    request = function() turn = turn % #requests + 1; return requests[turn] end`;
  return httpLoad(bench, { name: `${count} locations`, port, script, servers: [pid] });
}
