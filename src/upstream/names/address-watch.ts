import type { ServerAddress } from '../peer-group.ts';
import { lookUpHost } from './known-names.ts';
import { NameFault, type NameResolver } from './name-resolver.ts';
import { addressOf, type ServerConfig } from '../plan.ts';

/** The addresses of a name, and when to look it up again (`undefined`: never). */
interface FoundAddresses {
  readonly addresses: readonly ServerAddress[];
  readonly againMs: number | undefined;
  /** Why there are no addresses. */
  readonly fault?: Error;
}

/** How to look up a name, and what to do with the result. */
interface WatchOptions {
  /** Rejects if nothing was learnt; known addresses stay in use. */
  readonly ask: () => Promise<FoundAddresses>;
  readonly found: (addresses: readonly ServerAddress[]) => void;
  /** Called for the first failure until addresses are found again. */
  readonly failed: (error: Error) => void;
  /** There are no addresses yet. */
  readonly isUrgent: boolean;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;
const MIN_MS = 1000;
/** A timer's delay is limited to 2^31 - 1 ms. */
const MAX_MS = 86_400_000;

/**
 * Follows the addresses of one server until it is closed: looks them up again when they expire, or when a lookup
 * failed.
 */
export class AddressWatch {
  readonly #watching: WatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #isTold = false;
  #isClosed = false;

  constructor(watching: WatchOptions) {
    this.#watching = watching;
  }

  /** True if there were no addresses when the watch began. */
  get isUrgent(): boolean {
    return this.#watching.isUrgent;
  }

  /** Looks the addresses up. Resolves after the first result or failure; never rejects. */
  async ask(): Promise<void> {
    try {
      const { addresses, againMs, fault } = await this.#watching.ask();
      if (this.#isClosed) return;
      this.#retryMs = FIRST_RETRY_MS;
      this.#watching.found(addresses);
      this.#tell(fault);
      if (againMs !== undefined) this.#later(againMs);
    } catch (error) {
      if (this.#isClosed) return;
      this.#tell(error as Error);
      this.#later(this.#retryMs);
      this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #tell(fault: Error | undefined): void {
    if (fault && !this.#isTold) this.#watching.failed(fault);
    this.#isTold = fault !== undefined;
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => void this.ask(), Math.min(MAX_MS, Math.max(MIN_MS, ms)));
    this.#timer.unref();
  }
}

/** Returns the lookup of a server's addresses; `undefined` if it has a fixed address. */
export function addressLookup(
  { target, resolve }: Pick<ServerConfig, 'target' | 'resolve'>,
  resolver?: NameResolver,
): (() => Promise<FoundAddresses>) | undefined {
  if (target.kind !== 'name') return undefined;
  const { host, port } = target;
  if (!resolve) return async () => ({ addresses: await askSystem(host, port), againMs: undefined });
  if (!resolver) return undefined;
  const { service } = resolve;
  return async () => {
    try {
      return service === undefined
        ? await askNames(resolver, host, port)
        : await askService(resolver, `${serviceName(service)}.${host}`);
    } catch (error) {
      // As in nginx, a name that does not exist leaves the group; if there is no response, nothing changes.
      if (error instanceof NameFault && error.isAbsent) return { addresses: [], againMs: 0, fault: error };
      throw error;
    }
  };
}

async function askSystem(host: string, port: number): Promise<ServerAddress[]> {
  const addresses = await lookUpHost(host);
  return addresses.map((ip) => ({ address: addressOf(ip, port) }));
}

async function askNames(resolver: NameResolver, host: string, port: number): Promise<FoundAddresses> {
  const { addresses, validMs } = await resolver.addresses(host);
  // Sorted, so that the peers do not depend on the order of the records.
  return {
    addresses: addresses.toSorted().map((ip) => ({ address: addressOf(ip, port) })),
    againMs: validMs,
  };
}

/** Looks up SRV records. Those with the best priority are the servers, the others their backups (nginx). */
async function askService(resolver: NameResolver, name: string): Promise<FoundAddresses> {
  const { records, validMs } = await resolver.service(name);
  const best = Math.min(...records.map(({ priority }) => priority));
  const addresses = records
    .toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1))
    .flatMap(({ addresses: ips, port, weight, priority }) =>
      ips.map((ip) => ({
        address: addressOf(ip, port),
        weight: Math.max(1, weight),
        backup: priority > best,
      })),
    );
  return { addresses, againMs: validMs };
}

/** Expands `http` to `_http._tcp`; a text with a dot is unchanged. */
function serviceName(service: string): string {
  return service.includes('.') ? service : `_${service}._tcp`;
}
