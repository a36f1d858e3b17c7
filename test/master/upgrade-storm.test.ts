import { expect, test } from 'vitest';
import { IS_LONG } from '../harness/tier.ts';
import { installation, OTHER_VERSION, upgraded } from './installed.ts';
import { Lanes } from './lanes.ts';
import { startSupervised } from './processes.ts';

const UPGRADES = 50;
/** Clients with a new connection for each request. */
const LANES = { fresh: 12, pauseMs: 5 };

/** Returns the time within which a share of the responses came, in milliseconds. */
function within(share: number, tookMs: readonly number[]): number {
  return tookMs.toSorted((a, b) => a - b)[Math.floor(share * (tookMs.length - 1))] ?? NaN;
}

test.runIf(IS_LONG)('fifty upgrades lose no new connection', { timeout: 1_200_000 }, async (t) => {
  const { program, install } = installation(t);
  const gw = await startSupervised(t, 'server { return 200 ok; }', { program, workers: 2 });
  const storm = new Lanes({ port: gw.port, ...LANES });
  const startedMs = performance.now();
  for (let upgrade = 1; upgrade <= UPGRADES; upgrade += 1) {
    install(...(upgrade % 2 === 0 ? [] : [OTHER_VERSION]));
    expect(await upgraded(gw)).toMatchObject({ isDone: true });
    await storm.responses(100);
  }
  const tookMs = performance.now() - startedMs;
  const seen = await storm.stop();

  // The same load on the same gateway without upgrades, for a comparison: what a machine makes of it is no verdict.
  const calm = new Lanes({ port: gw.port, ...LANES });
  await calm.responses(seen.answered / 5);
  const { tookMs: calmMs } = await calm.stop();
  const told = [0.5, 0.99, 1].map((share) => {
    const [with_, without] = [within(share, seen.tookMs), within(share, calmMs)];
    return `p${100 * share}: ${with_.toFixed(1)} ms, ${without.toFixed(1)} ms without`;
  });
  console.info(
    `${UPGRADES} upgrades in ${(tookMs / 1_000).toFixed(0)} s, ${seen.answered} connections, ${seen.failures.length} lost; ${told.join('; ')}`,
  );
  expect(seen.failures).toEqual([]);
});
