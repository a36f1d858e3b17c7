import type { Actor } from '../actor.ts';
import { ask } from '../client.ts';

/** Beyond this time, another request has held up a worker. Generous: the machine itself may be busy. */
const LIMIT_MS = 3_000;

/** Probes continuously whether the gateway serves. */
export const health: Actor = {
  name: 'health',
  restMs: 100,
  async act({ stage, count, violation, probe }) {
    const { status, failure, startedMs } = await ask(stage.sites.port, '/live');
    const tookMs = performance.now() - startedMs;
    const isExcused = stage.disturbances.excuse(['process', 'worker'], startedMs);
    if (isExcused) return count('disturbed');
    probe(tookMs);
    count(status === 200 ? '200' : `${status} ${failure}`);
    if (status !== 200) violation('a health probe fails', `${status} ${failure}`);
    else if (tookMs > LIMIT_MS)
      violation(`a health probe takes longer than ${LIMIT_MS} ms`, `${Math.round(tookMs)} ms`);
  },
};
