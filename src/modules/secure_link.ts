import { createHash, timingSafeEqual } from 'node:crypto';
import { type ComplexValue, directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor, type VariableDefinition } from '../contract/index.ts';
import { type Getter, stateKey } from '../http/index.ts';

/** How the links of one location are verified: with a secret word, or with an expression and what it must be the MD5 of. */
interface SecureLinkConfig {
  readonly expression?: ComplexValue;
  readonly md5?: ComplexValue;
  readonly secret?: string;
}

const HSL = ['http', 'server', 'location'] as const;

const directives = directivesFor<SecureLinkConfig>()({
  secure_link: {
    contexts: HSL,
    args: { ...readers.value, syntax: 'expression' },
    into: 'expression',
    summary: 'The checksum of a link in base64url, optionally followed by a comma and the expiry time.',
    source: 'nginx ngx_http_secure_link_module#secure_link',
  },
  secure_link_md5: {
    contexts: HSL,
    args: { ...readers.value, syntax: 'expression' },
    into: 'md5',
    secret: 'whole',
    summary: 'The text whose MD5 is the checksum of a link.',
    source: 'nginx ngx_http_secure_link_module#secure_link_md5',
  },
  secure_link_secret: {
    contexts: HSL,
    args: { ...readers.text, syntax: 'word' },
    into: 'secret',
    secret: 'whole',
    summary: 'The secret that, appended to the link, has the MD5 in the path: /prefix/hash/link.',
    source: 'nginx ngx_http_secure_link_module#secure_link_secret',
  },
});

const nothing = (summary: string): VariableDefinition => ({ summary, compile: () => () => undefined });

/** Links that cannot be generated without a secret (nginx ngx_http_secure_link_module). */
export const secureLink = moduleFor<SecureLinkConfig>()({
  name: 'secure_link',
  directives,
  variables: {
    secure_link: nothing('1 for a valid link, 0 if it has expired; the link itself with secure_link_secret.'),
    secure_link_expires: nothing('When the link expires, once $secure_link was read.'),
  },
  enabled: ({ expression, md5, secret }) =>
    secret !== undefined || (expression !== undefined && md5 !== undefined),
  validate({ expression, md5, secret }, report) {
    if (secret !== undefined && (expression ?? md5))
      report.phrase(
        'secret',
        '"secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5"',
      );
  },
  defines: ({ expression, md5, secret }) => ({
    secure_link: {
      summary: '',
      compile: (build) =>
        secret === undefined
          ? compileExpression({ expression, md5 } as Expression, build)
          : (x) => linkBehindHash(x.request.requestUri, secret),
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
function compileExpression({ expression, md5 }: Expression, build: Build): Getter {
  const given = build.value(expression);
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

/** Gives the link of a valid request, from its original URI with the query (nginx ngx_http_secure_link_old_variable). */
function linkBehindHash(requestUri: string, secret: string): string | undefined {
  const [, hash = '', link] = LINK.exec(requestUri) ?? [];
  if (link === undefined) return undefined;
  const expected = createHash('md5')
    .update(link + secret)
    .digest();
  return timingSafeEqual(Buffer.from(hash, 'hex'), expected) ? link : undefined;
}
