import { randomUUID } from 'node:crypto';
import type { ErrorLog } from '../../../log/index.ts';
import {
  isPooled,
  limitedQuery,
  PID_SQL,
  quoteIdentifier,
  type WireClient,
} from '../../../postgres/index.ts';
import { CACHE_CHANNEL, OWN_CHANNELS } from '../directives/index.ts';
import type { CatalogueShare } from '../schema/index.ts';

/** The first load of the schema waits at most this long for the listener: changes before it listens would be missed. */
const LONGEST_START_MS = 1_000;

export interface ListeningOptions {
  /** The name of the database in the log. */
  readonly name: string;
  readonly log: ErrorLog;
  readonly share: CatalogueShare;
  /** Opens a listening session. */
  readonly listen: (hearing: ListenerEvents) => OpenListener;
  readonly refresh: () => void;
  /** The part of the locations that takes settings of the database. */
  readonly followSettings: () => 'all' | 'some' | 'none';
  /** Receives announced writes, and the periods in which no write can have been missed. */
  readonly caches: {
    readonly isUsed: boolean;
    listening(): Promise<void>;
    lost(): void;
    heard(payload: string): void;
    schemaAnnounced(): void;
  };
  /** The channels that locations listen to. */
  readonly channels: {
    readonly names: readonly string[];
    whenChanged(run: () => void): void;
    heard(name: string, payload: string): void;
    gap(): void;
  };
  /** Called with the error when the server cannot be reached, and with `undefined` when it can. */
  readonly reachable: (error: Error | undefined) => void;
}

/** A listening session. */
interface OpenListener {
  /** The channels have changed. */
  update(): void;
  close(): Promise<void>;
}

/**
 * Listens to the database: a change of the schema makes gw read it again, writes go to the caches, all other
 * notifications to the channels of locations. One worker listens for all; when it ends, another one takes over.
 */
export class Listening {
  readonly #options: ListeningOptions;
  /** Resolves when the listener is ready, has failed, or takes too long. */
  readonly started: Promise<void>;
  #listener: OpenListener | undefined;
  #start = (): void => undefined;
  #isRefused = false;
  #hasToldIgnored = false;

  constructor(options: ListeningOptions) {
    this.#options = options;
    this.started = new Promise((resolve) => {
      const timer = setTimeout(resolve, LONGEST_START_MS).unref();
      this.#start = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    options.share.whenVacant(() => this.#begin());
    options.channels.whenChanged(() => this.#listener?.update());
    if (!this.#begin()) this.#start();
  }

  async close(): Promise<void> {
    if (this.#listener) this.#options.caches.lost();
    await this.#listener?.close();
    this.#options.share.leave();
  }

  #begin(): boolean {
    const { share, listen, channels, caches } = this.#options;
    if (this.#listener || !share.claimListening()) return false;
    this.#listener = listen({
      channels: () => [...OWN_CHANNELS, ...channels.names],
      listening: () => this.#listening(),
      failed: (error) => {
        if (error) this.#options.reachable(error);
        this.#start();
      },
      refused: (error) => this.#logRefused(error),
      heard: (payload, channel) => this.#heard(payload, channel),
      lost: () => caches.lost(),
      isUrgent: () => this.#isNeeded(),
    });
    return true;
  }

  /** A schema that was read before listening may have missed a change. */
  #listening(): void {
    const { share, refresh, reachable, caches, channels } = this.#options;
    if (share.beginListening() > 0) channels.gap();
    void caches.listening();
    this.#isRefused = false;
    reachable(undefined);
    if (share.hasRead) refresh();
    this.#start();
  }

  #heard(payload: string, channel: string): void {
    const { caches, channels } = this.#options;
    if (channel === CACHE_CHANNEL) caches.heard(payload);
    else if (OWN_CHANNELS.includes(channel)) this.#command(payload);
    else channels.heard(channel, payload);
  }

  #command(payload: string): void {
    const { log, name, refresh, caches } = this.#options;
    if (payload === 'reload config') {
      this.#reloadSettings();
    } else if (payload === 'reload schema' || payload === '') {
      log.write('info', `dbrest: the schema of ${name} is read again, as it requested`);
      caches.schemaAnnounced();
      refresh();
    }
  }

  /** The settings are part of the schema. */
  #reloadSettings(): void {
    const { log, name, refresh, followSettings } = this.#options;
    const follow = followSettings();
    if (follow !== 'all' && !this.#hasToldIgnored) {
      const where = follow === 'some' ? 'where "dbrest_config" is off, ' : '';
      const message = `"reload config" from ${name} is ignored: ${where}the configuration is in a file`;
      log.write('notice', `dbrest: ${message}`);
      this.#hasToldIgnored = true;
    }
    if (follow === 'none') return;
    log.write('info', `dbrest: the settings of ${name} are read again, as it requested`);
    refresh();
  }

  /** Without streams and caches, listening only serves to notice changes of the schema. */
  #isNeeded(): boolean {
    const { caches, channels } = this.#options;
    return caches.isUsed || channels.names.length > 0;
  }

  #logRefused({ message }: Error): void {
    const { log, name } = this.#options;
    const level = this.#isNeeded() ? 'error' : 'warn';
    if (!this.#isRefused) log.write(level, `dbrest: cannot listen to ${name}: ${message}; trying again`);
    this.#isRefused = true;
  }
}

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/** A half-open connection is only detected by sending something. */
const PING_EVERY_MS = 30_000;
const PING_TIMEOUT_MS = 5_000;
/** The same interval, where a missed notification would matter. */
const URGENT_PING_MS = 1_000;
const GOODBYE_MS = 1_000;
/** The time in which a notification has to come back, and the pause before the next try. */
const ECHO_MS = 2_000;
const NOT_HEARD_DELAY_MS = 60_000;
const ECHO_CHANNEL = 'gw_echo';

/** A pooler has sessions of its own, and gives them to one client after another: notifications are lost. */
class NotHeard extends Error {
  constructor() {
    super(
      'a connection pooler stands in between and passes on no notifications: connect to the server itself, or to a pooler that keeps sessions',
    );
  }
}

/** The events of a listener. */
interface ListenerEvents {
  /** The channels to listen to; `update` is called when there are others. */
  channels(): readonly string[];
  heard(payload: string, channel: string): void;
  /** The session has ended. */
  lost(): void;
  /** A connection that is silently broken must be noticed within seconds. */
  isUrgent(): boolean;
  /** It listens, for the first time or again; notifications sent meanwhile were missed. */
  listening(): void;
  /** It could not connect and will try again; with the error if no server was reached. */
  failed(error?: Error): void;
  /** The server is reachable but rejected the session. */
  refused(error: Error): void;
}

/** Connects and prepares the connection; rejects if either fails. */
type Connect = (makeReady: (client: WireClient) => Promise<unknown>) => Promise<{ client: WireClient }>;

/** A dedicated session that receives notifications (`NOTIFY`) and reconnects whenever it breaks. */
export class Listener implements OpenListener {
  readonly #connect: Connect;
  readonly #hearing: ListenerEvents;
  #client: WireClient | undefined;
  /** The channels that the session has been told to listen to. */
  #heard: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #closed = false;

  constructor(connect: Connect, hearing: ListenerEvents) {
    this.#connect = connect;
    this.#hearing = hearing;
    void this.#listen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (!this.#client) return;
    const { stream } = this.#client.connection;
    const timer = setTimeout(() => stream.destroy(), GOODBYE_MS);
    await this.#client.end();
    clearTimeout(timer);
  }

  update(): void {
    const client = this.#client;
    if (!client || this.#closed) return;
    const sql = this.#changeOfChannels();
    // An error of a command leaves the session listening to less than it should: another one takes its place.
    if (sql !== '') client.query(sql).catch(() => client.connection.stream.destroy());
  }

  #changeOfChannels(): string {
    const wanted = new Set(this.#hearing.channels());
    const added = [...wanted].filter((channel) => !this.#heard.has(channel));
    const removed = [...this.#heard].filter((channel) => !wanted.has(channel));
    this.#heard = wanted;
    return [
      ...added.map((channel) => `listen ${quoteIdentifier(channel)}`),
      ...removed.map((channel) => `unlisten ${quoteIdentifier(channel)}`),
    ].join('; ');
  }

  async #listen(): Promise<void> {
    try {
      let isHeard = true;
      const { client } = await this.#connect(async (connected) => {
        const { rows } = await connected.query<{ pid: string }>(limitedQuery(PID_SQL, PING_TIMEOUT_MS));
        isHeard = !isPooled(connected, rows[0]?.pid) || (await this.#hasEcho(connected));
        if (!isHeard) return;
        // Registered before `listen`, because notifications may arrive with its result.
        connected.on('notification', ({ payload = '', channel }) => this.#hearing.heard(payload, channel));
        this.#heard = new Set();
        await connected.query(this.#changeOfChannels());
      });
      if (!isHeard) {
        void client.end().catch(() => undefined);
        throw new NotHeard();
      }
      if (this.#closed) return await client.end();
      this.#client = client;
      this.update();
      this.#delayMs = FIRST_DELAY_MS;
      client.on('end', () => this.#lost(client));
      this.#ping(client);
      this.#hearing.listening();
    } catch (error) {
      const isRefused = error instanceof NotHeard || 'severity' in (error as Error);
      if (error instanceof NotHeard) this.#delayMs = NOT_HEARD_DELAY_MS;
      if (isRefused) this.#hearing.refused(error as Error);
      this.#hearing.failed(isRefused ? undefined : (error as Error));
      this.#tryAgain();
    }
  }

  /** Returns whether an idle session of a pooler hears notifications of another one. */
  async #hasEcho(client: WireClient): Promise<boolean> {
    const payload = randomUUID();
    let hear = (_isHeard: boolean): void => undefined;
    const heard = new Promise<boolean>((resolve) => (hear = resolve));
    const listener = (echo: { payload?: string | undefined }): void => {
      if (echo.payload === payload) hear(true);
    };
    client.on('notification', listener);
    await client.query(limitedQuery(`listen ${ECHO_CHANNEL}`, PING_TIMEOUT_MS));
    const timer = setTimeout(() => hear(false), ECHO_MS);
    const notify = limitedQuery('select pg_catalog.pg_notify($1, $2)', ECHO_MS, [ECHO_CHANNEL, payload]);
    const { client: other } = await this.#connect((connected) => connected.query(notify));
    try {
      return await heard;
    } finally {
      clearTimeout(timer);
      client.off('notification', listener);
      void other.end().catch(() => undefined);
    }
  }

  #ping(client: WireClient): void {
    const lastMs = performance.now();
    const check = (): void => {
      const isUrgent = this.#hearing.isUrgent();
      // A reload may have changed the urgency, so it is read each time.
      if (!isUrgent && performance.now() - lastMs < PING_EVERY_MS) return wait();
      client.query(limitedQuery('select 1', isUrgent ? URGENT_PING_MS : PING_TIMEOUT_MS)).then(
        () => !this.#closed && this.#ping(client),
        () => client.connection.stream.destroy(),
      );
    };
    const wait = (): void => {
      this.#timer = setTimeout(check, URGENT_PING_MS).unref();
    };
    wait();
  }

  #lost(client: WireClient): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    this.#hearing.lost();
    this.#tryAgain();
  }

  #tryAgain(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#listen(), this.#delayMs).unref();
    this.#delayMs = Math.min(LONGEST_DELAY_MS, this.#delayMs * 2);
  }
}
