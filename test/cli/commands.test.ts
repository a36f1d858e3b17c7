import { expect, test } from 'vitest';
import { directoryWith, gw } from './command.ts';

const files = {
  'good.conf': 'http { server { listen 127.0.0.1:18999; return 200; } }\n',
  'notice.conf': 'pcre_jit on;\n',
  'warn.conf': 'http { server { listen 127.0.0.1:18999; server_name a a; } }\n',
  'bad.conf': 'http {\n  listn 80;\n  server { return abc; }\n}\n',
};

const checks: readonly { args: readonly string[]; code: number; says: RegExp }[] = [
  { args: ['good.conf'], code: 0, says: /^good\.conf: no findings\n$/ },
  {
    args: ['notice.conf'],
    code: 0,
    says: /^gw: \[notice\] "pcre_jit" is accepted .*\n(.*\n)*notice\.conf: no findings\n$/,
  },
  { args: ['warn.conf'], code: 1, says: /\[warn\] conflicting server name(.*\n)+warn\.conf: 1 finding\n$/ },
  {
    args: ['bad.conf'],
    code: 1,
    says: /unknown directive "listn"(.*\n)+.*invalid return code "abc"(.*\n)+bad\.conf: 2 findings\n$/,
  },
  { args: ['missing.conf'], code: 2, says: /open\(\) "DIR\/missing\.conf" failed/ },
  {
    args: ['good.conf', 'bad.conf'],
    code: 1,
    says: /good\.conf: no findings\n(.*\n)*bad\.conf: 2 findings\n$/,
  },
  { args: ['missing.conf', 'good.conf'], code: 2, says: /good\.conf: no findings\n$/ },
];

for (const { args, code, says } of checks) {
  test(`gw check ${args.join(' ')} ends with ${code}`, async (t) => {
    const dir = directoryWith(t, files);
    const said = await gw(dir, ['check', ...args]);
    expect(said.stdout).toMatch(says);
    expect(said).toMatchObject({ code, stderr: '' });
  });
}

const wrong: readonly { args: readonly string[]; stderr: string }[] = [
  { args: ['chek'], stderr: 'gw: unknown command "chek"\n  did you mean "check"?\n' },
  { args: ['frobnicate'], stderr: 'gw: unknown command "frobnicate"\n' },
  { args: ['check', '--nope'], stderr: 'gw: unknown option "--nope"\n' },
];

for (const { args, stderr } of wrong) {
  test(`gw ${args.join(' ')} is refused with exit code 2`, async (t) => {
    expect(await gw(directoryWith(t, files), args)).toEqual({ code: 2, stdout: '', stderr });
  });
}

test('gw help lists the commands', async (t) => {
  const { code, stdout } = await gw(directoryWith(t, files), ['help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/\n {2}check .*\n[^]*\n {2}reference /);
});
