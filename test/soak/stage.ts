import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Certificates } from '../harness/certificates.ts';
import { startPgbouncer } from '../harness/own-pgbouncer.ts';
import type { Owner } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { obtainPgbouncer } from '../harness/programs.ts';
import type { Sites } from './configuration.ts';
import { startDamagedStore } from './damaged-store.ts';
import { Database } from './database.ts';
import { Disturbances } from './disturbances.ts';
import { SoakedGateway } from './gateway.ts';
import type { Engine } from './options.ts';
import { Store } from './store.ts';
import { startStrictUpstream } from './strict-upstream.ts';

/** Static files, by name. */
export const FILES: Readonly<Record<string, string>> = {
  'small.txt': 'a small file\n',
  'large.txt': '0123456789abcdef'.repeat(65_536),
  'page.html': '<!doctype html><title>page</title>',
};

const CERTIFICATES = [
  'soak.crl',
  ...['soak', 'deep', 'revoked'].flatMap((name) => [`${name}.crt`, `${name}.key`]),
];

/** All that takes part in a run: the built gateway, a real PostgreSQL and Redis, and peers that misbehave. */
export class Stage {
  readonly sites: Sites;
  readonly gateway: SoakedGateway;
  readonly database: Database;
  readonly store: Store;
  readonly disturbances = new Disturbances();

  private constructor(parts: Pick<Stage, 'sites' | 'gateway' | 'database' | 'store'>) {
    this.sites = parts.sites;
    this.gateway = parts.gateway;
    this.database = parts.database;
    this.store = parts.store;
  }

  /** `tell` is called with what an upstream should never have got. */
  static async start(
    owner: Owner,
    { engine, tell }: { engine: Engine; tell: (message: string, seen: string) => void },
  ): Promise<Stage> {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gw-soak-')));
    // When root runs the tests, PostgreSQL runs as another user, who needs access to this directory.
    chmodSync(dir, 0o711);
    owner.onTestFinished(async () => rmSync(dir, { recursive: true, force: true }));
    writeFiles(dir);
    const database = await Database.start(dir);
    owner.onTestFinished(() => database.close());
    const store = await Store.start(dir);
    owner.onTestFinished(() => store.stop('SIGKILL'));
    const [port, tlsPort, proxyPort] = [await freePort(), await freePort(), await freePort()];
    const certificatePort = await freePort();
    const sites = {
      engine,
      dir,
      port,
      tlsPort,
      proxyPort,
      certificatePort,
      dsn: database.dsn,
      pooledDsn: database.through(await startPooler(owner, database.port)),
      storePort: store.port,
      damagedPort: await startDamagedStore(owner),
      upstreamPort: await startStrictUpstream(owner, tell),
    };
    const gateway = new SoakedGateway(sites);
    owner.onTestFinished(() => gateway.stop());
    await gateway.start();
    return new Stage({ sites, gateway, database, store });
  }
}

/** Gives few sessions to many; after an outage it asks the server again at once, as gw does. */
async function startPooler(owner: Owner, port: number): Promise<number> {
  const server = { host: '127.0.0.1', port, database: 'postgres' };
  const settings = ['server_login_retry = 0.2'];
  return startPgbouncer(owner, { program: await obtainPgbouncer(), server, mode: 'transaction', settings });
}

function writeFiles(dir: string): void {
  mkdirSync(join(dir, 'files'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(dir, 'files', name), text);
  const certificates = new Certificates();
  certificates.authority('soak');
  certificates.signed('sub', 'soak', { isAuthority: true });
  certificates.signed('subsub', 'sub', { isAuthority: true });
  certificates.signed('deep', 'subsub');
  certificates.signed('revoked', 'soak');
  certificates.revoke('soak', 'revoked');
  const chain = ['deep', 'subsub', 'sub'].map((name) => certificates.read(`${name}.crt`));
  certificates.write('deep.crt', chain.join(''));
  for (const file of CERTIFICATES) cpSync(certificates.path(file), join(dir, file));
  rmSync(certificates.dir, { recursive: true });
}
