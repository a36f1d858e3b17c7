import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const cases: readonly [path: string, found: string][] = [
  ['site/page.html', 'file exists'],
  ['site', 'directory exists executable'],
  ['site/', 'directory exists executable'],
  ['site/run.sh', 'file exists'],
  ['link', 'file exists'],
  ['dangling', ''],
  ['site/page.html/below', ''],
  ['nowhere', ''],
  ['', ''],
  ['x'.repeat(300), ''],
];

test('file tests resolve paths below the prefix', async (t) => {
  const gw = await load(
    t,
    `server { location / {
       set $found "";
       if (-f $arg_p) { set $found "file "; }
       if (-d $arg_p) { set $found "directory "; }
       if (-e $arg_p) { set $found "\${found}exists "; }
       if (-x $arg_p) { set $found "\${found}executable "; }
       set $missed "";
       if (!-f $arg_p) { set $missed f; }
       if (!-d $arg_p) { set $missed "\${missed}d"; }
       if (!-e $arg_p) { set $missed "\${missed}e"; }
       return 200 "$found|$missed";
     } }`,
    { 'site/page.html': '<p>', 'site/run.sh': '' },
  );
  symlinkSync('site/page.html', join(gw.dir, 'link'));
  symlinkSync('nowhere', join(gw.dir, 'dangling'));
  for (const [path, found] of cases) {
    const missed = [
      ['f', 'file'],
      ['d', 'directory'],
      ['e', 'exists'],
    ]
      .filter(([, word]) => !found.includes(word as string))
      .map(([letter]) => letter)
      .join('');
    await gw.expect(`GET /?p=${path}`, { body: `${found === '' ? '' : `${found} `}|${missed}` });
  }
  expect(gw.errorLog()).not.toContain('[crit]');
});

test('a file that cannot be examined counts as missing, and is logged', async (t) => {
  const gw = await load(
    t,
    'server { location / { if (-e $arg_p) { return 200 there; } if (!-e $arg_p) { return 200 missing; } return 200 neither; } }',
  );
  symlinkSync('loop', join(gw.dir, 'loop'));
  await gw.expect('GET /?p=loop', { body: 'missing' });
  expect(gw.errorLog()).toMatch(
    /\[crit\] .*stat\(\) "loop" failed \(40: Too many levels of symbolic links\), client: 127\.0\.0\.1/,
  );
});
