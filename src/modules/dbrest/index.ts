import { userInfo } from 'node:os';
import { moduleFor, type WorkerScope } from '../../contract/index.ts';
import { openAuthenticator } from './auth/index.ts';
import { Database } from './database.ts';
import { type DbrestConfig, directives } from './directives.ts';
import { type ConnectionTarget, type DbrestPass, readDsn, targetName } from './dsn.ts';
import { DatabaseMetrics, tokenMetrics } from './metrics.ts';
import { compileDbrest, type DbrestResources } from './pipeline.ts';
import { openShare, type ShareKey } from './schema/index.ts';
import { connect, openSession } from './session/index.ts';
import { Listener } from './watch.ts';

export type * as dbrestTools from './tools/index.ts';
export type { DbrestConfig } from './directives.ts';

/** What commands do with databases and tokens: no process that serves has a use for it. */
export const loadDbrestTools = (): Promise<typeof import('./tools/index.ts')> => import('./tools/index.ts');

/** Timers hold 24 days at most; nobody waits for a day. */
const LONGEST_MS = 86_400_000;

/** Where the master leaves the address of an embedded server for the workers. */
const providedKey = (dir: string): string => `dbrest:embedded:${dir}`;
/** And what the workers share of each database. */
const shareKey = (pass: DbrestPass): string =>
  `dbrest:share:${pass.kind === 'embedded' ? pass.dir : JSON.stringify(pass.target)}`;

/** Tables of PostgreSQL as REST (contract: `dbrest.md`). */
export const dbrest = moduleFor<DbrestConfig>()<DbrestResources>({
  name: 'dbrest',
  directives,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,

  validate({ timeoutMs, poolTimeoutMs }, report) {
    if (timeoutMs < 1 || timeoutMs > LONGEST_MS) report.on('timeoutMs', 'must be between 1ms and 1d');
    if (poolTimeoutMs > LONGEST_MS) report.on('poolTimeoutMs', 'must be at most 1d');
  },

  async probe(config, live) {
    const { probeDatabase } = await import('./live.ts');
    return probeDatabase(config, live);
  },

  async prepare(configs, master) {
    for (const { pass } of configs) {
      if (!pass) continue;
      const key = shareKey(pass);
      master.provide(
        key,
        master.share(key, openShare, () => undefined),
      );
    }
    const dirs = new Map(
      configs.flatMap(({ pass, embeddedInit }) =>
        pass?.kind === 'embedded' ? [[pass.dir, embeddedInit] as const] : [],
      ),
    );
    if (dirs.size === 0) return;
    const { runEmbeddedInit, startEmbeddedPostgres } = await import('./embedded/index.ts');
    for (const [dir, initFile] of dirs) {
      const starting = master.share(
        providedKey(dir),
        () => startEmbeddedPostgres({ dataDir: dir, log: master.log, servedBy: master.account }),
        async (server) => (await server).stop(),
      );
      const { dsn } = await starting;
      if (initFile !== undefined) await runEmbeddedInit({ dsn, dataDir: dir, file: initFile });
      master.provide(providedKey(dir), dsn);
    }
  },

  async provision({ pass, poolSize, ...config }, worker) {
    // The driver loads here and not with the module: the master imports every module, and connects to nothing.
    const { default: pg } = await import('pg');
    const target = connectionTarget(pass as DbrestPass, worker);
    const database = worker.share(
      `dbrest:${JSON.stringify(target)}`,
      () =>
        new Database({
          name: `"${targetName(target)}"`,
          open: (ended) => openSession(pg, target, ended),
          listen: (hearing) => new Listener((makeReady) => connect(pg, target, makeReady), hearing),
          log: worker.log,
          share: worker.provided(shareKey(pass as DbrestPass)) as ShareKey,
          workerId: worker.workerId,
          metrics: new DatabaseMetrics(worker.metrics, targetName(target)),
        }),
      (opened) => opened.close(),
    );
    worker.addCheck(`dbrest:${targetName(target)}`, () => database.fault());
    worker.own(database.claim(poolSize), (release) => release());
    database.enter(worker.retiring);
    const authenticator = await openAuthenticator(config.jwtKeys, {
      anonRole: config.anonRole,
      rolePath: config.jwtRolePath,
      audience: config.jwtAudience,
      invalid: config.jwtInvalid,
      loginRole: target.user ?? userInfo().username,
      metrics: tokenMetrics(worker.metrics),
    });
    return { database, authenticator };
  },

  compile: compileDbrest,
  explanation: {
    async provision(config, scope) {
      const explanation = await import('./explanation.ts');
      return explanation.provision(config, scope);
    },
    explain(_config, { explain }, build) {
      return explain ? { content: explain(build) } : {};
    },
  },
  rules: () => import('./rules/index.ts'),
});

function connectionTarget(pass: DbrestPass, worker: WorkerScope): ConnectionTarget {
  if (pass.kind === 'server') return pass.target;
  const read = readDsn(String(worker.provided(providedKey(pass.dir))));
  if ('fault' in read) throw new Error(`the embedded database has no usable address: ${read.fault.message}`);
  return read;
}
