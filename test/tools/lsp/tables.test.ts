import { expect, test } from 'vitest';
import { type NameRole, syntaxOf } from '../../../src/config/index.ts';
import { wordsOf } from '../../../src/tools/lsp/syntax-words.ts';
import { allDirectives } from '../../../src/tools/lookups.ts';

const entries = allDirectives().entries.filter(({ row }) => !('accepted' in row));

/** Syntaxes that look like the name of something or of a file, and the directives in which they mean neither. */
const speaking = [
  {
    of: 'a zone',
    word: /\bzone\b/,
    kinds: ['request zone', 'connection zone', 'dictionary', 'response cache'],
    // The zone of a resolver is for the status page of the commercial nginx; those of sessions and certificates are used
    // in no other place.
    except: ['acme_shared_zone', 'resolver', 'sticky'],
  },
  {
    of: 'a variable that it makes',
    word: /\$variable/,
    kinds: ['variable'],
    except: [],
  },
  // `[format=json]` names a notation.
  { of: 'a log format', word: /\[format\b(?!=)/, kinds: ['log format'], except: [] },
  { of: 'a named location', word: /@name/, kinds: ['named location'], except: [] },
  {
    of: 'a file or directory of the configuration',
    word: /\b(?:file|path)\b/,
    kinds: ['path'],
    // A parameter; parts of URIs, of cookies and of sockets; the name of a source; files below the root of a location.
    except: [
      'dbrest_jwt_role_claim',
      'dynamic_upstreams_source',
      'index',
      'keyval_zone',
      'listen',
      'proxy_cookie_path',
      'quota_zone',
      'sticky',
      'try_files',
      'userid_path',
      'valid_referers',
    ],
  },
];

for (const { of, word, kinds, except } of speaking) {
  test(`every directive whose syntax mentions ${of} has the role`, () => {
    const missing = entries
      .filter(({ name, row }) => word.test(syntaxOf(name, row).slice(name.length)))
      .filter(({ row }) => !row.roles?.some(({ kind }) => kinds.includes(kind)))
      .map(({ name }) => name);
    expect(missing.sort()).toEqual(except);
  });
}

test('every kind of name that is used is defined by some directive, and the other way round', () => {
  const roles = entries.flatMap(({ row }) => row.roles ?? []).filter((role) => role.kind !== 'path');
  const having = (...as: readonly NameRole['as'][]): readonly string[] =>
    [...new Set(roles.filter((role) => as.includes(role.as)).map(({ kind }) => kind))].sort();
  // Variables are used in every value.
  expect(having('definition', 'shared')).toEqual([...having('use', 'shared'), 'variable'].sort());
});

const syntaxes = [
  ['on | off', 'on off'],
  ['time', ''],
  ['number | auto', 'auto'],
  ['zone=name [burst=number] [nodelay | delay=number]', 'zone= burst= nodelay delay='],
  ['regex replacement [last | break | redirect | permanent]', 'last break redirect permanent'],
  ['name [escape=default | json | none] string ...', 'escape=default escape=json escape=none'],
  ['[engine=uws|node] [backlog=number]', 'backlog= engine=uws engine=node'],
  ['off | none | [builtin[:size]] [shared:name:size]', 'off none builtin shared:'],
  ['address[:port] | unix:path', 'unix:'],
  ['default | off | redirect replacement', 'default off'],
  ['type extension ...; }', ''],
  ['"name, ..."', ''],
] as const;

for (const [syntax, words] of syntaxes) {
  test(`the literal words of "${syntax}" are known`, () => {
    expect(wordsOf(syntax).join(' ')).toBe(words);
  });
}

test('no placeholder is taken for a literal word of a syntax', () => {
  const words = entries
    .flatMap(({ row }) => ('data' in row || row.args.choices ? [] : wordsOf(row.args.syntax)))
    .filter((word) => !/[:=]/.test(word));
  expect([...new Set(words)].sort().join(' ')).toMatchInlineSnapshot(
    `"SSLv2 SSLv3 TLSv1 TLSv1.1 TLSv1.2 TLSv1.3 X-Forwarded-For X-Real-IP alert all always any auth auto backup blocked break build builtin consistent crit debug default default_server dns-01 dns-persist-01 down drain embedded emerg epoch eq error evict expired ge gt gzip header http-01 http2 httponly https if_not_empty if_not_owner inflight info json jwks jwt keyval last last_byte le learn least_conn local lt mandatory max modified msie6 no-cache no-store no_etag no_last_modified node nodelay none notice number% off on permanent persistent prefix private proxy_protocol redirect require resolve reuseport route safari secure server_names ssl statuses stderr sync tls tls-alpn-01 two types uws warn xmin"`,
  );
});
