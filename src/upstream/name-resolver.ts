import { ADDRCONFIG, type RecordWithTtl, type SrvRecord } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { ResolveFault } from './host-policy.ts';
import type { Resolving } from './selection.ts';

/** nginx's numbers and words for what a name server said, by c-ares' codes. */
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

/** A name that could not be resolved. */
export class NameFault extends ResolveFault {
  /** See `isAbsence`. */
  readonly isAbsent: boolean;

  constructor(name: string, error: unknown) {
    super(`${name} could not be resolved (${REASONS[codeOf(error)] ?? TIMED_OUT})`);
    this.isAbsent = isAbsence(error);
  }
}

/** There is no such name, or it has no address: this is an answer, unlike silence. */
function isAbsence(error: unknown): boolean {
  return ['ENOTFOUND', 'ENODATA'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

/** The addresses of a name as the system knows them (`/etc/hosts`, name servers), IPv4 first as in nginx. Rejects when there are none. */
export async function lookUpHost(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, hints: ADDRCONFIG });
  const ofFamily = (wanted: number): string[] =>
    found.filter(({ family }) => family === wanted).map(({ address }) => address);
  return [...ofFamily(4), ...ofFamily(6)];
}

/** Addresses of a name, IPv4 first, and how long they are good for. */
interface ResolvedName {
  readonly addresses: readonly string[];
  readonly validMs: number;
}

/** Records of a service, and how long they are good for. */
interface ResolvedService {
  readonly records: readonly (SrvRecord & { readonly addresses: readonly string[] })[];
  readonly validMs: number;
}

interface CachedOutcome {
  readonly outcome: ResolvedName | ResolveFault;
  readonly untilMs: number;
}

/** Names that one worker keeps. */
const MAX_NAMES = 1000;
/** Names that it asks for at one time: requests may name as many as they like. */
const MAX_ASKING = 1000;
/** A name that is not there is asked for again after this time: nobody waits long for a record that was just made. */
const FAULT_VALID_MS = 1000;
/** Before a name server is asked again. */
const TRY_MS = 2000;
const TRIES = 4;
/** SRV answers come without their time to live. */
const SERVICE_VALID_MS = 10_000;

/** Asks the name servers of one `resolver` directive. One question at a time per name, answers are kept as long as they are good. */
export class NameResolver {
  readonly #resolver: Resolver;
  readonly #resolving: Resolving;
  readonly #kept = new LRUCache<string, CachedOutcome>({ max: MAX_NAMES });
  readonly #asking = new Map<string, Promise<ResolvedName>>();

  /** Name servers that are given by name are looked up before the first question; those that are not found are left out. */
  #servers: Promise<void> | undefined;

  constructor(resolving: Resolving) {
    this.#resolving = resolving;
    this.#resolver = new Resolver({
      timeout: Math.max(1, Math.min(TRY_MS, resolving.timeoutMs)),
      tries: TRIES,
    });
  }

  /** What is known of a name at this moment; throws what is known to be wrong with it. */
  known(name: string): ResolvedName | undefined {
    const kept = this.#kept.get(name);
    if (!kept || kept.untilMs <= performance.now()) return undefined;
    if (kept.outcome instanceof ResolveFault) throw kept.outcome;
    return kept.outcome;
  }

  /** Rejects with a `ResolveFault`. */
  addresses(name: string): Promise<ResolvedName> {
    const known = this.#asking.get(name);
    if (known) return known;
    if (this.#asking.size >= MAX_ASKING)
      return Promise.reject(new ResolveFault(`${name} could not be resolved (too many names are asked for)`));
    const asked = this.#ask(name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asked);
    return asked;
  }

  /** The SRV records of a name with the addresses of their targets; rejects with a `ResolveFault`. */
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

  /** Ends what is under way. */
  close(): void {
    this.#resolver.cancel();
  }

  async #ask(name: string): Promise<ResolvedName> {
    try {
      await (this.#servers ??= this.#findServers());
      const answer = await this.#query(name);
      this.#keep(name, answer, answer.validMs);
      return answer;
    } catch (error) {
      const fault = error instanceof ResolveFault ? error : new NameFault(name, error);
      this.#keep(name, fault, FAULT_VALID_MS);
      throw fault;
    }
  }

  /** Without any the system's own would be asked, which is not what the configuration says. */
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
    const ask = (place: number, question: Promise<RecordWithTtl[]>): Promise<void> =>
      question.then((records) => void (found[place] = records), fail);
    const questions: Promise<void>[] = [];
    if (ipv4) questions.push(ask(0, this.#resolver.resolve4(name, { ttl: true })));
    if (ipv6) questions.push(ask(1, this.#resolver.resolve6(name, { ttl: true })));
    // A name server that is silent about one family does not make the other useless.
    await this.#inTime(Promise.all(questions)).catch(fail);
    const records = found.flat();
    if (records.length === 0) throw new NameFault(name, worstOf(errors));
    const ttlMs = 1000 * Math.min(...records.map(({ ttl }) => ttl));
    return { addresses: records.map(({ address }) => address), validMs: validMs ?? ttlMs };
  }

  /** The answer that comes in time; a later one is of use to nobody who waits now. */
  #inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no answer in time')), this.#resolving.timeoutMs);
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
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

/** Silence and failures say more than that one family has no address. */
function worstOf(errors: readonly unknown[]): unknown {
  return errors.find((error) => !isAbsence(error)) ?? errors[0] ?? { code: 'ENODATA' };
}
