import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  connect,
  type ConnectionTarget,
  loadPg,
  readDsn,
  sayUnreachable,
  type WireClient,
  withClient as withServer,
} from '../../../postgres/index.ts';
import { systemFailure } from '../../../system/index.ts';
import { type DbrestPass, DEFAULT_EMBEDDED_DIR, SCHEMA_CHANNELS } from '../directives/index.ts';
import { Listener } from '../database/index.ts';
import { openSession, type Session } from '../session/index.ts';

const SILENT = { write: () => undefined };

/**
 * Reads a database as `dbrest_pass` does, relative to the current directory. Throws a message of one line without the
 * password.
 */
export function readPass(text: string): DbrestPass {
  const embedded = /^embedded(?::(.+))?$/.exec(text);
  if (embedded) return { kind: 'embedded', dir: resolve(embedded[1] ?? DEFAULT_EMBEDDED_DIR) };
  const target = readDsn(text);
  if (!('fault' in target)) return { kind: 'server', target };
  const hint = target.fault.hint === undefined ? '' : `, ${target.fault.hint}`;
  throw new Error(`malformed connection string${hint}`);
}

/**
 * Calls `use` with a session. An embedded server is started for that time, unless it is running. Rejects with a message
 * of one line if the database cannot be reached, and as `use` does.
 */
export function withDatabase<T>(pass: DbrestPass, use: (session: Session) => Promise<T>): Promise<T> {
  return withTarget(pass, async (target) => {
    const pg = await loadPg();
    const session = await openSession(pg, target, { ended: () => undefined }).catch(sayUnreachable(target));
    try {
      return await use(session);
    } finally {
      await session.end();
    }
  });
}

/** Calls `use` with a client of pg; otherwise like `withDatabase`. */
export function withClient<T>(pass: DbrestPass, use: (client: WireClient) => Promise<T>): Promise<T> {
  return withTarget(pass, (target) => withServer(target, use));
}

interface SchemaListener {
  /** The database announces a change of its schema, or may have done so while the connection was lost. */
  changed(): void;
  /** The database can be reached, but does not pass on announcements. Called once, with the reason. */
  deaf(reason: string): void;
}

/** Calls `use`, and meanwhile tells a listener of changes. */
export function whileListening(
  pass: DbrestPass,
  { changed, deaf }: SchemaListener,
  use: () => Promise<number>,
): Promise<number> {
  return withTarget(pass, async (target) => {
    const pg = await loadPg();
    const ignore = (): void => undefined;
    let isDeaf = false;
    const listener = new Listener((makeReady) => connect(pg, target, makeReady), {
      channels: () => SCHEMA_CHANNELS,
      heard: (payload) => (payload === 'reload schema' || payload === '') && changed(),
      listening: changed,
      lost: ignore,
      failed: ignore,
      refused: ({ message }) => {
        if (!isDeaf) deaf(message);
        isDeaf = true;
      },
      isUrgent: () => false,
    });
    try {
      return await use();
    } finally {
      await listener.close();
    }
  });
}

async function withTarget<T>(pass: DbrestPass, use: (target: ConnectionTarget) => Promise<T>): Promise<T> {
  if (pass.kind === 'server') return use(pass.target);
  const { target, stop } = await startThere(pass.dir);
  try {
    return await use(target);
  } finally {
    await stop();
  }
}

/** Thrown for an embedded database that no gateway has made yet. */
export class NotThereError extends Error {}

/** An embedded server that runs until `stop`, or longer if another process has started it. */
export interface StartedServer {
  readonly target: ConnectionTarget;
  stop(): Promise<void>;
}

/** Starts an embedded server unless it is running. Throws a `NotThereError` rather than make a database. */
export async function startThere(dataDir: string): Promise<StartedServer> {
  await access(join(dataDir, 'PG_VERSION')).catch((cause: NodeJS.ErrnoException) => {
    // Elsewhere, for example where its directory may not be read, the database may well exist.
    if (cause.code !== 'ENOENT' && cause.code !== 'ENOTDIR')
      throw new Error(systemFailure('access', join(dataDir, 'PG_VERSION'), cause), { cause });
    const instead = 'starting the gateway creates it';
    throw new NotThereError(`the embedded database "${dataDir}" does not exist yet: ${instead}`, { cause });
  });
  const { startEmbeddedPostgres } = await import('../embedded/index.ts');
  const { dsn, stop } = await startEmbeddedPostgres({ dataDir, log: SILENT });
  const target = readDsn(dsn);
  if (!('fault' in target)) return { target, stop };
  await stop();
  throw new Error(target.fault.message);
}
