/** What a request must not name, or a name that does not lead to an address; the message is nginx's where it has one. */
export class ResolveFault extends Error {}

/** Host and port of a text that came out of variables; `port` absent: none was written. */
export interface RequestHost {
  readonly host: string;
  readonly port?: number;
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]{0,253}))(?::(\d{1,5}))?$/i;

/**
 * Takes apart the `host[:port]` of an address whose text depends on the request. Whoever sends a request must not aim at a
 * Unix socket of this machine, nor hide the host behind a login: both are refused, for the configuration's author alone.
 */
export function readRequestHost(text: string): RequestHost | ResolveFault {
  if (/^unix:/i.test(text)) return new ResolveFault(`"${text}" may not name a unix socket by variables`);
  if (text.includes('@')) return new ResolveFault(`"${text}" may not carry a login by variables`);
  const [, host, port] = HOST.exec(text) ?? [];
  if (host === undefined) return new ResolveFault(`invalid host in upstream "${text}"`);
  if (port === undefined) return { host };
  const number = Number(port);
  if (number < 1 || number > 65_535) return new ResolveFault(`invalid port in upstream "${text}"`);
  return { host, port: number };
}
