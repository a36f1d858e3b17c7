import { type LocationFacts, TrialRefusal, type TrialRequest } from '../../../contract/index.ts';
import { isSafeHeaderName, isSafeHeaderValue, isValidQuery, normalizePath } from '../../../http/index.ts';
import { type Identity, isRoleName } from '../auth/index.ts';
import type { TriedRequest } from './trial-wire.ts';

const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'QUERY',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);
/** Headers that the trial itself decides about. */
const DECIDED: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'connection',
  'content-length',
  'host',
  'transfer-encoding',
]);
const MOST_HEADERS = 40;
const MOST_HEADER_CHARACTERS = 8_192;
const MOST_TARGET_CHARACTERS = 8_192;
const MOST_CLAIMS_CHARACTERS = 8_192;

/** Reads the request of a trial as an engine would have. Throws a `TrialRefusal` (400). */
export function readTried(
  { method, target, headers, body }: TrialRequest,
  { kind, path }: LocationFacts,
): TriedRequest {
  if (!METHODS.has(method)) throw new TrialRefusal(400, 'the method must be one of a REST location');
  if (target.length > MOST_TARGET_CHARACTERS) throw new TrialRefusal(400, 'the path is too long');
  const [, sent = '', args = ''] = /^([^?#]*)\??([^#]*)$/s.exec(target) ?? [];
  const uri = sent.startsWith('/') && isValidQuery(args) ? normalizePath(sent, true) : undefined;
  if (uri === undefined || !isValidQuery(sent)) throw new TrialRefusal(400, 'the path is malformed');
  if (kind === 'prefix' && !uri.startsWith(path))
    throw new TrialRefusal(400, `the path must begin with ${path}`);
  return {
    method,
    requestUri: target,
    uri,
    args,
    headers: readHeaders(headers),
    body: Buffer.from(body),
  };
}

function readHeaders(headers: TrialRequest['headers']): readonly string[] {
  if (headers.length > MOST_HEADERS) throw new TrialRefusal(400, 'there are too many headers');
  let characters = 0;
  return headers.flatMap(([given, value]) => {
    const name = given.toLowerCase();
    characters += name.length + value.length;
    if (!isSafeHeaderName(name) || !isSafeHeaderValue(value))
      throw new TrialRefusal(400, 'a header is malformed');
    if (DECIDED.has(name)) throw new TrialRefusal(400, `the header ${name} cannot be chosen`);
    if (characters > MOST_HEADER_CHARACTERS) throw new TrialRefusal(400, 'the headers are too long');
    return [name, value];
  });
}

/** The identity of a trial: as if a token had chosen the role. Throws a `TrialRefusal` (400). */
export function readIdentity({ role, claims }: Pick<TrialRequest, 'role' | 'claims'>): Identity {
  if (!isRoleName(role)) throw new TrialRefusal(400, 'the role is malformed');
  const text = JSON.stringify({ role, ...claims });
  if (text.length > MOST_CLAIMS_CHARACTERS) throw new TrialRefusal(400, 'the claims are too long');
  if (text.includes('\\u0000')) throw new TrialRefusal(400, 'the claims have a NUL character');
  return { role, jwt: '', claims: text, rejected: false };
}
