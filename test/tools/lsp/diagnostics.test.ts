import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Diagnostic } from 'vscode-languageserver/node';
import { beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { wholeFile } from '../../harness/owner.ts';
import { type Client, covered, startClient } from './client.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../../conf/examples');

/** Line, stretch of the text, severity, rule and first line of the message. */
function shown(text: string, diagnostics: readonly Diagnostic[]): readonly string[] {
  return diagnostics.map(({ code, message, range, severity }) =>
    [
      range.start.line + 1,
      covered(text, range),
      severity,
      code,
      (typeof message === 'string' ? message : message.value).split('\n')[0],
    ].join(' | '),
  );
}

const cases = [
  {
    it: 'an unknown directive',
    text: 'events {}\nhttp {\n  servr { }\n}\n',
    says: ['3 | servr | 1 | GW105 | unknown directive "servr"'],
  },
  {
    it: 'a value, behind characters of two UTF-16 units',
    text: 'http { server { listen 80; return 200 "😀😀"; etag onn; } }',
    says: ['1 | onn | 1 | GW108 | invalid value "onn" in "etag" directive, it must be "on" or "off"'],
  },
  {
    it: 'a block that is not closed',
    text: 'http {\n  server {\n    listen 80;\n',
    says: [expect.stringContaining('unexpected end of file, expecting "}"')],
  },
  { it: 'nothing in a good configuration', text: 'http { server { listen 8080; return 204; } }', says: [] },
  { it: 'nothing in an empty text', text: '', says: [] },
];

const owner = wholeFile();
const certificates = new Certificates();
let shared: Client;

beforeAll(async () => {
  if (HAS_OPENSSL) certificates.authority('shop');
  owner.onTestFinished(async () => rmSync(certificates.dir, { recursive: true }));
  const [certificate, key] = [certificates.path('shop.crt'), certificates.path('shop.key')];
  const env = { CERTIFICATE: certificate, KEY: key, STORE_CA: certificate };
  shared = await startClient(owner, {}, { workspace: false, env });
});

/** The diagnostics of a text alone: each change has all open texts checked. */
async function diagnosticsOf(path: string, text: string): Promise<readonly Diagnostic[]> {
  await shared.open(path, text);
  const found = await shared.diagnostics(path);
  await shared.close(path);
  return found;
}

for (const [index, { it, text, says }] of cases.entries()) {
  test(`an editor shows ${it}`, async () => {
    expect(shown(text, await diagnosticsOf(`${index}/gateway.conf`, text))).toEqual(says);
  });
}

test('diagnostics are updated with each change of the text', async () => {
  const text = 'http {\n  server {\n    listen 8080;\n    retrun 204;\n  }\n}\n';
  const path = 'updated/gateway.conf';
  await shared.open(path, text);
  expect(await shared.diagnostics(path)).toMatchObject([{ range: { start: { line: 3, character: 4 } } }]);
  const word = { start: { line: 3, character: 4 }, end: { line: 3, character: 10 } };
  await shared.change(
    path,
    { range: word, text: '' },
    {
      range: { start: word.start, end: word.start },
      text: 'return',
    },
  );
  expect(await shared.diagnostics(path)).toEqual([]);
  await shared.close(path);
});

test('a file is checked as part of the configuration that includes it, with the unsaved texts of both', async (t) => {
  const client = await startClient(t, {
    'nginx.conf': 'http { include sites/*.conf; }',
    'sites/a.conf': 'server { listen 8080; return 204; }',
  });
  await client.open('sites/a.conf', 'server { listen 8080; proxy_pas; }');
  expect(await client.diagnostics('sites/a.conf')).toMatchObject([{ code: 'GW105' }]);
  await client.open('nginx.conf', 'http { server { include sites/*.conf; } }');
  await client.change('sites/a.conf', { text: 'listen 8080;' });
  expect(await client.diagnostics('sites/a.conf')).toEqual([]);
  await client.change('sites/a.conf', { text: 'server { listen 8080; }' });
  expect(await client.diagnostics('sites/a.conf')).toMatchObject([
    { message: expect.stringContaining('"server" directive is not allowed here') },
  ]);
});

test('a client can name the main file', async (t) => {
  const client = await startClient(
    t,
    { 'odd/start': 'http { include part; }' },
    { initializationOptions: { main: 'odd/start' } },
  );
  await client.open('odd/part', 'server { listen 8080; oops; }');
  expect(await client.diagnostics('odd/part')).toMatchObject([{ code: 'GW105' }]);
});

test('a fault of an included file that is not open is shown too, and disappears with the file', async (t) => {
  const client = await startClient(t, { 'a.inc': 'oops;' });
  await client.open('gateway.conf', 'http { include a.inc; }');
  expect(await client.diagnostics('a.inc')).toMatchObject([{ code: 'GW105' }]);
  await client.change('gateway.conf', { text: 'http { }' });
  await client.diagnostics('gateway.conf');
  expect(await client.diagnostics('a.inc')).toEqual([]);
});

test('a change on the disk is noticed', async (t) => {
  const client = await startClient(t, { 'a.inc': 'oops;' });
  await client.open('gateway.conf', 'http { include a.inc; }');
  expect(await client.diagnostics('a.inc')).toHaveLength(1);
  client.write({ 'a.inc': 'gzip on;' });
  const next = client.nextDiagnostics('a.inc');
  await client.notify('workspace/didChangeWatchedFiles', {
    changes: [{ uri: client.uri('a.inc'), type: 2 }],
  });
  expect(await next).toEqual([]);
});

const pieces = [
  { it: 'is guessed to be for a server', text: 'listen 8080;\nlocation / { return 204; }\n', says: [] },
  {
    it: 'may name its context',
    text: '# gw-context: http, location\nallow all;\n',
    says: [],
  },
  {
    it: 'gets no diagnostics for what the rest of the configuration may define',
    text: '# gw-context: http, server\nlimit_req zone=elsewhere;\nadd_header A $elsewhere;\naccess_log a.log elsewhere;\nlocation @elsewhere { return 204; }\n',
    says: [],
  },
  {
    it: 'is checked for the context that it names',
    text: '# gw-context: http\nlocation / { }\n',
    says: [expect.stringContaining('"location" directive is not allowed here')],
  },
];

for (const { it, text, says } of pieces) {
  test(`a piece of configuration that nothing includes ${it}`, async () => {
    const found = await diagnosticsOf(`${it}/piece.inc`, text);
    expect(found.map(({ message }) => message)).toEqual(says);
  });
}

test('a text that was never saved is checked too', async () => {
  expect(await diagnosticsOf('untitled:Untitled-1', 'http { oops; }')).toMatchObject([{ code: 'GW105' }]);
});

test('two places of a fault are linked', async () => {
  const path = 'linked/gateway.conf';
  const found = await diagnosticsOf(path, 'http { server { location /i { alias /srv/img/; } } }');
  const traversal = found.find(({ code }) => code === 'GW301');
  expect(traversal?.relatedInformation).toMatchObject([{ location: { uri: shared.uri(path) } }]);
});

for (const name of readdirSync(EXAMPLES).filter((file) => file.endsWith('.conf'))) {
  test.skipIf(/\btls\b/.test(name) && !HAS_OPENSSL)(`the example ${name} opens without errors`, async () => {
    const path = join(EXAMPLES, name);
    const uri = `file:${path}`;
    const found = await diagnosticsOf(uri, readFileSync(path, 'utf8'));
    expect(found.filter(({ severity }) => severity === 1)).toEqual([]);
  });
}
