import { once } from 'node:events';
import { connect } from 'node:net';
import { inject } from 'vitest';

/** The services that vitest's main process starts at their first use. */
export interface Services {
  /** The cluster that all databases of the run live in; superuser `postgres`, no passwords. */
  readonly postgres: { readonly host: string; readonly port: number; readonly socketDir: string };
  /** Path of redis-server or valkey-server. */
  readonly redis: { readonly program: string };
  /** Path of a Chromium. */
  readonly chromium: { readonly program: string };
  /** Path of a PgBouncer. */
  readonly pgbouncer: { readonly program: string };
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Unix socket of `global-setup.ts`. */
    readonly services: string;
  }
}

/** Requests a service from the main process. Throws the reason if it cannot be started. */
export async function service<K extends keyof Services>(name: K): Promise<Services[K]> {
  const socket = connect(inject('services'));
  let reply = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (reply += chunk));
  socket.write(name);
  await once(socket, 'close');
  const { value, reason } = JSON.parse(reply) as { value?: Services[K]; reason?: string };
  if (value === undefined) throw new Error(reason);
  return value;
}
