import type { ServerAddress } from './peer-group.ts';
import { lookUpHost, NameFault, type NameResolver } from './name-resolver.ts';
import { addressOf, type ServerConfig } from './plan.ts';

/** What a server's name leads to, and when to ask again (`undefined`: never). */
interface FoundAddresses {
  readonly addresses: readonly ServerAddress[];
  readonly againMs: number | undefined;
  /** Why there are none. */
  readonly fault?: Error;
}

/** What to ask and what to do with the answers. */
interface WatchOptions {
  /** Rejects when nothing was learnt: what was known goes on. */
  readonly ask: () => Promise<FoundAddresses>;
  readonly found: (addresses: readonly ServerAddress[]) => void;
  /** Told once, until addresses are found again. */
  readonly failed: (error: Error) => void;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;
const MIN_MS = 1000;
/** A timer takes no more than 2^31 - 1. */
const MAX_MS = 86_400_000;

/** Asks for the addresses of one server until it is told to stop: again when they are out of date, or when nobody answered. */
export class AddressWatch {
  readonly #watching: WatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #isTold = false;
  #isClosed = false;

  constructor(watching: WatchOptions) {
    this.#watching = watching;
  }

  /** Resolves when the first answer is there, or did not come. Never fails. */
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

/** How the addresses of a server with a name are found; `undefined`: it has none, or needs a resolver that is not there. */
export function addressLookup(
  { target, resolve }: ServerConfig,
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
      // nginx: who is said to be gone leaves the group; who says nothing changes nothing.
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
  // In one order, so that the peers are the same whatever order the answers come in.
  return {
    addresses: addresses.toSorted().map((ip) => ({ address: addressOf(ip, port) })),
    againMs: validMs,
  };
}

/** Those with the best priority are the servers, the others their backups (nginx). */
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

/** `http` is `_http._tcp`; a text with a dot stands as it is. */
function serviceName(service: string): string {
  return service.includes('.') ? service : `_${service}._tcp`;
}
