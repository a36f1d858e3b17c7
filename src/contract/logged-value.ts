import type { ComplexValue } from '../config/index.ts';
import type { Exchange, Getter } from '../http/index.ts';
import { isAuthorizationResponse, isCredential, isSecretParameter, redactQuery } from '../log/index.ts';
import type { Build } from './build.ts';

/** Variables that contain the query string: secrets in it are masked in logs. */
const WITH_QUERY: ReadonlySet<string> = new Set([
  'request',
  'request_uri',
  'args',
  'query_string',
  'http_referer',
]);
/** Headers of requests and responses, and cookies. */
const NAMED_BY_CLIENT = /^(?:http|sent_http|upstream_http|cookie|upstream_cookie)_(.+)$/;
/** Arguments that are secrets only beside each other. */
const OF_LOGIN: ReadonlySet<string> = new Set(['arg_code', 'arg_state']);

const MASK = '***';

/** Compiles a variable as logs may show it: credentials and secret arguments are masked. */
export function loggedVariable(name: string, build: Build): Getter {
  const read = build.variable(name);
  const masked: Getter = (x) => (read(x) === undefined ? undefined : MASK);
  if (isSecret(name)) return masked;
  if (OF_LOGIN.has(name)) return (x) => (isAuthorizationResponse(x.args) ? masked(x) : read(x));
  if (!WITH_QUERY.has(name)) return read;
  return (x) => {
    const text = read(x);
    return text === undefined ? undefined : redactQuery(text);
  };
}

function isSecret(name: string): boolean {
  if (name.startsWith('arg_')) return isSecretParameter(name.slice(4));
  const [, rest] = NAMED_BY_CLIENT.exec(name) ?? [];
  return rest !== undefined && isCredential(rest);
}

/** Compiles a value with variables as logs may show it. */
export function loggedValue({ parts }: ComplexValue, build: Build): (x: Exchange) => string {
  const pieces = parts.map((part): string | Getter => {
    if (typeof part === 'string') return part;
    return 'variable' in part ? loggedVariable(part.variable, build) : (x) => x.captures?.[part.capture];
  });
  return (x) => {
    let text = '';
    for (const piece of pieces) text += typeof piece === 'string' ? piece : (piece(x) ?? '');
    return text;
  };
}
