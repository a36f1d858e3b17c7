import type { Draft } from './draft.ts';
import type { Setting } from './postgrest-file.ts';

type Get = (key: string) => Setting | undefined;

const DEFAULT_PORT = '3000';

/** The words of `listen`, one list for each address. A Unix socket takes the place of the port, as in PostgREST. */
export function listenArgs(get: Get): readonly (readonly string[])[] {
  const [host, port] = [get('server-host')?.value, get('server-port')?.value ?? DEFAULT_PORT];
  const socket = get('server-unix-socket')?.value;
  return socket === undefined ? addresses(host, port) : [[`unix:${socket}`]];
}

/** `!4` and its like are those of Haskell's network libraries: any address of a family. */
function addresses(host = '!4', port: string): readonly (readonly string[])[] {
  if (host === '*' || host === '*4' || host === '*6') return [[port], [`[::]:${port}`]];
  if (host === '!4') return [[port]];
  if (host === '!6') return [[`[::]:${port}`]];
  return [[`${host.includes(':') ? `[${host}]` : host}:${port}`]];
}

/** The probes of PostgREST's admin server. */
export function addAdmin(http: Draft, get: Get): void {
  const port = get('admin-server-port')?.value;
  const host = get('admin-server-host')?.value ?? get('server-host')?.value;
  if (port === undefined) return;
  http.block('server', [], (server) => {
    for (const args of addresses(host, port)) server.add('listen', ...args);
    for (const endpoint of ['live', 'ready', 'metrics']) {
      server.block('location', ['=', `/${endpoint}`], (location) => location.add('control_api', endpoint));
    }
  });
}
