import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { launch, membersOf } from './launch.ts';
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

test('a program that has ended, of which the news has not come yet, is stopped as others are', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gw-launch-'));
  t.onTestFinished(() => rmSync(dir, { recursive: true }));
  const program = launch('sh', ['-c', 'until [ -e end ]; do sleep 0.01; done'], { cwd: dir });
  const pid = await program.started;
  writeFileSync(join(dir, 'end'), '');
  // Nothing is read meanwhile.
  while (existsSync(`/proc/${pid}`));
  expect(program.exit()).toBeUndefined();
  expect(await program.stop()).toEqual({ code: 0, signal: null });
});
