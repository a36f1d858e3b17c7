import { ADDRCONFIG } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import {
  type DnsRecord,
  type DnsResponse,
  followAliases,
  NameServers,
  NO_ERROR,
  NOT_FOUND,
  type Question,
  type ServerAddress,
  TIMED_OUT,
} from '../dns/index.ts';
import { ResolveFault } from './host-policy.ts';
import type { Resolving } from '../interfaces.ts';

/** The response of the name servers about one name: its records, or the name that it is an alias of. */
export interface Known {
  readonly records: readonly DnsRecord[];
  /** Of these records, IPv4 first. */
  readonly addresses: readonly string[];
  /** Set if there are no records. */
  readonly alias?: string;
  /** In the time of `performance.now`. */
  readonly untilMs: number;
}

/** The subject of a lookup: the addresses of a name, or its SRV or TXT records. */
export type Wanted = 'addresses' | 'services' | 'texts';

interface Lookup {
  readonly wanted: Wanted;
  readonly name: string;
  readonly timeoutMs: number;
}

/** Number of names that are cached. */
const MAX_NAMES = 1000;

/** Records are not kept for longer than a day, unless `valid` says so. */
const MAX_VALID_MS = 86_400_000;

/**
 * Looks up the addresses of a name as the system does (`/etc/hosts`, name servers), IPv4 first as in nginx. Rejects if
 * there are none.
 */
export async function lookUpHost(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, hints: ADDRCONFIG });
  const ofFamily = (wanted: number): string[] =>
    found.filter(({ family }) => family === wanted).map(({ address }) => address);
  return [...ofFamily(4), ...ofFamily(6)];
}

/**
 * The names that the name servers of one `resolver` know, each without the names that it is an alias of. There is one
 * lookup of a name at a time. As in nginx, only what was found is cached, not that nothing was.
 */
export class KnownNames {
  readonly #resolver: Resolving['resolver'];
  readonly #cache = new LRUCache<string, Known>({ max: MAX_NAMES });
  readonly #asking = new Map<string, Promise<Known | number>>();
  /**
   * Name servers that are configured by name are looked up before the first query. Those that are not found are
   * omitted.
   */
  #servers: Promise<NameServers> | undefined;

  constructor(resolver: Resolving['resolver']) {
    this.#resolver = resolver;
  }

  /** Returns what is cached and still valid. `name` is in the form of `Question.name`. */
  cached(wanted: Wanted, name: string): Known | undefined {
    const known = this.#cache.get(`${wanted} ${name}`);
    return known && known.untilMs > performance.now() ? known : undefined;
  }

  /**
   * Asks the name servers for what is not cached. Resolves with the code of a failure; rejects with a `ResolveFault` if
   * there is no name server.
   */
  async look(wanted: Wanted, name: string, timeoutMs: number): Promise<Known | number> {
    const known = this.cached(wanted, name);
    if (known) return known;
    const key = `${wanted} ${name}`;
    const asking = this.#asking.get(key);
    if (asking) return asking;
    const asked = this.#ask({ wanted, name, timeoutMs }).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return asked;
  }

  /** Ends all queries. */
  close(): void {
    void this.#servers?.then(
      (servers) => servers.close(),
      () => undefined,
    );
  }

  async #ask({ wanted, name, timeoutMs }: Lookup): Promise<Known | number> {
    const servers = await (this.#servers ??= this.#findServers());
    const { ipv4 = true, ipv6 = true, validMs } = this.#resolver ?? {};
    const questions: Question[] = [];
    if (wanted === 'services') questions.push({ name, type: 'SRV' });
    else if (wanted === 'texts') questions.push({ name, type: 'TXT' });
    else {
      if (ipv4) questions.push({ name, type: 'A' });
      if (ipv6) questions.push({ name, type: 'AAAA' });
    }
    const responses = await servers.ask(questions, timeoutMs);
    const found = combine(questions, responses);
    if (typeof found === 'number') return found;
    const forMs = validMs ?? Math.min(MAX_VALID_MS, 1000 * found.ttlSeconds);
    const known = { ...found, untilMs: performance.now() + forMs };
    this.#cache.set(`${wanted} ${name}`, known);
    return known;
  }

  /**
   * Rejects if there is no name server; those of the system are no substitute, since the configuration does not name
   * them.
   */
  async #findServers(): Promise<NameServers> {
    const servers = await Promise.all((this.#resolver?.servers ?? []).map(addressesOfServer));
    if (servers.flat().length > 0) return new NameServers(servers.flat());
    this.#servers = undefined;
    throw new ResolveFault('no name server of "resolver" was found');
  }
}

type ServerOfNames = NonNullable<Resolving['resolver']>['servers'][number];

async function addressesOfServer({ host, port }: ServerOfNames): Promise<ServerAddress[]> {
  const addresses = isIP(host) ? [host] : await lookUpHost(host).catch(() => []);
  return addresses.map((ip) => ({ ip, port }));
}

type Found = Omit<Known, 'untilMs'> & { readonly ttlSeconds: number };

/**
 * Combines the responses about one name, or returns the code of a failure. As in nginx, an error for one address family
 * is an error of the name, unless it says that there is no such name. Addresses of one family are used if there is no
 * response for the other.
 */
function combine(questions: readonly Question[], responses: readonly DnsResponse[]): Found | number {
  const codes = responses.map(({ code }) => code);
  const error = codes.find((code) => ![NO_ERROR, NOT_FOUND, TIMED_OUT].includes(code));
  if (error !== undefined) return error;
  const chains = questions.flatMap((question, index) => {
    const { code, records } = responses[index] ?? { code: NOT_FOUND, records: [] };
    return code === NO_ERROR ? (followAliases(question, records) ?? []) : [];
  });
  const records = chains.flatMap(({ found }) => found);
  const ttlSeconds = Math.min(...chains.map((chain) => chain.ttlSeconds));
  const addresses = records.flatMap((record) => ('address' in record ? record.address : []));
  if (records.length > 0) return { records, addresses, ttlSeconds };
  if (codes.includes(TIMED_OUT)) return TIMED_OUT;
  const alias = chains.map(({ end }) => end).find((end) => end !== questions[0]?.name);
  return alias === undefined ? NOT_FOUND : { records, addresses, alias, ttlSeconds };
}
