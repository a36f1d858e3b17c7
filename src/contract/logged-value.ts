import type { ComplexValue } from '../config/index.ts';
import type { Exchange, Getter } from '../http/index.ts';
import { isAuthorizationResponse, isSecretName, MASK, redact } from '../log/index.ts';
import type { Build } from './build.ts';

/** Variables whose names have one of the client's or an upstream's: that of an argument, a header or a cookie. */
const NAMED_OUTSIDE = /^(?:arg|cookie|upstream_cookie|(?:sent_|upstream_)?(?:http|trailer))_(.+)$/;
/** Arguments that are secrets only beside each other. */
const OF_LOGIN: ReadonlySet<string> = new Set(['arg_code', 'arg_state']);
/** Words that are names of anything where the configuration chooses the name. */
const VAGUE = /^(?:auth|bearer|cookie|key|pass|session|sid|sig|signature)$/;
/** It identifies a session of TLS, which nobody can resume with it. */
const TLS_SESSION = 'ssl_session_id';
/** Variables of the gateway's own words, numbers, times and addresses, which have no text from outside. */
const OWN =
  /^(?:(?:body_)?bytes_sent|connection\w*|gzip_ratio|hostname|msec|pid|pipe|remote_(?:addr|port)|request_(?:completion|length|method|time)|scheme|server_(?:addr|port|protocol)|status|time_\w+|upstream_\w+_time|upstream_(?:addr|bytes_\w+|cache_status|response_length|status))$/;

/** Compiles a variable as logs may show it: secrets are masked. */
export function loggedVariable(name: string, build: Build): Getter {
  const read = build.variable(name);
  if (OWN.test(name)) return read;
  const masked: Getter = (x) => (read(x) === undefined ? undefined : MASK);
  if (isSecretVariable(name)) return masked;
  const shown = withoutSecrets(read);
  return OF_LOGIN.has(name) ? (x) => (isAuthorizationResponse(x.args) ? masked(x) : shown(x)) : shown;
}

/** Tells whether logs mask the whole value of a variable, whatever it is. */
export function isSecretVariable(name: string): boolean {
  const [, outside] = NAMED_OUTSIDE.exec(name) ?? [];
  return (
    isSecretName(outside ?? name) && (outside !== undefined || !(VAGUE.test(name) || name === TLS_SESSION))
  );
}

function withoutSecrets(read: Getter): Getter {
  return (x) => {
    const text = read(x);
    return text === undefined ? undefined : redact(text);
  };
}

/** Compiles a capture of a regular expression as logs may show it. */
export function loggedCapture(index: number): Getter {
  return withoutSecrets((x) => x.captures?.[index]);
}

/** Compiles a value with variables as logs may show it. */
export function loggedValue({ parts }: ComplexValue, build: Build): (x: Exchange) => string {
  const pieces = parts.map((part): string | Getter => {
    if (typeof part === 'string') return part;
    return 'variable' in part ? loggedVariable(part.variable, build) : loggedCapture(part.capture);
  });
  return (x) => {
    let text = '';
    for (const piece of pieces) text += typeof piece === 'string' ? piece : (piece(x) ?? '');
    return text;
  };
}
