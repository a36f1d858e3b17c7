import type { CompletionItem, Position } from 'vscode-languageserver/node';
import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../../harness/owner.ts';
import { type Client, covered, startClient, withCursor } from './client.ts';

interface Case {
  readonly it: string;
  /** The text; `|` is the cursor. */
  readonly text: string;
  readonly files?: Readonly<Record<string, string>>;
  /** The name of the file; default `gateway.conf`. */
  readonly file?: string;
  readonly offers?: readonly string[];
  readonly not?: readonly string[];
  /** The complete list of proposals. */
  readonly only?: readonly string[];
  /** The text after the first of `offers` is accepted. */
  readonly gives?: string;
}

const NAMES = `http {
  upstream app { server 127.0.0.1:9000; }
  limit_req_zone $binary_remote_addr zone=one:1m rate=1r/s;
  limit_conn_zone $binary_remote_addr zone=two:1m;
  shared_dict_zone zone=flags:1m;
  log_format brief '$status';
  map $uri $kind { default a; }
  server {
    location /e { worker_events_zone ring; worker_events_api; }
    location @else { return 404; }
    location ~ ^/(?<section>\\w+)/ { set $mine 1; CURSOR }
  }
}`;

const inLocation = (text: string): string => NAMES.replace('CURSOR', text);

const cases: readonly Case[] = [
  {
    it: 'directives of the main context',
    text: '|',
    offers: ['http', 'worker_processes', 'include', 'events'],
    not: ['proxy_pass', 'server'],
  },
  {
    it: 'directives of a server',
    text: 'http { server { | } }',
    offers: ['listen', 'location', 'server_name', 'if'],
    not: ['http', 'upstream', 'proxy_pass'],
  },
  {
    it: 'directives of a block that is not closed',
    text: 'http {\n  server {\n    loc|',
    offers: ['location'],
    gives: 'http {\n  server {\n    location ${1} {\n\t$0\n}',
  },
  {
    it: 'directives behind one that lacks its semicolon',
    text: 'http {\n  server {\n    listen 80\n    ro|\n  }\n}',
    offers: ['root'],
  },
  {
    it: 'directives on an empty line behind one that lacks its semicolon',
    text: 'http {\n  server {\n    listen 80\n    |\n  }\n}',
    offers: ['root'],
    not: ['default_server'],
  },
  {
    it: 'a name without the rest, where words follow already',
    text: 'http { server { liste| 80; } }',
    offers: ['listen'],
    gives: 'http { server { listen 80; } }',
  },
  {
    it: 'a choice as a choice',
    text: 'http {\n  gzi|\n}',
    offers: ['gzip'],
    gives: 'http {\n  gzip ${1|on,off|};\n}',
  },
  {
    it: 'the server of an upstream',
    text: 'http { upstream a { | } }',
    offers: ['server', 'ip_hash'],
    not: ['listen'],
  },
  { it: 'nothing in a comment', text: 'http { # proxy_| \n }', only: [] },
  { it: 'nothing but include in lines of data', text: 'http { types { | } }', only: ['include'] },
  { it: 'on and off', text: 'http { gzip | }', only: ['off', 'on'] },
  {
    it: 'one of a few names',
    text: 'http { server { location / { kv_command | } } }',
    offers: ['get', 'set', 'mget'],
  },
  {
    it: 'words of a syntax',
    text: 'http { server { listen 80 | } }',
    offers: ['ssl', 'default_server', 'engine=node'],
  },
  { it: 'nothing behind the last word', text: 'http { gzip on | }', only: [] },
  {
    it: 'variables: built-in, families, defined ones and captures',
    text: inLocation('return 200 $|;'),
    offers: ['$host', '$arg_', '$kind', '$mine', '$section'],
  },
  {
    it: 'variables in braces',
    text: inLocation('return 200 "a${kin|}b";'),
    offers: ['${kind}', '${host}'],
    gives: inLocation('return 200 "a${kind}b";'),
  },
  {
    it: 'upstreams',
    text: inLocation('proxy_pass http://|;'),
    only: ['http://app'],
    gives: inLocation('proxy_pass http://app;'),
    offers: ['http://app'],
  },
  {
    it: 'upstreams in front of a path',
    text: inLocation('proxy_pass http://a|/path;'),
    offers: ['http://app'],
    gives: inLocation('proxy_pass http://app/path;'),
  },
  {
    it: 'zones of requests',
    text: inLocation('limit_req |;'),
    offers: ['zone=one', 'burst='],
    not: ['zone=two'],
  },
  { it: 'zones of connections', text: inLocation('limit_conn |;'), only: ['two'] },
  { it: 'event rings', text: inLocation('worker_events_zone |;'), only: ['cluster=', 'ring'] },
  { it: 'dictionaries', text: inLocation('control_flags_zone |;'), only: ['flags'] },
  { it: 'named locations', text: inLocation('try_files $uri |;'), only: ['@else'] },
  { it: 'named locations behind @', text: inLocation('error_page 404 @|;'), offers: ['@else'] },
  {
    it: 'named locations of this server only',
    text: 'http { server { location @a { } } server { location @b { } error_page 404 @|; } }',
    offers: ['@b'],
    not: ['@a'],
  },
  { it: 'formats of logs', text: inLocation('access_log off.log |;'), offers: ['brief', 'buffer='] },
  {
    it: 'files of the directory of the configuration',
    text: 'include conf.d/|;',
    files: { 'conf.d/a.conf': '', 'conf.d/b/c.conf': '' },
    only: ['a.conf', 'b/'],
  },
  {
    it: 'certificates',
    text: 'http { server { ssl_certificate c|; } }',
    files: { 'cert.pem': '' },
    offers: ['cert.pem'],
  },
  {
    it: 'what is allowed where the file is included',
    file: 'servers/a.conf',
    files: { 'gateway.conf': 'http { include servers/*.conf; }', 'servers/a.conf': '' },
    text: '|',
    offers: ['server', 'upstream'],
    not: ['listen', 'events'],
  },
  {
    it: 'names of other files',
    file: 'servers/a.conf',
    files: { 'gateway.conf': 'http { upstream app { server a; } include servers/*; }', 'servers/a.conf': '' },
    text: 'server { location / { proxy_pass |; } }',
    offers: ['http://app'],
  },
  {
    it: 'what fits to a piece of configuration',
    file: 'piece',
    text: 'listen 80;\nserver_name a;\n|',
    offers: ['location'],
    not: ['http'],
  },
  {
    it: 'directives of the context that a comment names',
    file: 'piece',
    text: '# gw-context: http, upstream\n|',
    offers: ['server', 'keepalive'],
    not: ['http'],
  },
  {
    it: 'UTF-16 columns behind characters that have two',
    text: 'http { server { return 200 "😀😀"; li| } }',
    offers: ['listen'],
    gives: 'http { server { return 200 "😀😀"; listen ${1}; } }',
  },
];

const owner = wholeFile();
let client: Client;

beforeAll(async () => {
  client = await startClient(owner, {}, { workspace: false });
});

for (const [index, { it, text: marked, files = {}, file = 'gateway.conf', ...expected }] of cases.entries()) {
  test(`completion offers ${it}`, async () => {
    const { offers = [], not = [], only, gives } = expected;
    const { text, position } = withCursor(marked);
    // Each case has its own directory, so that none belongs to the configuration of another.
    for (const [path, content] of Object.entries({ 'gateway.conf': '', ...files }))
      client.write({ [`${index}/${path}`]: content });
    await client.open(`${index}/${file}`, text);
    const items = await complete(`${index}/${file}`, position);
    const labels = items.map(({ label }) => label);
    if (only) expect(labels.sort()).toEqual(only);
    expect(labels).toEqual(expect.arrayContaining([...offers]));
    for (const name of not) expect(labels).not.toContain(name);
    if (gives !== undefined)
      expect(
        taken(
          text,
          items.find(({ label }) => label === offers[0]),
        ),
      ).toBe(gives);
  });
}

test('a proposal gives the summary of the directive when it is selected', async () => {
  await client.open('resolve/gateway.conf', 'http { server { li } }');
  const items = await complete('resolve/gateway.conf', { line: 0, character: 18 });
  const listen = items.find(({ label }) => label === 'listen');
  const { documentation } = await client.request<CompletionItem>('completionItem/resolve', listen ?? {});
  expect(documentation).toMatchObject({
    kind: 'markdown',
    value: expect.stringContaining('Address and port'),
  });
});

test('a client without support for snippets gets names only', async (t) => {
  const plain = await startClient(t, {}, { snippets: false });
  await plain.open('gateway.conf', 'htt');
  const items = await complete('gateway.conf', { line: 0, character: 3 }, plain);
  expect(items.find(({ label }) => label === 'http')?.textEdit).toMatchObject({ newText: 'http' });
});

function complete(path: string, position: Position, on: Client = client): Promise<CompletionItem[]> {
  return on.request('textDocument/completion', { textDocument: { uri: on.uri(path) }, position });
}

/** The text after a proposal is accepted. */
function taken(text: string, { textEdit }: Partial<CompletionItem> = {}): string {
  if (!textEdit || !('range' in textEdit)) throw new Error('no edit');
  const { range, newText } = textEdit;
  const head = covered(text, { start: { line: 0, character: 0 }, end: range.start });
  return head + newText + text.slice(head.length + covered(text, range).length);
}
