import { MAX_ALIASES, NOT_FOUND, questionName, type ServiceData, TIMED_OUT } from '../dns/index.ts';
import { ResolveFault } from './host-policy.ts';
import { type Known, KnownNames, type Wanted } from './known-names.ts';
import type { Resolving } from '../interfaces.ts';

/** nginx's messages for the codes of responses. */
const REASONS: Readonly<Record<number, string>> = {
  1: 'Format error',
  2: 'Server failure',
  3: 'Host not found',
  4: 'Unimplemented',
  5: 'Operation refused',
  110: 'Operation timed out',
};

/** The error of a name that could not be resolved. */
export class NameFault extends ResolveFault {
  /** True if the name does not exist or has no address. */
  readonly isAbsent: boolean;

  constructor(name: string, code: number) {
    super(`${name} could not be resolved (${code}: ${REASONS[code]})`);
    this.isAbsent = code === NOT_FOUND;
  }
}

/** The addresses of a name, IPv4 first, and how long they are valid. */
interface ResolvedName {
  readonly addresses: readonly string[];
  readonly validMs: number;
}

/** The records of a service, and how long they are valid. */
interface ResolvedService {
  readonly records: readonly (ServiceData & {
    readonly name: string;
    readonly addresses: readonly string[];
  })[];
  readonly validMs: number;
}

/** Number of names that are looked up at the same time; requests may name any number. */
const MAX_ASKING = 1000;

/** The precision of timers. */
const TICK_MS = 2;
/** A lookup that ends in time may tell more than that the time is over. */
const GRACE_MS = 100;

/** A timer's delay is limited to 2^31 - 1 ms. */
const LONGEST_TIMER_MS = 0x7fff_ffff;

/**
 * Resolves names with the name servers of one `resolver` directive. Equal lookups at the same time are one, and results are
 * cached as long as they are valid.
 */
export class NameResolver {
  readonly #timeoutMs: number;
  readonly #names: KnownNames;
  readonly #asking = new Map<string, Promise<Known>>();
  #isClosed = false;

  constructor(resolving: Resolving) {
    this.#timeoutMs = Math.min(resolving.timeoutMs, LONGEST_TIMER_MS);
    this.#names = new KnownNames(resolving.resolver);
  }

  /** Returns the cached addresses of a name in lower case. */
  known(name: string): ResolvedName | undefined {
    let next = name;
    let untilMs = Infinity;
    for (let depth = 0; depth <= MAX_ALIASES; depth++) {
      const known = this.#names.cached('addresses', next);
      if (!known) return undefined;
      untilMs = Math.min(untilMs, known.untilMs);
      if (known.alias === undefined) return resolvedName({ ...known, untilMs });
      next = known.alias;
    }
    return undefined;
  }

  /** Looks up the addresses of a name. Rejects with a `ResolveFault`. */
  async addresses(name: string): Promise<ResolvedName> {
    return resolvedName(await this.#ask('addresses', name));
  }

  /**
   * Looks up the SRV records of a name and the addresses of their targets; a target that does not exist has none. Rejects
   * with a `ResolveFault`, also if one of the targets could not be asked for.
   */
  async service(name: string): Promise<ResolvedService> {
    const { records, untilMs } = await this.#ask('services', name);
    const found = await Promise.all(
      records.map(async (record) => {
        if (record.type !== 'SRV' || record.target === undefined) return [];
        return { ...record, name: record.target, ...(await this.#target(record.target)) };
      }),
    );
    const services = found.flat();
    const validMs = Math.min(validUntil(untilMs), ...services.map((service) => service.validMs));
    return { records: services, validMs };
  }

  /** Looks up the TXT records of a name; none if there is no such name. Rejects with a `ResolveFault`. */
  async texts(name: string): Promise<readonly string[]> {
    try {
      const { records } = await this.#ask('texts', name);
      return records.flatMap((record) => (record.type === 'TXT' ? record.text : []));
    } catch (fault) {
      if (fault instanceof NameFault && fault.isAbsent) return [];
      throw fault;
    }
  }

  /** Ends all queries. */
  close(): void {
    this.#isClosed = true;
    this.#names.close();
  }

  async #target(name: string): Promise<ResolvedName> {
    try {
      return await this.addresses(name);
    } catch (fault) {
      if (fault instanceof NameFault && fault.isAbsent) return { addresses: [], validMs: Infinity };
      throw fault;
    }
  }

  #ask(wanted: Wanted, host: string): Promise<Known> {
    const name = questionName(host);
    if (name === undefined) return Promise.reject(new NameFault(host, NOT_FOUND));
    const key = `${wanted} ${name}`;
    const asking = this.#asking.get(key);
    if (asking) return asking;
    if (this.#asking.size >= MAX_ASKING)
      return Promise.reject(new ResolveFault(`${host} could not be resolved (too many names are asked for)`));
    const asked = this.#follow(wanted, name).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return asked;
  }

  /** Follows the aliases of a name to its records, as long as `resolver_timeout` allows. */
  async #follow(wanted: Wanted, name: string): Promise<Known> {
    const endMs = performance.now() + this.#timeoutMs;
    const names = new Set<string>();
    let untilMs = Infinity;
    for (let next = name; !names.has(next) && names.size <= MAX_ALIASES;) {
      names.add(next);
      const known = await this.#lookBefore(endMs, wanted, next);
      if (typeof known === 'number') throw new NameFault(name, known);
      untilMs = Math.min(untilMs, known.untilMs);
      if (known.alias === undefined) return { ...known, untilMs };
      next = known.alias;
    }
    throw new NameFault(name, NOT_FOUND);
  }

  /** Looks one name up. The lookup may have been started for another name that had more time left, or less. */
  async #lookBefore(endMs: number, wanted: Wanted, name: string): Promise<Known | number> {
    let leftMs = endMs - performance.now();
    do {
      const known = await inTime(this.#names.look(wanted, name, leftMs), leftMs + GRACE_MS);
      if (known !== TIMED_OUT) return known;
      leftMs = endMs - performance.now();
    } while (leftMs >= TICK_MS && !this.#isClosed);
    return TIMED_OUT;
  }
}

/** Resolves with `TIMED_OUT` if the lookup takes longer. */
function inTime<T>(lookup: Promise<T>, ms: number): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS), TIMED_OUT);
    lookup.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function resolvedName({ addresses, untilMs }: Known): ResolvedName {
  return { addresses, validMs: validUntil(untilMs) };
}

function validUntil(untilMs: number): number {
  return Math.max(0, untilMs - performance.now());
}
