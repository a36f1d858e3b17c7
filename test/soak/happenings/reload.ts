import type { Happening } from '../actor.ts';
import { ask } from '../client.ts';
import { configuration } from '../configuration.ts';
import { mutate } from '../mutate.ts';

/** A reload harms no client: no connection is refused or broken, and every response is that of the old or the new load. */
export const reloadHappenings: readonly Happening[] = [
  {
    name: 'reload',
    weight: 5,
    hits: [],
    async happen({ stage: { gateway, sites } }) {
      const version = ++gateway.version;
      const verdict = await gateway.reload(configuration(sites, version));
      if (verdict !== 'done') throw new Error('a good configuration was refused');
      await expectVersion(sites.port, version);
    },
  },
  {
    name: 'broken-reload',
    weight: 4,
    hits: [],
    async happen({ random, stage: { gateway, sites } }) {
      const text = configuration(sites, gateway.version + 1);
      const broken = random.chance(0.5)
        ? `${text} nonsense`
        : `${mutate(text, random, 2).toString('latin1')}\n}`;
      const verdict = await gateway.reload(broken);
      // If the process is killed next, it starts from this file.
      gateway.write(configuration(sites, gateway.version));
      if (verdict !== 'refused') throw new Error('a broken configuration was taken');
      await expectVersion(sites.port, gateway.version);
    },
  },
  {
    name: 'reopen',
    weight: 1,
    hits: [],
    async happen({ stage: { gateway } }) {
      process.kill(gateway.masterPid, 'SIGUSR1');
    },
  },
];

async function expectVersion(port: number, version: number): Promise<void> {
  // Most likely, each worker gets one in turn.
  for (let time = 0; time < 8; time++) {
    const { body, status, failure } = await ask(port, '/version');
    if (body !== String(version))
      throw new Error(`/version says ${status} ${failure} ${body}, not ${version}`);
  }
}
