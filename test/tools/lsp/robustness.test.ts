import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../../harness/owner.ts';
import { type Client, startClient } from './client.ts';
import { perTier } from '../../harness/tier.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../../conf/examples');

const owner = wholeFile();
let client: Client;

beforeAll(async () => {
  client = await startClient(owner, {}, { workspace: false });
});

const AT_CURSOR = ['completion', 'hover', 'definition', 'documentHighlight'];
const WHOLE = ['documentSymbol', 'foldingRange', 'documentLink'];

/** Sends every request about a place; fails when one gets an error. Anything that the server logs fails the file. */
async function askAll(path: string, line: number, character: number): Promise<true> {
  const textDocument = { uri: client.uri(path) };
  const position = { line, character };
  const context = { includeDeclaration: true };
  const options = { tabSize: 4, insertSpaces: true };
  const range = { start: position, end: position };
  await Promise.all([
    ...AT_CURSOR.map((what) => client.request(`textDocument/${what}`, { textDocument, position })),
    ...WHOLE.map((what) => client.request(`textDocument/${what}`, { textDocument })),
    client.request('textDocument/references', { textDocument, position, context }),
    client.request('textDocument/formatting', { textDocument, options }),
    client.request('textDocument/codeAction', { textDocument, range, context: { diagnostics: [] } }),
  ]);
  return true;
}

/** The number of characters by which the typed text grows. */
const STEP = perTier({ short: 1_201, long: 101 });

/** A megabyte takes longer on a busy machine. */
const LONG_MS = 120_000;

for (const name of readdirSync(EXAMPLES).filter((file) => file.endsWith('.conf'))) {
  test(`every request gets a result while ${name} is typed from its start`, async () => {
    const text = readFileSync(join(EXAMPLES, name), 'utf8');
    await client.open(name, '');
    for (let end = 0; end < text.length; end += STEP) {
      const typed = text.slice(0, end);
      await client.change(name, { text: typed });
      const lines = typed.split('\n');
      await askAll(name, lines.length - 1, (lines.at(-1) ?? '').length);
    }
    expect(await client.diagnostics(name)).toBeDefined();
    await client.close(name);
  });
}

const broken = [
  '}}}}',
  '{{{{',
  ';;;',
  '"',
  "http { server { return 200 'a",
  'http { map $a {',
  '$',
  '${',
  'http { include ${env:NO_SUCH};',
  'include gateway.conf;',
  'http { server { location ~ ( { } } }',
  '\0\u0001\uFEFF',
  '\uD800 \uDC00',
  'http {\r\n  gzip onn;\r\n}\r\n',
  '#',
  'a'.repeat(10_000),
  '{ '.repeat(5_000),
  'server_by_lua_block { } }',
];

for (const [index, text] of broken.entries()) {
  test(`every request gets a result in ${JSON.stringify(text.slice(0, 40))}`, async () => {
    const path = `broken-${index}/gateway.conf`;
    await client.open(path, text);
    for (const end of [0, 1, text.length]) {
      const lines = text.slice(0, end).split('\n');
      await askAll(path, lines.length - 1, (lines.at(-1) ?? '').length);
    }
    expect(await client.diagnostics(path)).toBeDefined();
    await client.close(path);
  });
}

test('requests about positions beyond the text get a result', async () => {
  await client.open('beyond', 'http { }');
  expect(await askAll('beyond', 1_000, 1_000)).toBe(true);
});

/** Of some 50 bytes each. */
const LOCATIONS = perTier({ short: 1_500, long: 20_000 });

test(
  `a text of ${50 * LOCATIONS} bytes gets results while it is typed in`,
  async () => {
    const location = (_: unknown, index: number): string =>
      `    location /path/${index} { return 200 "$host ${index}"; }\n`;
    const text = `http {\n  server {\n    listen 8080;\n${Array.from({ length: LOCATIONS }, location).join('')}  }\n}\n`;
    expect(text.length).toBeGreaterThan(50 * LOCATIONS);
    await client.open('large/gateway.conf', text);
    for (const typed of ['r', 'e']) {
      const start = { line: 3, character: 4 };
      await client.change('large/gateway.conf', { range: { start, end: start }, text: typed });
      const textDocument = { uri: client.uri('large/gateway.conf') };
      const position = { line: 3, character: 5 };
      expect(await client.request('textDocument/completion', { textDocument, position })).not.toEqual([]);
    }
    await askAll('large/gateway.conf', 3, 5);
    const end = { line: 3, character: 6 };
    await client.change('large/gateway.conf', { range: { start: { line: 3, character: 4 }, end }, text: '' });
    const errors = (await client.diagnostics('large/gateway.conf')).filter(({ severity }) => severity === 1);
    expect(errors).toEqual([]);
  },
  LONG_MS,
);
