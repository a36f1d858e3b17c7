import type { Build } from '../../contract/index.ts';
import type { Exchange, Getter } from '../../http/index.ts';
import { escapeDefault, escapeJson, isCredential, isSecretParameter, redactQuery } from '../../log/index.ts';
import type { Escape, LogFormat } from './directives.ts';

/** nginx's predefined format, byte for byte as log tools expect it. */
export const COMBINED: LogFormat = {
  name: 'combined',
  escape: 'default',
  value: {
    parts: [
      { variable: 'remote_addr' },
      ' - ',
      { variable: 'remote_user' },
      ' [',
      { variable: 'time_local' },
      '] "',
      { variable: 'request' },
      '" ',
      { variable: 'status' },
      ' ',
      { variable: 'body_bytes_sent' },
      ' "',
      { variable: 'http_referer' },
      '" "',
      { variable: 'http_user_agent' },
      '"',
    ],
  },
};

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

/** Compiles a format to a function that gives the line without its line end. */
export function compileFormat({ value, escape }: LogFormat, build: Build): (x: Exchange) => string {
  const parts = value.parts.map((part) => {
    if (typeof part === 'string') return part;
    return 'variable' in part
      ? escaped(variable(part.variable, build), escape)
      : escaped(capture(part.capture), escape);
  });
  return (x) => {
    let line = '';
    for (const part of parts) line += typeof part === 'string' ? part : part(x);
    return line;
  };
}

function variable(name: string, build: Build): Getter {
  const read = build.variable(name);
  if (isSecret(name)) return (x) => (read(x) === undefined ? undefined : '***');
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

function capture(index: number): Getter {
  return (x) => x.captures?.[index];
}

/** Escapes a variable. Without a value it is `-`, in JSON empty (nginx ngx_http_log_module). */
function escaped(read: Getter, escape: Escape): (x: Exchange) => string {
  if (escape === 'none') return (x) => read(x) ?? '';
  if (escape === 'json') return (x) => escapeJson(read(x) ?? '');
  return (x) => {
    const text = read(x);
    return text === undefined ? '-' : escapeDefault(text);
  };
}
