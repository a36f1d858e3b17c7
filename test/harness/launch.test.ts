import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { membersOf } from './launch.ts';
import { startProgram } from './program.ts';

test('what the harness launched does not outlive a killed test process', async (t) => {
  const source = `
    import { launch } from '~/test/harness/launch.ts';
    console.log(await launch('sleep', ['600'], { cwd: '/' }).started);
  `;
  const program = await startProgram(t, source);
  const group = Number(program.output());
  t.expect(membersOf(group)).toEqual([`${group} sleep`]);
  await program.stop('SIGKILL');
  while (membersOf(group).length > 0) await sleep(5);
});
