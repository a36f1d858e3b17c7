import type { ResourceScope } from '../contract/index.ts';
import type { ErrorLog } from '../log/index.ts';

interface Shared {
  readonly resource: unknown;
  readonly close: (resource: never) => void | Promise<void>;
  users: number;
}

/**
 * Resources that several configurations of one thread share by key. A resource is closed when its last user releases
 * it.
 */
export class SharedResources {
  readonly #byKey = new Map<string, Shared>();

  acquire<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T {
    const known = this.#byKey.get(key);
    if (known) {
      known.users++;
      return known.resource as T;
    }
    const resource = open();
    this.#byKey.set(key, { resource, close, users: 1 });
    return resource;
  }

  async release(key: string): Promise<void> {
    const shared = this.#byKey.get(key);
    if (!shared || --shared.users > 0) return;
    this.#byKey.delete(key);
    await shared.close(shared.resource as never);
  }
}

/** The resources that one configuration has opened in one thread. They are closed in reverse order. */
export class OwnedResources implements ResourceScope {
  readonly log: ErrorLog;
  readonly prefix: string;
  readonly #shared: SharedResources;
  readonly #closers: (() => void | Promise<void>)[] = [];
  readonly #keys = new Set<string>();

  constructor({ shared, log, prefix }: { shared: SharedResources; log: ErrorLog; prefix: string }) {
    this.#shared = shared;
    this.log = log;
    this.prefix = prefix;
  }

  own<T>(resource: T, close: (resource: T) => void | Promise<void>): T {
    this.#closers.push(() => close(resource));
    return resource;
  }

  share<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T {
    const resource = this.#shared.acquire(key, open, close);
    if (this.#keys.has(key)) void this.#shared.release(key);
    else this.#closers.push(() => this.#shared.release(key));
    this.#keys.add(key);
    return resource;
  }

  /** Closes all resources. Never fails: errors are logged. */
  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        this.log.write(
          'error',
          `closing a resource failed: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  }
}
