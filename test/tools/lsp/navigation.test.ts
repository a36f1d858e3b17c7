import type { DocumentHighlight, DocumentLink, Location, WorkspaceEdit } from 'vscode-languageserver/node';
import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../../harness/owner.ts';
import { type Client, covered, startClient, withCursor } from './client.ts';

const owner = wholeFile();
let client: Client;

beforeAll(async () => {
  client = await startClient(owner, {}, { workspace: false });
});

interface NameCase {
  readonly kind: string;
  /** Definitions are marked by `«…»`, other places by `[…]`; the cursor stands in the last of those. */
  readonly text: string;
}

const names: readonly NameCase[] = [
  {
    kind: 'an upstream',
    text: `http { upstream «app» { server a; }
      server { location / { proxy_pass http://[app]; } location /b { proxy_pass https://[app]/x; } location /c { kv_pass [app]; } } }`,
  },
  {
    kind: 'a named location of one server',
    text: `http { server { location @other { } error_page 404 @other; }
      server { location @«other» { } error_page 404 502 = @[other]; location / { try_files $uri @[other]; } post_action @[other]; } }`,
  },
  {
    kind: 'a variable of map',
    text: 'http { map $uri $«kind» { default 1; } server { return 200 "a${[kind]}b$[kind]"; } }',
  },
  {
    kind: 'a variable of set',
    text: 'http { server { set $«Mine» 1; set $«mine» $[mine]-2; if ($[mine]) { return 200 $[MINE]; } } }',
  },
  {
    kind: 'a variable of geo',
    text: 'http { geo $arg_ip $«land» { default x; } server { add_header A $[land]; } }',
  },
  {
    kind: 'a variable of split_clients',
    text: 'http { split_clients $uri $«half» { 50% a; * b; } server { return 200 $[half]; } }',
  },
  {
    kind: 'a variable of auth_request_set',
    text: 'http { server { auth_request_set $«who» $upstream_http_x; add_header A $[who]; } }',
  },
  {
    kind: 'a variable of a feature flag',
    text: 'http { feature_flag $«beta» beta; server { return 200 $[beta]; } }',
  },
  {
    kind: 'a capture',
    text: 'http { server { location ~ ^/(?<«part»>x) { return 200 $[part]; } } }',
  },
  {
    kind: 'a log format',
    text: "http { log_format «brief» '$status'; access_log a.log [brief]; server { access_log b.log [brief] buffer=1k; } }",
  },
  {
    kind: 'a zone of requests',
    text: 'http { limit_req_zone $uri zone=«one»:1m rate=1r/s; limit_req zone=[one] burst=5; }',
  },
  {
    kind: 'a zone of connections',
    text: 'http { limit_conn_zone $uri zone=«one»:1m; limit_conn [one] 5; limit_req_zone $uri zone=one:1m rate=1r/s; }',
  },
  { kind: 'a dictionary', text: 'http { shared_dict_zone zone=«flags»:1m; control_flags_zone [flags]; }' },
];

/** The text with a cursor in the last of the places; the number of those that define the name, and of all. */
function places(text: string): { marked: string; definitions: number; all: number } {
  const definitions = text.match(/«/g)?.length ?? 0;
  const uses = text.match(/\[\w+\]/g)?.length ?? 0;
  const last = text.lastIndexOf('[') + 1;
  const withCursor = `${text.slice(0, last)}|${text.slice(last)}`;
  return {
    marked: withCursor.replace(/[«»]|\[(?=[|\w])|(?<=\w)\]/g, ''),
    definitions,
    all: definitions + uses,
  };
}

for (const [index, { kind, text: source }] of names.entries()) {
  test(`the places of ${kind} are found and renamed`, async () => {
    const { marked, definitions, all } = places(source);
    const at = await client.openAt(`names-${index}`, marked);
    const found = await client.request<Location[]>('textDocument/definition', at);
    expect(found).toHaveLength(definitions);
    const references = await client.request<Location[]>('textDocument/references', {
      ...at,
      context: { includeDeclaration: true },
    });
    expect(references).toHaveLength(all);
    const [name] = new Set(references.map(({ range }) => covered(at.text, range).toLowerCase()));
    const lit = await client.request<DocumentHighlight[]>('textDocument/documentHighlight', at);
    expect(lit).toHaveLength(all);
    const { changes = {} } = await client.request<WorkspaceEdit>('textDocument/rename', {
      ...at,
      newName: 'fresh',
    });
    const edits = Object.values(changes).flat();
    expect(edits.map(({ newText }) => newText)).toEqual(Array.from({ length: all }, () => 'fresh'));
    expect(new Set(edits.map(({ range }) => covered(at.text, range).toLowerCase()))).toEqual(new Set([name]));
  });
}

const refusals = [
  {
    it: 'a built-in variable',
    text: 'http { server { return 200 $ho|st; } }',
    newName: 'x',
    says: 'no name here',
  },
  {
    it: 'a host that is no upstream',
    text: 'http { server { location / { proxy_pass http://exam|ple.com; } } }',
    newName: 'x',
    says: 'no name here',
  },
  {
    it: 'to what is no name',
    text: 'http { upstream a|pp { server a; } }',
    newName: 'a b',
    says: '"a b" is not a name',
  },
  {
    it: 'to the name of a built-in variable',
    text: 'http { server { set $a|b 1; } }',
    newName: '$host',
    says: '"$host" is a variable of gw',
  },
  {
    it: 'to a name that is taken',
    text: 'http { upstream a|a { server a; } upstream bb { server b; } }',
    newName: 'bb',
    says: 'another upstream is named "bb"',
  },
];

for (const [index, { it, text, newName, says }] of refusals.entries()) {
  test(`a rename is refused: ${it}`, async () => {
    const at = await client.openAt(`refused-${index}`, text);
    await expect(client.request('textDocument/rename', { ...at, newName })).rejects.toThrow(says);
  });
}

test('a name is found in and renamed in all files of the configuration', async (t) => {
  const editor = await startClient(t, {
    'nginx.conf': 'http { include upstreams.conf; include sites/*; }',
    'upstreams.conf': 'upstream app { server a; }',
    'sites/a': 'server { location / { proxy_pass http://app; } }',
    'sites/b': 'server { location / { proxy_pass http://app; } }',
  });
  const { text, position } = withCursor('server { location /x { proxy_pass http://a|pp/; } }');
  await editor.open('sites/b', text);
  const at = { textDocument: { uri: editor.uri('sites/b') }, position };
  const definition = await editor.request<Location[]>('textDocument/definition', at);
  expect(definition).toMatchObject([
    { uri: editor.uri('upstreams.conf'), range: { start: { line: 0, character: 9 } } },
  ]);
  const { changes = {} } = await editor.request<WorkspaceEdit>('textDocument/rename', {
    ...at,
    newName: 'web',
  });
  expect(Object.keys(changes).sort()).toEqual(
    ['sites/a', 'sites/b', 'upstreams.conf'].map((path) => editor.uri(path)),
  );
  const symbols = await editor.request<{ name: string }[]>('workspace/symbol', { query: 'ap' });
  expect(symbols.map(({ name }) => name)).toEqual(['app']);
});

test('a name of a file that two configurations include is found once', async (t) => {
  const editor = await startClient(t, {
    'a.conf': 'http { include shared; server { return 200 $kind; } }',
    'b.conf': 'http { include shared; server { return 200 $kind; } }',
    shared: '',
  });
  const { text, position } = withCursor('map $uri $ki|nd { default 1; }');
  await editor.open('shared', text);
  const at = { textDocument: { uri: editor.uri('shared') }, position, context: { includeDeclaration: true } };
  const found = await editor.request<Location[]>('textDocument/references', at);
  expect(found.map(({ uri }) => uri).sort()).toEqual(
    ['a.conf', 'b.conf', 'shared'].map((path) => editor.uri(path)),
  );
  const symbols = await editor.request<{ name: string }[]>('workspace/symbol', { query: 'kind' });
  expect(symbols).toHaveLength(1);
});

test('an include leads to the files that it names', async () => {
  const files = { 'conf.d/a.conf': '', 'conf.d/b.conf': '' };
  const at = await client.openAt('include', 'http { include conf.d/*|.conf; }', files);
  const found = await client.request<Location[]>('textDocument/definition', at);
  expect(found.map(({ uri }) => uri)).toEqual(
    Object.keys(files).map((path) => client.uri(`include/${path}`)),
  );
});

test('words that are files or directories are links where these exist', async () => {
  const text = `http { include mime.types; include no.conf; include "c/*"; root www; access_log off;
    server { ssl_certificate 'c/a.pem'; ssl_certificate_key c/$host.key; } }|`;
  const at = await client.openAt('links', text, { 'mime.types': '', 'c/a.pem': '', 'www/index.html': '' });
  const links = await client.request<DocumentLink[]>('textDocument/documentLink', at);
  expect(links.map(({ range, target }) => [covered(at.text, range), target])).toEqual([
    ['mime.types', client.uri('links/mime.types')],
    ['c/*', client.uri('links/c/a.pem')],
    ['www', client.uri('links/www')],
    ['c/a.pem', client.uri('links/c/a.pem')],
  ]);
});
