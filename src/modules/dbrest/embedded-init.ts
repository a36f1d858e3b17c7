import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Left in the data directory when the file has run: it never runs twice. */
const MARKER = 'gw_init_done';

/** What `dbrest_embedded_init` asks for, and the server to ask. */
export interface EmbeddedInit {
  readonly dsn: string;
  readonly dataDir: string;
  readonly file: string;
}

/** Runs the operator's SQL once in a database's life, all of it or nothing. Fails with the database's reason. */
export async function runEmbeddedInit({ dsn, dataDir, file }: EmbeddedInit): Promise<void> {
  const marker = join(dataDir, MARKER);
  if (await exists(marker)) return;
  const sql = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`"dbrest_embedded_init" cannot read "${file}"`, { cause });
  });
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: dsn });
  await client.connect();
  try {
    // One simple query is one transaction. Single-user mode would need no driver, but gives the tables the object ids of
    // system tables, on which row-level security has no effect.
    await client.query(sql);
    await writeFile(marker, `${file}\n`);
  } catch (cause) {
    throw new Error(`"dbrest_embedded_init" failed in "${file}": ${(cause as Error).message}`, { cause });
  } finally {
    await client.end();
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
