import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import { beforeAll, expect, test } from 'vitest';
import { createOnigScanner, createOnigString, loadWASM } from 'vscode-oniguruma';
import { type IGrammar, INITIAL, parseRawGrammar, Registry } from 'vscode-textmate';
import { piecesOf } from '../../../grammar/index.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const EXTENSION = join(ROOT, 'grammar/editors/vscode');
const require = createRequire(import.meta.url);

let grammar: IGrammar;

beforeAll(async () => {
  await loadWASM(readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm')));
  const path = join(EXTENSION, 'gateway.tmLanguage.json');
  const registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner, createOnigString }),
    // Editors have their own colours for Lua.
    loadGrammar: async (scope) =>
      scope === 'source.gateway' ? parseRawGrammar(readFileSync(path, 'utf8'), path) : null,
  });
  grammar = (await registry.loadGrammar('source.gateway')) as IGrammar;
});

/** The scopes of each character of a text. */
function scopesOf(text: string): readonly string[] {
  const scopes: string[] = [];
  let state = INITIAL;
  for (const line of text.split('\n')) {
    const { ruleStack, tokens } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    const ofLine = Array.from({ length: line.length + 1 }, () => '');
    for (const { startIndex, endIndex, scopes: names } of tokens)
      ofLine.fill(names.join(' '), startIndex, endIndex);
    scopes.push(...ofLine);
  }
  return scopes;
}

const MARKS = {
  comment: 'comment.line',
  ';': 'punctuation.terminator',
  '{': 'punctuation.section.block.begin',
  '}': 'punctuation.section.block.end',
} as const;

/** Where the colours differ from the lexer of gw: `offset kind scopes`. */
function disagreements(text: string): readonly string[] {
  const scopes = scopesOf(text);
  return piecesOf({ name: 'text', text }).flatMap(({ image, kind, start }) => {
    if (kind === 'lua') return [];
    return Array.from(image, (_, index) => start + index)
      .filter((at) => !/\s/.test(text[at] ?? ''))
      .filter((at) => {
        const found = Object.entries(MARKS).find(([, scope]) => scopes[at]?.includes(scope))?.[0];
        return found !== (kind === 'word' ? undefined : kind);
      })
      .map((at) => `${at} "${text[at]}" of ${kind} ${image}: ${scopes[at]}`);
  });
}

const configs = [join(ROOT, 'conf'), join(ROOT, 'conf/examples'), join(ROOT, 'test/conf/everyday')].flatMap(
  (folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.conf') || name.endsWith('.types'))
      .map((name) => join(folder, name)),
);

for (const path of configs) {
  test(`colours and lexer agree about ${path.slice(ROOT.length + 1)}`, () => {
    expect(disagreements(readFileSync(path, 'utf8'))).toEqual([]);
  });
}

const tricky = [
  'return 200 "{ ; } # no comment";',
  "log_format a '{' '\"' '}';",
  'return 200 "a \\" ; { b";',
  'location ~ ^/a\\{1\\}\\;$ { return 200; }',
  'location ~ "^/\\d{3}$" { return 200; }',
  'location ~* \\.(png|jpe?g)$ { expires 1d; }',
  'listen ${env:PORT:-8080} ssl;',
  'set $a ${file:/run/secret};set $b "${env:A}{}";',
  'return 200 a${b}c{d;',
  'map $uri $kind { ~^/(?<a>x) $a; "~ b" 2; default off; }',
  'if ($http_x ~ "^a{1,2};") { return 403; }',
  'if ($http_x !~* x*) { return 403; } # end',
  'rewrite ^/(.*)$ /$1 last;',
  'rewrite "^/a{2};" /b;',
  'types { text/html html; }#comment',
  'return 200 a#b; # c',
  'listen 80 # c\n  ssl;',
  'log_format two\n  "over ;\n  lines {" b;\ngzip on;',
  'a "b"{c d;}',
  '}}; {',
  'set $x $;set $y $$;',
  'return 200 \\#;',
  "add_header A 'it\\'s; {';",
];

for (const text of tricky) {
  test(`colours and lexer agree about ${text}`, () => {
    expect(disagreements(`${text}\nserver { listen 80; } # end`)).toEqual([]);
  });
}

const coloured = [
  { text: 'proxy_pass http://a;', part: 'proxy_pass', scope: 'support.function.directive' },
  { text: 'return 200 "a$host";', part: '$host', scope: 'variable.other' },
  { text: 'return 200 a${host}b;', part: '${host}', scope: 'variable.other' },
  { text: 'listen ${env:PORT};', part: 'PORT', scope: 'variable.other.constant' },
  { text: 'location ~* \\.php$ { }', part: '\\.php$', scope: 'string.regexp' },
  { text: 'if ($uri ~ "^/x") { }', part: '^/x', scope: 'string.regexp' },
  { text: 'rewrite ^/x/(.*) /$1;', part: '^/x/(.*)', scope: 'string.regexp' },
  { text: 'server_name ~^www\\d+$;', part: '~^www\\d+$', scope: 'string.regexp' },
  { text: 'gzip on;', part: 'on', scope: 'constant.language' },
  { text: 'client_max_body_size 10m;', part: '10m', scope: 'constant.numeric' },
  { text: 'limit_req zone=one;', part: 'zone', scope: 'variable.parameter' },
  { text: 'error_page 404 @other;', part: '@other', scope: 'entity.name.function' },
  { text: "return 200 'it\\'s';", part: "\\'", scope: 'constant.character.escape' },
  { text: 'location = /x { }', part: '=', scope: 'keyword.operator' },
];

for (const { text, part, scope } of coloured) {
  test(`"${part}" of "${text}" is ${scope}`, () => {
    const start = text.indexOf(part);
    for (const at of scopesOf(text).slice(start, start + part.length)) expect(at).toContain(scope);
  });
}

test('braces in Lua do not end its block', () => {
  const text = 'content_by_lua_block { local a = { b = {} } }\ngzip on;';
  expect(scopesOf(text).slice(text.indexOf('gzip'), -5)).toEqual(
    Array.from('gzip', () => 'source.gateway support.function.directive.gateway'),
  );
});

test('the files that the extension names are there', () => {
  const { contributes, main } = JSON.parse(readFileSync(join(EXTENSION, 'package.json'), 'utf8')) as {
    readonly main: string;
    readonly contributes: {
      readonly grammars: readonly { readonly path: string }[];
      readonly languages: readonly { readonly configuration: string }[];
    };
  };
  const paths = [
    main,
    ...contributes.grammars.map(({ path }) => path),
    ...contributes.languages.map((one) => one.configuration),
  ];
  for (const path of paths) expect(readFileSync(join(EXTENSION, path), 'utf8')).not.toBe('');
});

test('the extension starts the language server that its settings name', async () => {
  const started: unknown[] = [];
  class LanguageClient {
    constructor(...words: readonly unknown[]) {
      started.push(...words);
    }
    async start(): Promise<void> {
      started.push('started');
    }
  }
  const settings: Readonly<Record<string, string>> = { command: '/opt/gw', main: 'nginx.conf', prefix: '' };
  const modules: Readonly<Record<string, object>> = {
    'node:child_process': {
      execFile: (...[, , , done]: readonly [string, object, object, (...said: readonly unknown[]) => void]) =>
        done(null, '', 'gw version: gw/1.0.0'),
    },
    vscode: {
      commands: { registerCommand: () => undefined },
      workspace: {
        getConfiguration: () => ({ get: (name: string) => settings[name] }),
        onDidChangeConfiguration: () => undefined,
      },
    },
    'vscode-languageclient/node': { LanguageClient },
  };
  const extension: { activate?: (context: { readonly subscriptions: unknown[] }) => Promise<void> } = {};
  const text = readFileSync(join(EXTENSION, 'extension.cjs'), 'utf8');
  compileFunction(text, ['require', 'exports'])((name: string) => modules[name], extension);
  await extension.activate?.({ subscriptions: [] });
  expect(started[2]).toEqual({ command: '/opt/gw', args: ['lsp'] });
  expect(started[3]).toMatchObject({ initializationOptions: { main: 'nginx.conf', prefix: '' } });
  expect(started[4]).toBe('started');
});
