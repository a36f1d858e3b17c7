import { describe, expect, test } from 'vitest';
import { ALIAS, checks, checkText, whole } from './checking.ts';
import { directoryWith } from './command.ts';

const check = checks();

describe('pieces of configuration', () => {
  const site = `server {\n    listen 127.0.0.1:8080;\n    ${ALIAS}\n    location / { proxy_pass http://elsewhere; }\n}\n`;
  const pieces = {
    'nginx.conf': 'events {}\nhttp { include sites/*.conf; }\n',
    'sites/shop.conf': site,
    'lonely.conf': ALIAS,
    'said.conf': `# gw-context: http, server\n${ALIAS}\n`,
    'data.conf': '/a 1;\n/b 2;\n',
  };

  test('are checked in the context that their directives imply', async (t) => {
    const dir = directoryWith(t, pieces);
    const { stdout } = await check(dir, ['sites/shop.conf', 'lonely.conf', 'said.conf', '--select', 'GW301']);
    expect(stdout).toMatch(
      /^sites\/shop\.conf:3:21: error GW301.*\nlonely\.conf:1:17: .*\nsaid\.conf:2:17: .*\n$/,
    );
  });

  test('are checked in the context that --context names', async (t) => {
    const said = await check(directoryWith(t, pieces), ['--context', 'upstream', 'lonely.conf']);
    expect(said.stdout).toMatch(/^lonely\.conf:1:1: error GW106 wrong-context: /);
  });

  test('in a directory are checked once, with the file that includes them', async (t) => {
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

describe('standard input', () => {
  test('has the given name, and includes start from its directory', (t) => {
    const dir = directoryWith(t, { 'conf/inner.conf': ALIAS });
    const said = checkText(dir, whole('include inner.conf;'), ['-', '--stdin-filename', 'conf/main.conf']);
    expect(said).toEqual({ code: 1, stdout: expect.stringMatching(/^conf\/inner\.conf:1:17: /) as string });
  });

  test('is printed mended', (t) => {
    const dir = directoryWith(t, {});
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
  test('is read as the files that it contains', (t) => {
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
