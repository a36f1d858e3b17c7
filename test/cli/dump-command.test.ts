import { mkdtempSync, rmSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test, vi } from 'vitest';
import { load } from '../../src/pipeline.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

const CONF = `worker_processes 2; # gone
http {
    include sub/*.inc;
    server {
        listen 127.0.0.1:18999;
        server_name a.test *.a.test;
        location / { kv_pass "redis://u:topsecret@127.0.0.1"; kv_timeout 2s; }
        location = /in { internal; return 204; }
        location /empty/ { location ~ ^/empty/(.*)$ { return 200 $1; } }
    }
    include late.inc;
}
`;
const files = {
  'gateway.conf': CONF,
  'sub/a.inc': 'kv_timeout 1s;\nproxy_connect_timeout ${env:GW_T_TIME};\n',
  'sub/b.inc': 'types { text/x-a a; }\n',
  'late.inc': 'server { listen 127.0.0.1:18998; return 200 "x y"; }\n',
};
const COMBINED = `# gateway.conf
worker_processes 2;
http {
    # sub/a.inc
    kv_timeout 1s;
    proxy_connect_timeout \${env:GW_T_TIME};
    # sub/b.inc
    types {
        text/x-a a;
    }
    # gateway.conf
    server {
        listen 127.0.0.1:18999;
        server_name a.test *.a.test;
        location / {
            kv_pass "redis://u:***@127.0.0.1";
            kv_timeout 2s;
        }
        location = /in {
            internal;
            return 204;
        }
        location /empty/ {
            location ~ ^/empty/(.*)$ {
                return 200 $1;
            }
        }
    }
    # late.inc
    server {
        listen 127.0.0.1:18998;
        return 200 "x y";
    }
}
`;
const env = { GW_T_TIME: '3s' };

test('gw dump config prints one text with included files in place and secrets masked', async (t) => {
  const said = await gw(directoryWith(t, files), ['dump', 'config'], env);
  expect(said).toEqual({ code: 0, stderr: '', stdout: COMBINED });
});

interface Block {
  readonly words: readonly string[];
  readonly place: string;
  readonly directives: readonly { readonly directive: string }[];
  readonly blocks: readonly Block[];
}

test('gw dump config --json gives the settings of each block, and where they are written', async (t) => {
  const { stdout } = await gw(directoryWith(t, files), ['dump', 'config', '--json'], env);
  expect(stdout).not.toMatch(/topsecret|3s|3000/);
  const { main, ...whole } = JSON.parse(stdout) as { main: Block; files: string[] };
  expect(whole.files).toEqual(['gateway.conf', 'sub/a.inc', 'sub/b.inc', 'late.inc']);
  const [root, inner] = main.blocks[0]?.blocks[0]?.blocks ?? [];
  const of = (block: Block | undefined, name: string) =>
    block?.directives.find(({ directive }) => directive === name);
  expect(root).toMatchObject({ words: ['/'], place: 'gateway.conf:7' });
  expect(of(root, 'kv_timeout')).toEqual({
    directive: 'kv_timeout',
    module: 'kv',
    words: ['2s'],
    place: 'gateway.conf:7',
    inherited: false,
    value: 2000,
  });
  expect(of(root, 'kv_pass')).toMatchObject({ words: ['"redis://u:***@127.0.0.1"'] });
  expect(of(inner, 'kv_timeout')).toMatchObject({ place: 'sub/a.inc:1', inherited: true, value: 1000 });
  expect(of(inner, 'proxy_connect_timeout')).toEqual({
    directive: 'proxy_connect_timeout',
    module: 'proxy',
    words: ['${env:GW_T_TIME}'],
    place: 'sub/a.inc:2',
    inherited: true,
  });
});

test('gw dump routes shows the handler of each location, in the order of matching', async (t) => {
  const dir = directoryWith(t, files);
  const said = await gw(dir, ['dump', 'routes', '-c', 'gateway.conf'], env);
  expect(said).toMatchObject({ code: 0, stderr: '' });
  expect(said.stdout.split('\n').map((line) => line.trimEnd().split(/ {2,}/))).toEqual([
    ['LISTEN', 'SERVER', 'LOCATION', 'ANSWERED BY', 'PLACE'],
    ['127.0.0.1:18999 (default)', 'a.test *.a.test', 'gateway.conf:4'],
    ['', '= /in (internal)', 'return', 'gateway.conf:8'],
    ['', '/empty/', 'files', 'gateway.conf:9'],
    ['', '~ ^/empty/(.*)$', 'return', 'gateway.conf:9'],
    ['', '/', 'kv_pass', 'gateway.conf:7'],
    ['127.0.0.1:18998 (default)', '""', 'return', 'late.inc:1'],
    [''],
  ]);
  const [server] = JSON.parse((await gw(dir, ['dump', 'routes', '--json'], env)).stdout) as unknown[];
  expect(server).toMatchObject({
    label: 'a.test',
    listens: [{ address: '127.0.0.1:18999', isDefault: true }],
    root: { locations: [{ text: '= /in', internal: true, answeredBy: 'return' }, {}, { text: '/' }] },
  });
});

const runRefused = firstAsProgram();
for (const what of ['config', 'routes', 'schema', 'openapi']) {
  test(`gw dump ${what} of a configuration that is refused reports the faults and dumps nothing`, async (t) => {
    const dir = directoryWith(t, { 'gateway.conf': 'http { server { listn 80; } }\n' });
    const said = await runRefused(dir, ['dump', what]);
    expect(said).toMatchObject({ code: 1, stdout: '' });
    expect(said.stderr).toContain('unknown directive "listn" in gateway.conf:1');
  });
}

const EXAMPLES = resolve(import.meta.dirname, '../../conf/examples');

/** The rest of a plan consists of places and the name of the file. */
function planOf(confFile: string): string {
  const { plan } = load({ confFile, name: 'x', prefix: EXAMPLES });
  const { servers, ports, upstreams, zones } = plan ?? {};
  return JSON.stringify({ servers, ports, upstreams, zones }, (key, value: unknown) =>
    key === 'place' || key === 'span' ? undefined : value,
  );
}

test('the output of gw dump config has the plan of the example', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gw-dump-'));
  t.onTestFinished(() => rmSync(dir, { recursive: true }));
  // The key that is masked below is that of the example, whatever the caller's environment has.
  vi.stubEnv('PUBLISH_KEY', undefined);
  // The others read files beside them.
  const names = readdirSync(EXAMPLES).filter(
    (name) =>
      name.endsWith('.conf') &&
      !['tls.conf', 'key-value-tls.conf', 'tokens.conf', 'issuers.conf', 'api-keys.conf'].includes(name),
  );
  for (const name of names) {
    const { stdout } = await gw(dir, ['dump', 'config', '-c', join(EXAMPLES, name), '-p', EXAMPLES]);
    writeFileSync(join(dir, name), stdout);
    const expected = planOf(join(EXAMPLES, name))
      .replaceAll(EXAMPLES, dir)
      .replaceAll('an-example-key-to-replace', '***');
    expect(planOf(join(dir, name)).replaceAll(EXAMPLES, dir), name).toBe(expected);
  }
});
