import type { DocumentSymbol, FoldingRange, SymbolInformation, TextEdit } from 'vscode-languageserver/node';
import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../../harness/owner.ts';
import { type Client, covered, startClient } from './client.ts';

const owner = wholeFile();
let client: Client;

beforeAll(async () => {
  client = await startClient(owner, {}, { workspace: false });
});

async function opened(path: string, text: string) {
  await client.open(path, text);
  return { textDocument: { uri: client.uri(path) } };
}

const SITE = `# a site
# of two lines
http {
  log_format brief '$status';
  upstream app {
    server 127.0.0.1:9000;
  }
  map $uri $kind {
    default 1;
  }
  server {
    listen 80;
    server_name a.example b.example;
    location = /x { return 204; }
    location @other {
      if ($arg_x) {
        return 403;
      }
    }
  }
}
`;

/** The names of symbols, nested ones indented. */
function outline(symbols: readonly DocumentSymbol[], indent = ''): readonly string[] {
  return symbols.flatMap(({ name, children = [] }) => [indent + name, ...outline(children, `${indent}  `)]);
}

test('the outline of a file has its blocks and the names that it defines', async () => {
  const symbols = await client.request<DocumentSymbol[]>(
    'textDocument/documentSymbol',
    await opened('outline', SITE),
  );
  expect(outline(symbols)).toEqual([
    'http',
    "  log_format brief '$status'",
    '  upstream app',
    '  map $uri $kind',
    '  server a.example b.example',
    '    location = /x',
    '    location @other',
    '      if ($arg_x)',
  ]);
});

test('the outline of a broken file has what can be recognised', async () => {
  const text = 'http {\n server {\n listen 80\n location /a {\n } location /b {';
  const symbols = await client.request<DocumentSymbol[]>(
    'textDocument/documentSymbol',
    await opened('broken', text),
  );
  expect(outline(symbols)).toEqual(['http', '  server 80', '    location /a', '    location /b']);
});

test('symbols of all open files are found by letters in their order', async () => {
  await opened('symbols', SITE);
  const found = await client.request<SymbolInformation[]>('workspace/symbol', { query: 'BRF' });
  expect(found.map(({ name, containerName }) => [name, containerName])).toContainEqual([
    'brief',
    'log format',
  ]);
  expect(found.map(({ name }) => name)).not.toContain('kind');
});

test('blocks and runs of comments fold, and the closing brace stays visible', async () => {
  const ranges = await client.request<FoldingRange[]>(
    'textDocument/foldingRange',
    await opened('folding', SITE),
  );
  expect(
    ranges.map(({ startLine, endLine, kind = 'block' }) => `${startLine}-${endLine} ${kind}`).sort(),
  ).toEqual(
    [
      '0-1 comment',
      '2-19 block',
      '4-5 block',
      '7-8 block',
      '10-18 block',
      '14-17 block',
      '15-16 block',
    ].sort(),
  );
});

const formats = [
  { it: 'indents', text: 'http{gzip   on;}', gives: 'http {\n  gzip on;\n}\n' },
  {
    it: 'changes only the lines that differ',
    text: 'events {}\nhttp {\ngzip on;\n}\n',
    gives: 'events {}\nhttp {\n  gzip on;\n}\n',
  },
  { it: 'leaves a formatted text alone', text: 'http {\n  gzip on;\n}\n', gives: 'http {\n  gzip on;\n}\n' },
  { it: 'leaves a text alone that does not parse', text: 'http{gzip on;', gives: 'http{gzip on;' },
  { it: 'adds the last line end', text: 'daemon off;\n\npid a;', gives: 'daemon off;\n\npid a;\n' },
  { it: 'removes blank lines at the end', text: 'daemon off;\n\n\n\n', gives: 'daemon off;\n' },
  {
    it: 'indents by tabs where the editor does',
    text: 'http{gzip on;}',
    gives: 'http {\n\tgzip on;\n}\n',
    tabs: true,
  },
];

for (const { it, text, gives, tabs = false } of formats) {
  test(`formatting ${it}`, async () => {
    const at = await opened(`format ${it}`, text);
    const options = { tabSize: 2, insertSpaces: !tabs };
    const edits = await client.request<TextEdit[]>('textDocument/formatting', { ...at, options });
    let result = text;
    for (const { newText, range } of edits) {
      const head = covered(text, { start: { line: 0, character: 0 }, end: range.start });
      result = head + newText + text.slice(head.length + covered(text, range).length);
    }
    expect(result).toBe(gives);
    expect(edits).toHaveLength(text === gives ? 0 : 1);
  });
}
