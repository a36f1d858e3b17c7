import { ADDRCONFIG, type RecordWithTtl, type SrvRecord } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { ResolveFault } from './host-policy.ts';
import type { Resolving } from './selection.ts';

/** nginx's codes and messages for DNS errors, by the codes of c-ares. */
const REASONS: Readonly<Record<string, string>> = {
  EFORMERR: '1: Format error',
  EBADNAME: '1: Format error',
  ESERVFAIL: '2: Server failure',
  ENOTFOUND: '3: Host not found',
  ENODATA: '3: Host not found',
  ENOTIMP: '4: Unimplemented',
  EREFUSED: '5: Operation refused',
};
const TIMED_OUT = '110: Operation timed out';

/** The error of a name that could not be resolved. */
export class NameFault extends ResolveFault {
  /** True if the name does not exist or has no address. */
  readonly isAbsent: boolean;

  constructor(name: string, error: unknown) {
    super(`${name} could not be resolved (${REASONS[codeOf(error)] ?? TIMED_OUT})`);
    this.isAbsent = isAbsence(error);
  }
}

/** Tells whether the name server responded that the name does not exist or has no address. */
function isAbsence(error: unknown): boolean {
  return ['ENOTFOUND', 'ENODATA'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

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

/** The addresses of a name, IPv4 first, and how long they are valid. */
interface ResolvedName {
  readonly addresses: readonly string[];
  readonly validMs: number;
}

/** The records of a service, and how long they are valid. */
interface ResolvedService {
  readonly records: readonly (SrvRecord & { readonly addresses: readonly string[] })[];
  readonly validMs: number;
}

interface CachedOutcome {
  readonly outcome: ResolvedName | ResolveFault;
  readonly untilMs: number;
}

/** Number of names that are cached. */
const MAX_NAMES = 1000;
/** Number of names that are looked up at the same time; requests may name any number. */
const MAX_ASKING = 1000;
/** Failures are cached for a short time only, so that new records are found soon. */
const FAULT_VALID_MS = 1000;
/** Time until a query is repeated. */
const TRY_MS = 2000;
const TRIES = 4;
/** Node does not return the time to live of SRV records. */
const SERVICE_VALID_MS = 10_000;

/**
 * Queries the name servers of one `resolver` directive. There is one query per name at a time, and results are cached
 * as long as they are valid.
 */
export class NameResolver {
  readonly #resolver: Resolver;
  readonly #resolving: Resolving;
  readonly #kept = new LRUCache<string, CachedOutcome>({ max: MAX_NAMES });
  readonly #asking = new Map<string, Promise<ResolvedName>>();

  /**
   * Name servers that are configured by name are looked up before the first query. Those that are not found are
   * omitted.
   */
  #servers: Promise<void> | undefined;

  constructor(resolving: Resolving) {
    this.#resolving = resolving;
    this.#resolver = new Resolver({
      timeout: Math.max(1, Math.min(TRY_MS, resolving.timeoutMs)),
      tries: TRIES,
    });
  }

  /** Returns the cached addresses of a name. Throws the cached error if there is one. */
  known(name: string): ResolvedName | undefined {
    const kept = this.#kept.get(name);
    if (!kept || kept.untilMs <= performance.now()) return undefined;
    if (kept.outcome instanceof ResolveFault) throw kept.outcome;
    return kept.outcome;
  }

  /** Looks up the addresses of a name. Rejects with a `ResolveFault`. */
  addresses(name: string): Promise<ResolvedName> {
    const known = this.#asking.get(name);
    if (known) return known;
    if (this.#asking.size >= MAX_ASKING)
      return Promise.reject(new ResolveFault(`${name} could not be resolved (too many names are asked for)`));
    const asked = this.#ask(name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asked);
    return asked;
  }

  /** Looks up the SRV records of a name and the addresses of their targets. Rejects with a `ResolveFault`. */
  async service(name: string): Promise<ResolvedService> {
    await (this.#servers ??= this.#findServers());
    const found = await this.#inTime(this.#resolver.resolveSrv(name)).catch((error: unknown) => {
      throw new NameFault(name, error);
    });
    const targets = await Promise.all(
      found.map((record) => this.addresses(record.name).catch(() => ({ addresses: [], validMs: Infinity }))),
    );
    const validMs = this.#resolving.resolver?.validMs ?? SERVICE_VALID_MS;
    return {
      records: found.map((record, index) => ({ ...record, addresses: targets[index]?.addresses ?? [] })),
      validMs: Math.min(validMs, ...targets.map((target) => target.validMs)),
    };
  }

  /** Cancels all queries. */
  close(): void {
    this.#resolver.cancel();
  }

  async #ask(name: string): Promise<ResolvedName> {
    try {
      await (this.#servers ??= this.#findServers());
      const resolved = await this.#query(name);
      this.#keep(name, resolved, resolved.validMs);
      return resolved;
    } catch (error) {
      const fault = error instanceof ResolveFault ? error : new NameFault(name, error);
      this.#keep(name, fault, FAULT_VALID_MS);
      throw fault;
    }
  }

  /**
   * Rejects if there is no name server; otherwise those of the system would be used, which the configuration does not
   * say.
   */
  async #findServers(): Promise<void> {
    const servers = await Promise.all((this.#resolving.resolver?.servers ?? []).map(addressesOfServer));
    if (servers.flat().length > 0) return this.#resolver.setServers(servers.flat());
    this.#servers = undefined;
    throw new ResolveFault('no name server of "resolver" was found');
  }

  async #query(name: string): Promise<ResolvedName> {
    const { ipv4 = true, ipv6 = true, validMs } = this.#resolving.resolver ?? {};
    const found: RecordWithTtl[][] = [];
    const errors: unknown[] = [];
    const fail = (error: unknown): void => void errors.push(error);
    const ask = (index: number, question: Promise<RecordWithTtl[]>): Promise<void> =>
      question.then((records) => void (found[index] = records), fail);
    const questions: Promise<void>[] = [];
    if (ipv4) questions.push(ask(0, this.#resolver.resolve4(name, { ttl: true })));
    if (ipv6) questions.push(ask(1, this.#resolver.resolve6(name, { ttl: true })));
    // No response for one address family does not invalidate the other.
    await this.#inTime(Promise.all(questions)).catch(fail);
    const records = found.flat();
    if (records.length === 0) throw new NameFault(name, worstOf(errors));
    const ttlMs = 1000 * Math.min(...records.map(({ ttl }) => ttl));
    return { addresses: records.map(({ address }) => address), validMs: validMs ?? ttlMs };
  }

  /** Limits the time of a query. */
  #inTime<T>(query: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no response in time')), this.#resolving.timeoutMs);
      query.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  #keep(name: string, outcome: CachedOutcome['outcome'], validMs: number): void {
    this.#kept.set(name, { outcome, untilMs: performance.now() + validMs });
  }
}

type ServerOfNames = NonNullable<Resolving['resolver']>['servers'][number];

async function addressesOfServer({ host, port }: ServerOfNames): Promise<string[]> {
  const addresses = isIP(host) ? [host] : await lookUpHost(host).catch(() => []);
  return addresses.map((address) => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`));
}

/** Returns the most informative error: a timeout or a failure, rather than a missing address family. */
function worstOf(errors: readonly unknown[]): unknown {
  return errors.find((error) => !isAbsence(error)) ?? errors[0] ?? { code: 'ENODATA' };
}
