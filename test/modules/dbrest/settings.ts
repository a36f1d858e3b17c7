import { vi } from 'vitest';
import type { Expected } from '../../harness/expect-response.ts';
import type { Gateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

/** A database whose login role no other test uses, so that it may have settings. */
export interface ConfiguredDatabase extends TestDatabase {
  readonly login: string;
  /** Sets settings of the login role in this database; `null` removes one. */
  set(settings: Settings): Promise<void>;
  /** The same for all databases. */
  setEverywhere(settings: Settings): Promise<void>;
  /** Tells gateways to read them. */
  announce(): Promise<void>;
}

type Settings = Readonly<Record<string, string | null>>;

/** `postgres` with a login role of its own, who may become `anon`, `web_user` and `web_admin`. */
export async function configured(fixture: string): Promise<ConfiguredDatabase> {
  const db = await postgres(fixture);
  const login = `login_${db.database}`;
  await db.query(`create role ${login} login noinherit; grant anon, web_user, web_admin to ${login}`);
  const alter = (where: string, settings: Settings): string =>
    Object.entries(settings)
      .map(([name, value]) => {
        const change = value === null ? `reset ${name}` : `set ${name} = '${value.replaceAll("'", "''")}'`;
        return `alter role ${login} ${where} ${change};`;
      })
      .join('\n');
  return {
    ...db,
    login,
    dsn: `postgresql://${login}@${db.host}:${db.port}/${db.database}`,
    set: async (settings) => void (await db.query(alter(`in database ${db.database}`, settings))),
    setEverywhere: async (settings) => void (await db.query(alter('', settings))),
    announce: async () => void (await db.query(`notify pgrst, 'reload config'`)),
  };
}

/** Resolves when so many responses in a row are as expected that each worker has sent some of them. */
export async function expectSoon(
  gw: Gateway,
  request: string,
  { expected, headers = {}, inARow = 1 }: Awaited,
): Promise<void> {
  await vi.waitFor(
    async () => {
      for (let i = 0; i < inARow; i += 1) await gw.expect(request, expected, { headers });
    },
    { timeout: 15_000 },
  );
}

interface Awaited {
  readonly expected: Expected;
  readonly headers?: Readonly<Record<string, string>>;
  /** With several workers, 16. */
  readonly inARow?: number;
}
