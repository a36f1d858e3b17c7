import type { Hover } from 'vscode-languageserver/node';
import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../../harness/owner.ts';
import { type Client, startClient } from './client.ts';

const owner = wholeFile();
let client: Client;

beforeAll(async () => {
  client = await startClient(owner, {}, { workspace: false });
});

const hovers = [
  {
    it: 'a directive',
    text: 'http { server { list|en 80; } }',
    shows: ['listen address[:port[-port]]', 'Context: server', 'nginx.org/en/docs'],
  },
  {
    it: 'the first letter of a directive',
    text: 'http { |gzip on; }',
    shows: ['gzip on | off;', 'Default: `off`'],
  },
  {
    it: 'a name that means two things by its block',
    text: 'http { upstream a { serv|er b; } }',
    shows: ['server address'],
  },
  { it: 'include', text: 'incl|ude x;', shows: ['include file | mask;'] },
  {
    it: 'a built-in variable',
    text: 'http { server { return 200 $request_u|ri; } }',
    shows: ['$request_uri'],
  },
  {
    it: 'a variable of a family',
    text: 'http { server { return 200 "${arg_x|y}"; } }',
    shows: ['$arg_NAME'],
  },
  {
    it: 'a variable of the configuration',
    text: 'http { map $uri $kind { default 1; }\n server { return 200 $ki|nd; } }',
    shows: ['map $uri $kind { default 1; }', 'variable, defined in'],
  },
  {
    it: 'an upstream',
    text: 'http { upstream app { server 10.0.0.1; }\n server { location / { proxy_pass http://a|pp; } } }',
    shows: ['server 10.0.0.1;'],
  },
];

for (const [index, { it, text, shows }] of hovers.entries()) {
  test(`hovering shows ${it}`, async () => {
    const at = await client.openAt(`hover-${index}`, text);
    const { contents } = await client.request<Hover>('textDocument/hover', at);
    for (const part of shows)
      expect(contents).toMatchObject({ kind: 'markdown', value: expect.stringContaining(part) });
  });
}

test('hovering shows nothing in a comment', async () => {
  const at = await client.openAt('hover-comment', 'http { # list|en\n }');
  expect(await client.request('textDocument/hover', at)).toBeNull();
});
