import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GW } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';
import { directoryWith, gw } from './command.ts';
import type { Said } from './command.ts';

const ALIAS = 'location /img { alias /srv/img/; }';
const whole = (server: string): string =>
  `events {}\nhttp {\n    server {\n        listen 127.0.0.1:8080;\n        ${server}\n    }\n}\n`;

const files = {
  'good.conf': whole('return 200;'),
  'advice.conf': whole('sendfile on; return 200;'),
  'warning.conf': whole('server_name a a; return 200;'),
  'error.conf': whole(ALIAS),
  'broken.conf': 'http {\n  listn 80;\n  server { return abc; }\n}\n',
  'perl.conf': `perl_modules lib;\n${whole('return 200;')}`,
};

/** `gw check` there, in an environment that no continuous integration has a say in. */
function check(dir: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Said> {
  return gw(dir, ['check', ...args], { GITHUB_ACTIONS: '', ...env });
}

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
    talks: /cannot read baseline "none/,
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

describe('pieces of configuration', () => {
  const site = `server {\n    listen 127.0.0.1:8080;\n    ${ALIAS}\n    location / { proxy_pass http://elsewhere; }\n}\n`;
  const pieces = {
    'nginx.conf': 'events {}\nhttp { include sites/*.conf; }\n',
    'sites/shop.conf': site,
    'lonely.conf': ALIAS,
    'said.conf': `# gw-context: http, server\n${ALIAS}\n`,
    'data.conf': '/a 1;\n/b 2;\n',
  };

  test('stand where their directives say', async (t) => {
    const dir = directoryWith(t, pieces);
    const { stdout } = await check(dir, ['sites/shop.conf', 'lonely.conf', 'said.conf', '--select', 'GW3']);
    expect(stdout).toMatch(
      /^sites\/shop\.conf:3:21: error GW301.*\nlonely\.conf:1:17: .*\nsaid\.conf:2:17: .*\n$/,
    );
  });

  test('stand where --context says', async (t) => {
    const said = await check(directoryWith(t, pieces), ['--context', 'upstream', 'lonely.conf']);
    expect(said.stdout).toMatch(/^lonely\.conf:1:1: error GW106 wrong-context: /);
  });

  test('in a directory are checked once, with what includes them', async (t) => {
    const dir = directoryWith(t, pieces);
    const said = await check(dir, ['.', '--select', 'GW301', '-f', 'json']);
    const { findings } = JSON.parse(said.stdout) as { findings: { file: string }[] };
    expect(findings.map(({ file }) => file)).toEqual(['lonely.conf', 'sites/shop.conf', 'said.conf']);
    expect(said.stderr).toMatch(/^gw: "data\.conf" is skipped: a comment/);
  });

  test('a directory without configurations is an error', async (t) => {
    expect(await check(directoryWith(t, { 'a.txt': '' }), ['.'])).toMatchObject({ code: 2 });
  });
});

/** `gw check` with a text at standard input. */
function checkText(
  dir: string,
  text: string,
  args: readonly string[],
): { code: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, [GW, 'check', ...args], {
    cwd: dir,
    input: text,
    encoding: 'utf8',
    env: { ...process.env, GITHUB_ACTIONS: '' },
  });
  return { code: status, stdout };
}

describe('standard input', () => {
  test('has the name that is given, and includes from there', (t) => {
    const dir = directoryWith(t, { 'conf/inner.conf': ALIAS });
    const said = checkText(dir, whole('include inner.conf;'), ['-', '--stdin-filename', 'conf/main.conf']);
    expect(said).toEqual({ code: 1, stdout: expect.stringMatching(/^conf\/inner\.conf:1:17: /) as string });
  });

  test('comes back mended', (t) => {
    const dir = directoryWith(t, files);
    const { code, stdout } = checkText(dir, whole(ALIAS), ['-', '--unsafe-fixes']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: whole(ALIAS.replace('/img {', '/img/ {')) });
  });
});

const dump = `nginx: the configuration file /etc/nginx/nginx.conf syntax is ok
# configuration file /etc/nginx/nginx.conf:
events {}
http {
    include /etc/nginx/conf.d/*.conf;
    include extra.conf;
}

# configuration file /etc/nginx/conf.d/b.conf:
server {
    listen 127.0.0.1:8081;
    ${ALIAS}
}

# configuration file /etc/nginx/extra.conf:
server_tokens off;

`;

describe('a dump of nginx -T', () => {
  test('is read as the files that it holds', (t) => {
    const said = checkText(directoryWith(t, {}), dump, ['-', '-f', 'json', '--select', 'GW1,GW301']);
    expect(JSON.parse(said.stdout)).toMatchObject({
      findings: [{ rule: 'GW301', file: '/etc/nginx/conf.d/b.conf', line: 3 }],
      summary: { files: 3 },
    });
  });

  test('is not written, but shows what would be mended', (t) => {
    const dir = directoryWith(t, { 'dump.txt': dump });
    const args = ['dump.txt', '--select', 'GW301', '--unsafe-fixes'];
    expect(checkText(dir, '', args)).toEqual({ code: 2, stdout: '' });
    expect(checkText(dir, '', [...args, '--diff']).stdout).toMatch(
      /^--- \/etc\/nginx\/conf\.d\/b\.conf\n[^]*\n\+ {4}location \/img\/ \{/,
    );
  });
});

describe('fixes', () => {
  const ignored = whole('# gw-ignore GW301: it was so\n        return 204;');

  test('that are safe are made with --fix, the others are not', async (t) => {
    const dir = directoryWith(t, {
      'a.conf': ignored
        .replace('return', `${ALIAS}\n        return`)
        .replace('# gw-ignore GW301', '# gw-ignore GW204'),
    });
    const said = await check(dir, ['a.conf', '--fix', '--select', 'GW121,GW301,GW204']);
    expect(said).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^a\.conf:5:25: error GW301/) as string,
    });
    expect(said.stderr).toMatch(/^gw: 1 finding mended\n/);
    expect(readFileSync(join(dir, 'a.conf'), 'utf8')).toBe(whole(`${ALIAS}\n        return 204;`));
  });

  test('keep the mode, the link, the line ends and the mark of a file', async (t) => {
    const dir = directoryWith(t, { 'real.conf': `\uFEFF${ignored.replaceAll('\n', '\r\n')}` });
    chmodSync(join(dir, 'real.conf'), 0o640);
    symlinkSync('real.conf', join(dir, 'link.conf'));
    expect(await check(dir, ['link.conf', '--fix', '--select', 'GW121,GW301'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(dir, 'real.conf'), 'utf8')).toBe(
      `\uFEFF${whole('return 204;').replaceAll('\n', '\r\n')}`,
    );
    expect(statSync(join(dir, 'real.conf')).mode & 0o777).toBe(0o640);
    expect(readFileSync(join(dir, 'link.conf'), 'utf8')).toContain('204');
  });

  test('reach included files, each once', async (t) => {
    const dir = directoryWith(t, {
      'a.conf': 'events {}\nhttp { include site.conf; }\n',
      'b.conf': 'events {}\nhttp { include site.conf; }\n',
      'site.conf': `server {\n    listen 127.0.0.1:8080;\n    ${ALIAS}\n}\n`,
    });
    expect((await check(dir, ['a.conf', 'b.conf', '--unsafe-fixes', '--select', 'GW301'])).code).toBe(0);
    expect(readFileSync(join(dir, 'site.conf'), 'utf8')).toContain('location /img/ {');
  });

  test('that would keep the configuration from loading are not made, and that is said', async (t) => {
    const text = whole(`${ALIAS}\n        location /img/ { return 204; }`);
    const dir = directoryWith(t, { 'a.conf': text });
    const said = await check(dir, ['a.conf', '--unsafe-fixes', '--select', 'GW301']);
    expect(said).toMatchObject({ code: 1, stdout: expect.stringContaining('GW301') as string });
    expect(said.stderr).toMatch(
      /^gw: the fix for GW301 is not made, it would lead to: duplicate location .* in a\.conf:5:25\n/,
    );
    expect(readFileSync(join(dir, 'a.conf'), 'utf8')).toBe(text);
  });

  test('show as a patch with --diff, and change nothing', async (t) => {
    const dir = directoryWith(t, { 'a.conf': ignored });
    const said = await check(dir, ['a.conf', '--diff', '--select', 'GW121,GW301']);
    expect(said).toMatchObject({ code: 1, stderr: '' });
    expect(said.stdout).toMatch(
      /^--- a\.conf\n\+\+\+ a\.conf\n@@ .*\n[^]*\n- {8}# gw-ignore GW301: it was so\n/,
    );
    expect(readFileSync(join(dir, 'a.conf'), 'utf8')).toBe(ignored);
    expect(await check(dir, ['a.conf', '--diff', '--select', 'GW3'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });
});

describe('a baseline', () => {
  async function withBaseline(t: Owner): Promise<string> {
    const dir = directoryWith(t, { 'a.conf': whole(ALIAS) });
    const said = await check(dir, ['a.conf', '--write-baseline', '--select', 'GW301']);
    expect(said).toEqual({ code: 0, stdout: '', stderr: 'gw: 1 finding kept in gw-baseline.json\n' });
    return dir;
  }
  const args = ['a.conf', '--baseline', 'gw-baseline.json', '--select', 'GW301'];

  test('leaves out what it holds, wherever its line is by now', async (t) => {
    const dir = await withBaseline(t);
    writeFileSync(join(dir, 'a.conf'), `# new\n\n${whole(`# newer\n${ALIAS.replace(' { ', '\n{\n  ')}`)}`);
    expect(await check(dir, args)).toMatchObject({ code: 0, stdout: '' });
  });

  test('does not leave out the same fault a second time', async (t) => {
    const dir = await withBaseline(t);
    writeFileSync(join(dir, 'a.conf'), whole(`${ALIAS} location /i { alias /srv/i/; }`));
    const said = await check(dir, args);
    expect(said).toMatchObject({ code: 1, stdout: expect.stringMatching(/^[^\n]*"\/i"[^\n]*\n$/) as string });
  });

  test('does not hide what keeps the configuration from loading', async (t) => {
    const dir = directoryWith(t, { 'a.conf': whole('retrun 204;') });
    expect(await check(dir, ['a.conf', '--write-baseline', 'b.json'])).toMatchObject({ code: 1 });
    expect(await check(dir, ['a.conf', '--baseline', 'b.json'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('GW105') as string,
    });
  });
});
