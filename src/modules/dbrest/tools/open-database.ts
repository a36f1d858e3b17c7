import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { readDsn, targetName } from '../dsn/index.ts';
import type { ConnectionTarget, DbrestPass } from '../dsn/index.ts';
import { openSession } from '../session/index.ts';
import type { Session } from '../session/index.ts';

const SILENT = { write: () => undefined };

/**
 * Lets somebody use a session with the database of a location; an embedded server runs only meanwhile, unless it runs
 * already. Rejects with one line when it cannot be reached, and as `use` does.
 */
export async function withDatabase<T>(pass: DbrestPass, use: (session: Session) => Promise<T>): Promise<T> {
  if (pass.kind === 'server') return withSession(pass.target, use);
  const { dir: dataDir } = pass;
  await access(join(dataDir, 'PG_VERSION')).catch((cause: unknown) => {
    throw new Error(`the embedded database "${dataDir}" is not there yet: a start of the gateway makes it`, {
      cause,
    });
  });
  const { startEmbeddedPostgres } = await import('../embedded/index.ts');
  const server = await startEmbeddedPostgres({ dataDir, log: SILENT });
  try {
    const target = readDsn(server.dsn);
    if ('fault' in target) throw new Error(target.fault.message);
    return await withSession(target, use);
  } finally {
    await server.stop();
  }
}

async function withSession<T>(target: ConnectionTarget, use: (session: Session) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg');
  const session = await openSession(pg, target, () => undefined).catch((cause: Error) => {
    throw new Error(`cannot connect to "${targetName(target)}": ${cause.message}`, { cause });
  });
  try {
    return await use(session);
  } finally {
    await session.end();
  }
}
