import { createHash, timingSafeEqual } from 'node:crypto';
import { type ArgReader, type ComplexValue, directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor, type VariableDefinition } from '../contract/index.ts';
import { type Getter, stateKey } from '../http/index.ts';

/** One directive: links are verified with a secret word, or with an expression that has to be the MD5 of a text. */
type LinkRule =
  | { readonly kind: 'secure_link' | 'secure_link_md5'; readonly value: ComplexValue }
  | { readonly kind: 'secure_link_secret'; readonly word: string };

interface SecureLinkConfig {
  readonly rules?: readonly LinkRule[];
}

const HSL = ['http', 'server', 'location'] as const;

const expression = (kind: 'secure_link' | 'secure_link_md5'): ArgReader<LinkRule> =>
  readers.oneWord('expression', (word, scope) => ({ kind, value: scope.complexValue(word) }));

/** Merges levels: a secret and expressions replace one another (nginx ngx_http_secure_link_merge_conf). */
function completedBy(own: readonly LinkRule[], above: readonly LinkRule[]): readonly LinkRule[] {
  if (own.some(({ kind }) => kind === 'secure_link_secret')) return own;
  const isKept = ({ kind }: LinkRule): boolean =>
    kind !== 'secure_link_secret' && !own.some((rule) => rule.kind === kind);
  return [...above.filter(isKept), ...own];
}

const directives = directivesFor<SecureLinkConfig>()({
  secure_link: {
    contexts: HSL,
    args: expression('secure_link'),
    into: 'rules',
    repeat: 'append',
    completedBy,
    summary: 'The checksum of a link in base64url, optionally followed by a comma and the expiry time.',
    source: 'nginx ngx_http_secure_link_module#secure_link',
  },
  secure_link_md5: {
    contexts: HSL,
    args: expression('secure_link_md5'),
    into: 'rules',
    repeat: 'append',
    completedBy,
    secret: 'whole',
    summary: 'The text whose MD5 is the checksum of a link.',
    source: 'nginx ngx_http_secure_link_module#secure_link_md5',
  },
  secure_link_secret: {
    contexts: HSL,
    args: readers.oneWord('word', ({ value: word }) => ({ kind: 'secure_link_secret' as const, word })),
    into: 'rules',
    repeat: 'append',
    completedBy,
    secret: 'whole',
    summary: 'The secret that, appended to the link, has the MD5 in the path: /prefix/hash/link.',
    source: 'nginx ngx_http_secure_link_module#secure_link_secret',
  },
});

/** The verification of links in one location. */
interface Verification {
  readonly secret: string | undefined;
  readonly expression: ComplexValue | undefined;
  readonly md5: ComplexValue | undefined;
}

function verificationOf({ rules = [] }: SecureLinkConfig): Verification {
  const found: { -readonly [K in keyof Verification]: Verification[K] } = {
    secret: undefined,
    expression: undefined,
    md5: undefined,
  };
  for (const rule of rules) {
    if (rule.kind === 'secure_link_secret') found.secret = rule.word;
    else found[rule.kind === 'secure_link' ? 'expression' : 'md5'] = rule.value;
  }
  return found;
}

const nothing = (summary: string): VariableDefinition => ({ summary, compile: () => () => undefined });

/** Links that cannot be generated without a secret (nginx ngx_http_secure_link_module). */
export const secureLink = moduleFor<SecureLinkConfig>()({
  name: 'secure_link',
  summary: 'Links that are signed and expire.',
  directives,
  variables: {
    secure_link: nothing('1 for a valid link, 0 if it has expired; the link itself with secure_link_secret.'),
    secure_link_expires: nothing('When the link expires, once $secure_link was read.'),
  },
  enabled: ({ rules }) => rules !== undefined,
  validate({ rules = [] }, report) {
    const kinds = rules.map(({ kind }) => kind);
    const twice = kinds.find((kind, index) => kinds.indexOf(kind) < index);
    if (twice !== undefined) report.phrase('rules', `"${twice}" directive is duplicate`);
    if (kinds.includes('secure_link_secret') && new Set(kinds).size > 1)
      report.phrase('rules', '"secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5"');
  },
  defines: (config) => ({
    secure_link: {
      summary: '',
      compile: (build) => {
        const { secret, expression: link, md5 } = verificationOf(config);
        if (secret !== undefined) return (x) => linkBehindHash(x.request.requestUri, secret);
        return link && md5 ? compileExpression({ expression: link, md5 }, build) : () => undefined;
      },
    },
    secure_link_expires: { summary: '', compile: () => (x) => x.state(EXPIRES) },
  }),
  compile: () => ({}),
});

interface Expression {
  readonly expression: ComplexValue;
  readonly md5: ComplexValue;
}

const EXPIRES = stateKey<string | undefined>('secure_link_expires');
const HASH = /^[\w-]{22}$/;

/** Compiles the variable for `secure_link` and `secure_link_md5` (nginx ngx_http_secure_link_variable). */
function compileExpression({ expression: link, md5 }: Expression, build: Build): Getter {
  const given = build.value(link);
  const expected = build.value(md5);
  return (x) => {
    const [, encoded = '', expires] = /^([^,]*)(?:,(.*))?$/s.exec(given(x)) ?? [];
    if (expires !== undefined) {
      if (!/^\d{1,15}$/.test(expires) || Number(expires) === 0) return undefined;
      x.setState(EXPIRES, expires);
    }
    const [digits = ''] = encoded.split('=', 1);
    if (encoded.length > 24 || !HASH.test(digits)) return undefined;
    const hash = createHash('md5').update(expected(x)).digest();
    if (!timingSafeEqual(Buffer.from(digits, 'base64url'), hash)) return undefined;
    return expires !== undefined && Number(expires) < Math.floor(Date.now() / 1000) ? '0' : '1';
  };
}

const LINK = /^.[^/]*\/([0-9a-f]{32})\/(.+)$/is;

/** Returns the link of a valid request from its original URI and query (ngx_http_secure_link_old_variable). */
function linkBehindHash(requestUri: string, secret: string): string | undefined {
  const [, hash = '', link] = LINK.exec(requestUri) ?? [];
  if (link === undefined) return undefined;
  const expected = createHash('md5')
    .update(link + secret)
    .digest();
  return timingSafeEqual(Buffer.from(hash, 'hex'), expected) ? link : undefined;
}
