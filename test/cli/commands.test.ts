import { expect, test } from 'vitest';
import { directoryWith, gw } from './command.ts';

const wrong: readonly { args: readonly string[]; stderr: string }[] = [
  { args: ['chek'], stderr: 'gw: unknown command "chek"\n  did you mean "check"?\n' },
  { args: ['frobnicate'], stderr: 'gw: unknown command "frobnicate"\n' },
  {
    args: ['apikey', 'revoke'],
    stderr: 'gw: unknown command "revoke"\n  expected new; to revoke a key, remove its line\n',
  },
  { args: ['check', '--nope'], stderr: 'gw: unknown option "--nope"\n  did you mean "--ignore"?\n' },
];

for (const { args, stderr } of wrong) {
  test(`gw ${args.join(' ')} is refused with exit code 2`, async (t) => {
    expect(await gw(directoryWith(t, {}), args)).toEqual({ code: 2, stdout: '', stderr });
  });
}

test('gw help lists the commands', async (t) => {
  const { code, stdout } = await gw(directoryWith(t, {}), ['help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/\n {2}check .*\n[^]*\n {2}reference /);
});
