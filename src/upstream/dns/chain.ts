import { type DnsRecord, type Question, questionName } from './message.ts';

/** The result of following a name through the records of a response. */
interface Chain {
  /** The name itself, or the target of the last alias. */
  readonly end: string;
  /** The records of the wanted type at all names on the way. */
  readonly found: readonly DnsRecord[];
  /** The shortest time to live of all records that count; `Infinity`: none counts. */
  readonly ttlSeconds: number;
}

/** Number of aliases that are followed from one name (nginx: NGX_RESOLVER_MAX_RECURSION). */
export const MAX_ALIASES = 50;

/**
 * Follows the aliases (CNAME and DNAME) of a name within one response. Records of other names do not count. Returns
 * `undefined` if the aliases lead nowhere: in a circle, or to what is no name.
 */
export function followAliases({ name, type }: Question, records: readonly DnsRecord[]): Chain | undefined {
  const names = new Set([name]);
  const links = records.filter(isLink);
  let end = name;
  let ttlSeconds = Infinity;
  for (let link = linkOf(end, links); link; link = linkOf(end, links)) {
    const target = targetOf(end, link);
    if (target === undefined || names.has(target) || names.size > MAX_ALIASES) return undefined;
    end = target;
    names.add(end);
    ttlSeconds = Math.min(ttlSeconds, link.ttlSeconds);
  }
  const found = records.filter((record) => record.type === type && names.has(record.owner));
  for (const record of found) ttlSeconds = Math.min(ttlSeconds, record.ttlSeconds);
  return { end, found, ttlSeconds };
}

type Link = Extract<DnsRecord, { type: 'CNAME' | 'DNAME' }>;

function isLink(record: DnsRecord): record is Link {
  return record.type === 'CNAME' || record.type === 'DNAME';
}

function linkOf(name: string, links: readonly Link[]): Link | undefined {
  return (
    links.find(({ type, owner }) => type === 'CNAME' && owner === name) ??
    links.find(({ type, owner }) => type === 'DNAME' && owner !== '' && name.endsWith(`.${owner}`))
  );
}

/** A DNAME record replaces the end of all names below its own (RFC 6672). */
function targetOf(name: string, { type, owner, target }: Link): string | undefined {
  if (type === 'CNAME' || target === undefined) return target;
  return questionName(name.slice(0, -owner.length) + target);
}
