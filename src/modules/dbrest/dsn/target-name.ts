import type { ConnectionTarget } from './target.ts';

/** A database as messages and metrics name it: without secrets. */
export function targetName({ hosts, database }: ConnectionTarget): string {
  return `${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database ?? ''}`;
}
