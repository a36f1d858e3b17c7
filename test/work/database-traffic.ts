import type { Socket } from 'node:net';
import type { Owner } from '../harness/owner.ts';
import type { TestDatabase } from '../harness/postgres.ts';
import { throughProxy } from '../modules/dbrest/database-proxy.ts';

/** What went to a database and came from it. */
export interface Traffic {
  readonly writes: number;
  /** Messages `Parse`: texts of statements that were sent because the session did not know them. */
  readonly parses: number;
  /** Messages `Execute`. */
  readonly statements: number;
  /** Messages `Sync`: each is one transaction and one wait. */
  readonly syncs: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

const NONE: Traffic = { writes: 0, parses: 0, statements: 0, syncs: 0, sentBytes: 0, receivedBytes: 0 };
const FIELD_BY_TYPE: Readonly<Record<string, 'parses' | 'statements' | 'syncs'>> = {
  P: 'parses',
  E: 'statements',
  S: 'syncs',
};

/** Counts what passes between a gateway and its database. */
export class DatabaseTraffic {
  #seen: { -readonly [K in keyof Traffic]: number } = { ...NONE };
  readonly #upstreams = new WeakSet<Socket>();

  /** The data source name of the database by way of the counter. */
  open(owner: Owner, db: TestDatabase): Promise<string> {
    return throughProxy(
      db,
      (bytes, { upstream }) => {
        upstream.write(bytes);
        this.#sent(bytes);
        if (this.#upstreams.has(upstream)) return;
        this.#upstreams.add(upstream);
        upstream.on('data', (received) => void (this.#seen.receivedBytes += received.length));
      },
      owner,
    );
  }

  /** What passed until `act` was done. Sessions must be open already: what opens one has another format. */
  async during(act: () => Promise<void>): Promise<Traffic> {
    this.#seen = { ...NONE };
    await act();
    return this.#seen;
  }

  #sent(bytes: Buffer): void {
    this.#seen.writes += 1;
    this.#seen.sentBytes += bytes.length;
    // A type, then a length that includes itself (PostgreSQL documentation, "Message Formats").
    for (let at = 0; at + 5 <= bytes.length; at += 1 + Math.max(4, bytes.readInt32BE(at + 1))) {
      const field = FIELD_BY_TYPE[String.fromCharCode(bytes[at] ?? 0)];
      if (field !== undefined) this.#seen[field] += 1;
    }
  }
}
