import { resolve } from 'node:path';
import type { LoadedFile } from '../../client/index.ts';
import { type ArgReader, defines, pathFrom, readers, type ReadScope, type Rows } from '../../config/index.ts';
import { loadedFile } from '../../forwarding/index.ts';
import { type IssuerSource, issuerUrlFault, metadataOf } from '../../issuer/index.ts';

/** A `token_issuer` block. */
export interface TokenIssuer {
  readonly name: string;
  /** How tokens name it in `iss`. */
  readonly issuer?: string | undefined;
  /** The URL of its JWK set. */
  readonly keysUrl?: string | undefined;
  /** A JWK set: the absolute path of its file. */
  readonly keyFile?: string | undefined;
  readonly introspection?: Introspection | undefined;
  readonly audiences?: readonly string[] | undefined;
  /** The CA certificates of its servers; absent: the authorities that Node.js knows. */
  readonly trusted?: LoadedFile | undefined;
}

/** Tokens that the issuer is asked about (RFC 7662). */
export interface Introspection {
  readonly url: string;
  /** True: it is asked about signed tokens, too. */
  readonly asksOfSigned: boolean;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** For how long a response counts. */
  readonly cacheMs: number;
}

/** What the directives in a `token_issuer` block set. */
export interface IssuerFields {
  readonly issuer?: string;
  readonly issuerKeysUrl?: string;
  readonly issuerKeyFile?: string;
  readonly introspectionAt?: Pick<Introspection, 'url' | 'asksOfSigned'>;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly issuerAudiences?: readonly string[];
  readonly introspectionCacheMs?: number;
  readonly issuerTrusted?: LoadedFile;
}

const USUAL_CACHE_MS = 60_000;

/** Reads a URL that the issuer is asked at; `span` and name are those of the directive. */
const issuerUrl: ArgReader<string> = readers.oneWord('URL', (word, scope) => readUrl(word, scope));

function readUrl(
  { value, span }: { readonly value: string; readonly span: ReadScope['span'] },
  scope: ReadScope,
) {
  const fault = issuerUrlFault(value);
  if (fault === undefined) return value;
  scope.report.emerg(`invalid URL "${value}" in "${scope.directive}" directive`, span, fault);
  return undefined;
}

const introspectionAt: ArgReader<Pick<Introspection, 'url' | 'asksOfSigned'>> = readers.words(
  { syntax: 'URL [jwt]', min: 1, max: 2 },
  ([word, more], scope) => {
    const url = word && readUrl(word, scope);
    if (more && more.value !== 'jwt') {
      scope.report.emerg(`invalid parameter "${more.value}"`, more.span, 'expected jwt');
      return undefined;
    }
    return url === undefined ? undefined : { url, asksOfSigned: more !== undefined };
  },
);

const keyFile: ArgReader<string> = readers.oneWord('file', ({ value }, { confDir }) =>
  resolve(confDir, value),
);

function entry(name: string, fields: IssuerFields, { report, span }: ReadScope): TokenIssuer | undefined {
  const { issuer, introspectionAt: at, clientId, clientSecret, introspectionCacheMs } = fields;
  const fault = (message: string, hint?: string): undefined => {
    report.emerg(`${message} in the "token_issuer" block "${name}"`, span, hint);
  };
  if (issuer === undefined && !at) return fault('no "issuer" and no "introspect"');
  if (issuer === undefined && (fields.issuerKeysUrl ?? fields.issuerKeyFile) !== undefined)
    return fault('keys without an "issuer"', 'tokens name their issuer in "iss"');
  if (at?.asksOfSigned && issuer === undefined) return fault('"introspect … jwt" without an "issuer"');
  if (clientSecret !== undefined && clientId === undefined)
    return fault('"client_secret" without a "client_id"');
  const cacheMs = introspectionCacheMs ?? USUAL_CACHE_MS;
  return {
    name,
    issuer,
    keysUrl: fields.issuerKeysUrl,
    keyFile: fields.issuerKeyFile,
    introspection: at && { ...at, clientId, clientSecret, cacheMs },
    audiences: fields.issuerAudiences,
    trusted: fields.issuerTrusted,
  };
}

const INSIDE = { contexts: ['token_issuer'], inherit: false, source: 'gw' } as const;

/** The directives of `token_issuer` blocks. */
export const issuerDirectives = {
  token_issuer: {
    contexts: ['http'],
    args: readers.text,
    opens: 'token_issuer',
    entry,
    into: 'issuers',
    repeat: 'append',
    summary: 'An issuer of tokens. `auth_jwt_issuer` names those whose tokens a location accepts.',
    roles: defines('token issuer'),
    source: 'gw',
  },
  issuer: {
    ...INSIDE,
    args: issuerUrl,
    into: 'issuer',
    summary:
      'How tokens name their issuer in `iss`. Without `key_request` and `key_file`, its metadata say where its keys are (OpenID Connect Discovery, or else RFC 8414).',
  },
  key_request: {
    ...INSIDE,
    args: issuerUrl,
    into: 'issuerKeysUrl',
    summary: 'The URL of the JWK set, which is fetched once for all workers.',
  },
  key_file: {
    ...INSIDE,
    args: keyFile,
    into: 'issuerKeyFile',
    summary:
      'A file with the JWK set, relative to the directory of the configuration file. A changed file is read again.',
    roles: pathFrom('confDir'),
  },
  introspect: {
    ...INSIDE,
    args: introspectionAt,
    into: 'introspectionAt',
    summary:
      'Asks the issuer about tokens that are not signed (RFC 7662); with `jwt`, also whether signed ones have been revoked.',
  },
  client_id: {
    ...INSIDE,
    args: readers.text,
    into: 'clientId',
    summary: 'How gw is called at the issuer, for `introspect`.',
  },
  client_secret: {
    ...INSIDE,
    args: readers.text,
    into: 'clientSecret',
    secret: 'whole',
    summary: 'The secret of gw at the issuer, for `introspect`.',
  },
  audience: {
    ...INSIDE,
    args: readers.texts,
    into: 'issuerAudiences',
    summary:
      'The audiences one of which a token of this issuer must name in `aud`, where `auth_jwt_audience` does not say others.',
  },
  cache: {
    ...INSIDE,
    args: readers.time,
    into: 'introspectionCacheMs',
    defaultText: '60s',
    summary:
      'For how long a response of the issuer about a token counts, at most. A refusal counts for 10 seconds.',
  },
  ssl_trusted_certificate: {
    ...INSIDE,
    args: loadedFile('certificate'),
    into: 'issuerTrusted',
    defaultText: 'the authorities that Node.js knows',
    summary: "PEM file with the CA certificates that the issuer's certificate is verified with.",
    roles: pathFrom('confDir'),
  },
} as const satisfies Rows<IssuerFields & { readonly issuers?: readonly TokenIssuer[] }>;

/** Where the documents of an issuer are fetched; `undefined`: its keys are in a file, or it has none. */
export function sourceOf({ issuer, keysUrl, keyFile, trusted }: TokenIssuer): IssuerSource | undefined {
  const trust = trusted && { ca: trusted.text };
  if (keysUrl !== undefined) return { keysUrl, trust };
  return issuer === undefined || keyFile !== undefined ? undefined : { metadata: metadataOf(issuer), trust };
}
