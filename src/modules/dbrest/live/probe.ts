import type { LiveProblem, LiveScope } from '../../../contract/index.ts';
import type { DbrestConfig } from '../config.ts';
import { askDatabase } from './ask.ts';
import type { LiveFacts } from './facts.ts';

type Problem = LiveProblem<DbrestConfig>;

const LEAST_VERSION = 12;
/** Names that one message shows. */
const SHOWN = 3;

/** What only the database knows of a location. The embedded one is the gateway's own: it is made as it must be. */
export async function probeDatabase(config: DbrestConfig, live: LiveScope): Promise<readonly Problem[]> {
  const { pass, anonRole, schemas } = config;
  if (pass?.kind !== 'server') return [];
  const question = { target: pass.target, anonRole, schemas };
  const answer = await live.once(`dbrest ${JSON.stringify(question)}`, () =>
    askDatabase(question, live.timeoutMs),
  );
  if ('reason' in answer) {
    const message = `the database cannot be reached: ${answer.reason}`;
    return [{ rule: 'database-unreachable', field: 'pass', message }];
  }
  return [
    ...versionProblems(answer),
    ...loginProblems(answer),
    ...anonProblems(answer, anonRole),
    ...schemaProblems(answer, schemas),
    ...tableProblems(answer),
    ...indexProblems(answer),
  ];
}

function* versionProblems({ version }: LiveFacts): Generator<Problem> {
  const major = Math.floor(version / 10_000);
  if (major >= LEAST_VERSION) return;
  const message = `the database is PostgreSQL ${major}, at least ${LEAST_VERSION} is needed`;
  yield { rule: 'dbrest-server-old', field: 'pass', message };
}

function* loginProblems({ login }: LiveFacts): Generator<Problem> {
  const what = unboundBy(login);
  if (what === undefined) return;
  yield {
    rule: 'dbrest-role-superuser',
    field: 'pass',
    message: `the role that "dbrest_pass" logs in with ${what}`,
    hint: 'log in as a role "authenticator noinherit" that was granted the roles of requests',
  };
}

function* anonProblems({ anon }: LiveFacts, role: string | undefined): Generator<Problem> {
  if (role === undefined) return;
  const field = 'anonRole';
  if (!anon) {
    const message = `the database has no role "${role}"`;
    yield { rule: 'dbrest-anon-missing', field, message, hint: `create role "${role}" nologin` };
    return;
  }
  const what = unboundBy(anon);
  if (what !== undefined)
    yield { rule: 'dbrest-role-superuser', field, message: `the anonymous role ${what}` };
  if (anon.granted) return;
  yield {
    rule: 'dbrest-anon-missing',
    field,
    message: `the role that "dbrest_pass" logs in with was not granted "${role}"`,
    hint: `grant "${role}" to it`,
  };
}

function unboundBy({ superuser, bypassesRowSecurity }: LiveFacts['login']): string | undefined {
  if (superuser) return 'is a superuser: no privilege and no row security holds for it';
  return bypassesRowSecurity ? 'bypasses row security' : undefined;
}

function* schemaProblems({ schemas: found }: LiveFacts, schemas: readonly string[]): Generator<Problem> {
  for (const schema of schemas.filter((name) => !found.includes(name))) {
    const message = `the database has no schema "${schema}"`;
    yield { rule: 'dbrest-schema-missing', field: 'schemas', message };
  }
}

function* tableProblems({ open }: LiveFacts): Generator<Problem> {
  for (const writes of [true, false]) {
    const names = open.filter((table) => table.writes === writes).map(({ name }) => name);
    if (names.length === 0) continue;
    yield {
      rule: 'dbrest-table-open',
      field: 'pass',
      message: `the anonymous role may ${writes ? 'write' : 'read'} all rows of ${listed(names)}: no row security`,
      hint: 'alter table … enable row level security, or revoke the privilege',
    };
  }
}

function* indexProblems({ unindexed }: LiveFacts): Generator<Problem> {
  if (unindexed.length === 0) return;
  const message = `embedding along ${listed(unindexed)} has no index to use`;
  yield { rule: 'dbrest-embed-unindexed', field: 'pass', message };
}

function listed(names: readonly string[]): string {
  const more = names.length - SHOWN;
  const shown = names.slice(0, SHOWN).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}
