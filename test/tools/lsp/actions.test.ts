import type { CodeAction } from 'vscode-languageserver/node';
import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../../harness/owner.ts';
import { type Client, covered, startClient } from './client.ts';

const owner = wholeFile();
let client: Client;

beforeAll(async () => {
  client = await startClient(owner, {}, { workspace: false });
});

const FILE = 'gateway.conf';

/** The actions for the first diagnostic of a text. */
async function actionsIn(
  dir: string,
  text: string,
  only?: readonly string[],
): Promise<readonly CodeAction[]> {
  await client.open(`${dir}/${FILE}`, text);
  const diagnostics = await client.diagnostics(`${dir}/${FILE}`);
  const range = diagnostics[0]?.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  return client.request('textDocument/codeAction', {
    textDocument: { uri: client.uri(`${dir}/${FILE}`) },
    range,
    context: { diagnostics, ...(only && { only }) },
  });
}

/** The text after an action. */
function after(text: string, dir: string, { edit }: CodeAction): string {
  let result = text;
  for (const { newText, range } of (edit?.changes?.[client.uri(`${dir}/${FILE}`)] ?? []).toReversed()) {
    const head = covered(text, { start: { line: 0, character: 0 }, end: range.start });
    result = head + newText + result.slice(head.length + covered(text, range).length);
  }
  return result;
}

const cases = [
  {
    it: 'puts the directive that was meant',
    text: 'http { server { retrun 200; } }',
    title: /"return"/,
    gives: 'http { server { return 200; } }',
  },
  {
    it: 'puts the variable that was meant',
    text: 'http { server { listen 8080; return 200 "a$requst_uri"; } }',
    title: /request_uri/,
    gives: 'http { server { listen 8080; return 200 "a$request_uri"; } }',
  },
  {
    it: 'silences a rule, leaving the reason to be written',
    text: 'http {\n  server {\n    listen 8080;\n    location /i {\n      alias /srv/img/;\n    }\n  }\n}\n',
    title: /^ignore GW301/,
    gives:
      'http {\n  server {\n    listen 8080;\n    location /i {\n      # gw-ignore GW301: reason\n      alias /srv/img/;\n    }\n  }\n}\n',
  },
];

for (const [index, { it, text, title, gives }] of cases.entries()) {
  test(`a quick fix ${it}`, async () => {
    const actions = await actionsIn(`fix-${index}`, text);
    const action = actions.find((one) => title.test(one.title));
    expect(action, JSON.stringify(actions.map((one) => one.title))).toBeDefined();
    expect(action?.kind).toBe('quickfix');
    expect(action?.diagnostics).toHaveLength(1);
    expect(after(text, `fix-${index}`, action as CodeAction)).toBe(gives);
  });
}

test('all safe fixes are applied at once, and no others', async () => {
  const text =
    'http {\n  server {\n    listen 8080\n    location /i {\n      alias /srv/img/;\n      gzip on\n    }\n  }\n}\n';
  const actions = await actionsIn('all', text, ['source.fixAll']);
  expect(actions.map(({ kind }) => kind)).toEqual(['source.fixAll']);
  expect(after(text, 'all', actions[0] as CodeAction)).toBe(
    text.replace('listen 8080', 'listen 8080;').replace('gzip on', 'gzip on;'),
  );
});

test('a fault that prevents loading cannot be silenced', async () => {
  const actions = await actionsIn('loud', 'http { oops; }');
  expect(actions.filter(({ title }) => title.startsWith('ignore'))).toEqual([]);
});

test('a client that requests no quick fixes gets none', async () => {
  expect(await actionsIn('none', 'http { server { retrun 200; } }', ['refactor'])).toEqual([]);
});
