import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith, runIn } from '../cli/command.ts';
import { GW } from '../harness/gateway.ts';
import { ROOT, textOf } from './files.ts';

/** The commands that the pages show, and their output: `$ gw why GW301` and the lines behind it. */
const shown = readdirSync(join(ROOT, 'conf/guide')).flatMap((name) =>
  [...textOf(`conf/guide/${name}`).matchAll(/```\n\$ gw (.*)\n([^]*?)```/g)].map(
    ([, args = '', said = '']) => ({
      name,
      args,
      said,
    }),
  ),
);

test('the guide shows the output of commands', () => expect(shown.length).toBeGreaterThan(1));

for (const { name, args, said } of shown) {
  test(`gw ${args} prints what ${name} shows`, async (t) => {
    const dir = directoryWith(t, { 'gateway.conf': textOf('conf/examples/single-page-application.conf') });
    const { stdout } = await runIn(dir, ['sh', '-c', `"${process.execPath}" "${GW}" ${args}`]);
    expect(withoutChance(stdout)).toBe(withoutChance(said));
  });
}

/** The text without random numbers: `$request_id`. */
function withoutChance(text: string): string {
  return text.replace(/[0-9a-f]{32}/g, '-'.repeat(32));
}
