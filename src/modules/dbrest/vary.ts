import { type Exchange, stateKey } from '../../http/index.ts';

/** What every response depends on, as PostgREST says it. */
const ALWAYS = 'Accept, Prefer, Range';

/** Value: the database has set `Vary`, which then stays as it is. */
const CHOSEN = stateKey<boolean>('Vary of the database');

export function keepChosenVary(x: Exchange): void {
  x.setState(CHOSEN, true);
}

/**
 * Adds the request headers that a response depends on to its `Vary`; errors do not depend on them. Called where it is sent: in
 * a cache, `Vary` would tell requests apart that its key knows to be the same.
 */
export function addVary(x: Exchange, dependsOnOrigin: boolean): void {
  const own = x.status < 400 && x.state(CHOSEN) !== true ? ALWAYS : '';
  const names = dependsOnOrigin ? `${own}${own && ', '}Origin` : own;
  if (names === '') return;
  const { response } = x;
  const others = response.joinedHeader('vary');
  if (others === undefined) response.setKnownHeader('Vary', names);
  else response.replaceHeader('Vary', union(others, names));
}

function union(lists: string, more: string): string {
  const names = [...lists.split(','), ...more.split(',')].map((name) => name.trim()).filter(Boolean);
  if (names.includes('*')) return '*';
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()].join(', ');
}
