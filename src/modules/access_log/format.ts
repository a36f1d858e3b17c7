import { type Build, loggedCapture, loggedVariable } from '../../contract/index.ts';
import type { Exchange, Getter } from '../../http/index.ts';
import { escapeDefault, escapeJson } from '../../log/index.ts';
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

/** Compiles a format to a function that gives the line without its line end. */
export function compileFormat({ value, escape }: LogFormat, build: Build): (x: Exchange) => string {
  const parts = value.parts.map((part) => {
    if (typeof part === 'string') return part;
    return 'variable' in part
      ? escaped(loggedVariable(part.variable, build), escape)
      : escaped(loggedCapture(part.capture), escape);
  });
  return (x) => {
    let line = '';
    for (const part of parts) line += typeof part === 'string' ? part : part(x);
    return line;
  };
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
