import type { LogContext } from './error-log.ts';
import { redactQuery } from './redact.ts';

/** A message with the facts of its request, as nginx ends its lines: one line, and nothing that a terminal would obey. */
export function errorText(message: string, context: LogContext | undefined): string {
  const connection = context?.connection === undefined ? '' : `*${context.connection} `;
  return printable(connection + message + describe(context));
}

/** `, client: …, server: …, request: "…"` in nginx's order; secrets in the query are masked. */
function describe(context: LogContext | undefined): string {
  if (!context) return '';
  const { client, server, request, subrequest, upstream, host, referrer } = context;
  return [
    client && `, client: ${client}`,
    server !== undefined && `, server: ${server}`,
    request && `, request: "${redactQuery(request)}"`,
    subrequest && `, subrequest: "${subrequest}"`,
    upstream && `, upstream: "${redactQuery(upstream)}"`,
    host && `, host: "${host}"`,
    referrer && `, referrer: "${redactQuery(referrer)}"`,
  ]
    .filter(Boolean)
    .join('');
}

// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const CONTROL = /[\0-\x1f\x7f-\x9f]/g;

function printable(text: string): string {
  return text.replace(
    CONTROL,
    (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
