import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALIAS, checks, whole } from './checking.ts';
import { directoryWith } from './command.ts';

const check = checks();

const files = {
  'good.conf': whole('return 200;'),
  'advice.conf': whole('sendfile on; return 200;'),
  'warning.conf': whole('server_name a a; return 200;'),
  'error.conf': whole(ALIAS),
  'broken.conf': 'http {\n  listn 80;\n  server { return abc; }\n}\n',
  'perl.conf': `perl_modules lib;\n${whole('return 200;')}`,
  'php.conf': whole('set $info $geoip_city; return 200;'),
};

const NONE = /^$/;
const runs: readonly { args: readonly string[]; code: number; says: RegExp; talks?: RegExp }[] = [
  { args: ['good.conf'], code: 0, says: NONE, talks: /^no findings in 1 file \(5 directives\)\n$/ },
  { args: ['advice.conf'], code: 0, says: /^advice\.conf:5:9: info GW117 [^\n]*\n$/ },
  { args: ['advice.conf', '--fail-on', 'info'], code: 1, says: /info GW117/ },
  { args: ['advice.conf', '--severity', 'warning'], code: 0, says: NONE },
  { args: ['advice.conf', '--strict'], code: 1, says: /info GW117/ },
  { args: ['warning.conf'], code: 1, says: /^warning\.conf:5:9: warning GW206 duplicate-server-name: / },
  { args: ['warning.conf', '--fail-on', 'error'], code: 0, says: /warning GW206/ },
  {
    args: ['error.conf'],
    code: 1,
    says: /^error\.conf:5:25: error GW301 alias-traversal: .* \[--unsafe-fixes\]\n$/,
  },
  { args: ['error.conf', '--fail-on', 'never'], code: 0, says: /error GW301/ },
  { args: ['error.conf', '--ignore', 'GW301'], code: 0, says: NONE },
  { args: ['error.conf', '--ignore', 'alias-traversal'], code: 0, says: NONE },
  { args: ['error.conf', '--ignore', 'GW9,GW3xx'], code: 0, says: NONE },
  { args: ['error.conf', '--select', 'GW2', '--select', 'GW4'], code: 0, says: NONE },
  { args: ['error.conf', '--select', 'GW30'], code: 1, says: /GW301/ },
  { args: ['broken.conf'], code: 1, says: /2:3: error GW105 .*"listn".*\n.*3:19: error GW108 .*"abc"/ },
  { args: ['broken.conf', '--select', 'GW3'], code: 1, says: /GW105/ },
  { args: ['perl.conf'], code: 1, says: /error GW118/ },
  { args: ['perl.conf', '--compat=ignore'], code: 0, says: /info GW118/ },
  {
    args: ['perl.conf', '--compat=skip'],
    code: 1,
    says: /warning GW118 .*, (left out|its requests get 501)/,
  },
  { args: ['php.conf'], code: 1, says: /error GW118/ },
  {
    args: ['php.conf', '--compat=ignore'],
    code: 0,
    says: /^php\.conf:\d+:\d+: info GW118 .*"geoip_city"/,
  },
  { args: ['good.conf', 'error.conf'], code: 1, says: /^error\.conf:/, talks: /in 2 files/ },
  { args: ['missing.conf'], code: 2, says: NONE, talks: /^gw: open\(\) "missing\.conf" failed \(2: No such/ },
  { args: ['missing.conf', 'error.conf'], code: 2, says: /GW301/, talks: /missing\.conf/ },
  {
    args: ['good.conf', '--select', 'GW3o1'],
    code: 2,
    says: NONE,
    talks: /"GW3o1"\n {2}did you mean "GW301"\?\n$/,
  },
  { args: ['good.conf', '--ignore', 'alias-travesal'], code: 2, says: NONE, talks: /mean "alias-traversal"/ },
  {
    args: ['good.conf', '-f', 'jsn'],
    code: 2,
    says: NONE,
    talks: /^gw: invalid format "jsn"\n {2}did you mean "json"/,
  },
  { args: ['good.conf', '--fail-on', 'eror'], code: 2, says: NONE, talks: /did you mean "error"/ },
  { args: ['good.conf', '--context', 'htp'], code: 2, says: NONE, talks: /did you mean "http"/ },
  {
    args: ['good.conf', '-f', 'json', '-f', 'sarif'],
    code: 2,
    says: NONE,
    talks: /two formats go to standard/,
  },
  {
    args: ['good.conf', '--baseline', 'none.json'],
    code: 2,
    says: NONE,
    talks: /^gw: open\(\) "none\.json" failed/,
  },
];

for (const { args, code, says, talks = /./ } of runs) {
  test(`gw check ${args.join(' ')} ends with ${code}`, async (t) => {
    const said = await check(directoryWith(t, files), args);
    expect(said.stdout).toMatch(says);
    expect(said.stderr).toMatch(talks);
    expect(said.code).toBe(code);
  });
}

describe('output', () => {
  test('is for workflows where GitHub runs it', async (t) => {
    const said = await check(directoryWith(t, files), ['error.conf'], { GITHUB_ACTIONS: 'true' });
    expect(said.stdout).toMatch(/^::error file=error\.conf,line=5,/);
  });

  test('goes to several files in several formats', async (t) => {
    const dir = directoryWith(t, files);
    const said = await check(dir, ['error.conf', '-f', 'json:a.json', '-f', 'sarif:b.sarif', '-f', 'junit']);
    expect(said.stdout).toMatch(/^<\?xml/);
    expect(JSON.parse(readFileSync(join(dir, 'a.json'), 'utf8'))).toMatchObject({ version: 1 });
    expect(JSON.parse(readFileSync(join(dir, 'b.sarif'), 'utf8'))).toMatchObject({ version: '2.1.0' });
  });

  test('goes to the file of -o', async (t) => {
    const dir = directoryWith(t, files);
    expect(await check(dir, ['error.conf', '-f', 'json', '-o', 'out.json'])).toMatchObject({ stdout: '' });
    expect(JSON.parse(readFileSync(join(dir, 'out.json'), 'utf8'))).toMatchObject({ summary: { errors: 1 } });
  });

  const colored: readonly (readonly [env: NodeJS.ProcessEnv, isColored: boolean])[] = [
    [{ FORCE_COLOR: '1', NO_COLOR: '' }, true],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    [{ FORCE_COLOR: '', NO_COLOR: '' }, false],
  ];
  test.for(colored)('has colours with %o: %s', async ([env, isColored], t) => {
    const { stdout } = await check(directoryWith(t, files), ['error.conf', '-f', 'human'], env);
    expect(stdout.includes('\u001b[31m')).toBe(isColored);
  });
});
