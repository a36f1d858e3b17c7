import type { TrialReason } from '../../../contract/index.ts';
import { quoteIdentifier } from '../../../postgres/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { DbrestFault } from '../fault/index.ts';
import type { Plan, PlannedCall } from '../plan/index.ts';
import type { Session } from '../session/index.ts';
import type { Statement, Step } from '../sql/index.ts';
import {
  type Access,
  accessStatement,
  type FoundRelation,
  type Namesake,
  namesakesStatement,
  readAccess,
} from './access.ts';
import { needsOf } from './needs.ts';

/** The facts about a request from which its reasons are found. */
interface Circumstances {
  readonly role: string;
  readonly config: Pick<DbrestConfig, 'schemas' | 'anonRole'>;
  readonly access: Access;
  /** The schema and name that the request asked for. */
  readonly asked: { readonly schema: string; readonly name: string };
  /** Tables and functions with that name. */
  readonly namesakes: readonly Namesake[];
  readonly called?: PlannedCall['call']['called'] | undefined;
  readonly fault?: DbrestFault | undefined;
  readonly counts?: Counts | undefined;
}

/** Numbers of rows, up to `MOST_COUNTED`. */
export interface Counts {
  /** With the filters of the request, as the role. */
  readonly matching: number;
  /** Without them, up to 1; absent if rows match. */
  readonly visible?: number | undefined;
  /** With the filters, without row security; absent if it is not on, `unknown` if the login role cannot see it. */
  readonly unsecured?: number | 'unknown' | undefined;
}

/** Rows beyond are not counted. */
export const MOST_COUNTED = 1_000;

/** Returns the reasons why a request is refused or has no rows, the most likely cause first. */
function reasonsOf(found: Circumstances): readonly TrialReason[] {
  return [
    ...roleReasons(found),
    ...nameReasons(found),
    ...privilegeReasons(found),
    ...securityReasons(found),
    ...countReasons(found),
    ...otherReasons(found),
  ];
}

function* roleReasons({ role, access }: Circumstances): Generator<TrialReason> {
  if (!access.role) {
    yield {
      text: `the database has no role ${quoteIdentifier(role)}`,
      remedy: `create role ${quoteIdentifier(role)} nologin`,
    };
  } else if (!access.role.reachable) {
    yield {
      text: `${access.login}, who logs in for "dbrest_pass", may not become ${role}`,
      remedy: `grant ${quoteIdentifier(role)} to ${quoteIdentifier(access.login)}`,
    };
  }
}

function nameReasons(found: Circumstances): Iterable<TrialReason> {
  const code = found.fault?.code;
  if (code === 'PGRST205') return absentReasons(found, 'table');
  if (code === 'PGRST202') return absentReasons(found, 'function');
  if (code !== 'PGRST106') return [];
  return [{ text: `the schema is not exposed: "dbrest_schemas" has ${found.config.schemas.join(', ')}` }];
}

function* absentReasons(
  { asked, namesakes, config, access }: Circumstances,
  kind: 'table' | 'function',
): Generator<TrialReason> {
  const { schema, name } = asked;
  const same = namesakes.filter((one) => one.kind === kind);
  const here = same.filter((one) => one.schema === schema);
  if (here.length > 0 && kind === 'table')
    yield { text: `the schema cache does not have ${name} yet`, remedy: `notify pgrst, 'reload schema'` };
  else if (here.length > 0) {
    const signatures = here.map((one) => `${name}(${one.arguments ?? ''})`);
    yield { text: `the function exists with other arguments: ${signatures.join('; ')}` };
  }
  for (const other of new Set(same.map((one) => one.schema).filter((one) => one !== schema))) {
    const isExposed = config.schemas.includes(other);
    const how = isExposed
      ? 'send Accept-Profile or Content-Profile'
      : 'a schema that "dbrest_schemas" does not expose';
    yield { text: `a ${kind} ${name} is in the schema ${other}: ${how}` };
  }
  const instead = namesakes.find((one) => one.schema === schema && one.kind !== kind);
  if (instead?.kind === 'procedure') yield { text: `${name} is a procedure: only functions can be called` };
  else if (instead) yield { text: `${name} is a ${instead.kind}, not a ${kind}` };
  if (namesakes.length === 0 && access.role)
    yield { text: `no schema of the database has a ${kind} ${name}` };
}

function* privilegeReasons({ access, called, namesakes, role }: Circumstances): Generator<TrialReason> {
  const schemas = new Set<string>();
  for (const relation of access.relations) {
    const { schema } = relation.table;
    if (!relation.usesSchema && !schemas.has(schema)) {
      schemas.add(schema);
      yield usageReason(relation.role, schema);
    }
    yield* missingPrivileges(relation);
  }
  const target = called && namesakes.find((one) => isSame(one, called));
  if (!called || !target) return;
  if (!target.usesSchema && !schemas.has(called.schema)) yield usageReason(role, called.schema);
  if (!target.mayExecute) {
    const name = [called.schema, called.name].map(quoteIdentifier).join('.');
    yield {
      text: `${role} has no EXECUTE on ${called.schema}.${called.name}(${target.arguments ?? ''})`,
      remedy: `grant execute on function ${name}(${(target.types ?? []).join(', ')}) to ${quoteIdentifier(role)}`,
    };
  }
}

function usageReason(role: string, schema: string): TrialReason {
  return {
    text: `${role} has no USAGE on the schema ${schema}`,
    remedy: `grant usage on schema ${quoteIdentifier(schema)} to ${quoteIdentifier(role)}`,
  };
}

function* missingPrivileges({ name, role, commands, isDirect }: FoundRelation): Generator<TrialReason> {
  for (const { command, isAllowed, missingColumns } of commands) {
    if (isAllowed) continue;
    const columns = missingColumns ? ` (${missingColumns.map(quoteIdentifier).join(', ')})` : '';
    const through = isDirect ? '' : ', which a view reads as that role';
    yield {
      text: missingColumns
        ? `${role} has no ${command} on ${plural('column', missingColumns)} of ${name}${through}`
        : `${role} has no ${command} on ${name}${through}`,
      remedy: `grant ${command.toLowerCase()}${columns} on ${name} to ${quoteIdentifier(role)}`,
    };
  }
}

function plural(word: string, names: readonly string[]): string {
  return `the ${word}${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
}

/** Returns whether a function of the catalogue is the one that a plan calls. */
function isSame(one: Namesake, called: NonNullable<Circumstances['called']>): boolean {
  const types = called.arguments.map(({ type }) => type);
  return (
    one.kind === 'function' &&
    one.schema === called.schema &&
    one.types?.length === types.length &&
    one.types.every((type, i) => type === types[i])
  );
}

/** Row security lets rows through by permissive policies only. */
function* securityReasons({ access, fault, role: asked, config }: Circumstances): Generator<TrialReason> {
  const refused = `every new row is refused (${asked === config.anonRole ? 401 : 403} 42501)`;
  for (const { name, role, rowSecurity, commands, policies } of access.relations) {
    if (rowSecurity !== 'applies') continue;
    const inserts = commands.some(({ command }) => command === 'INSERT');
    for (const { command } of commands) {
      const isFor = policies.some(
        (one) => one.applies && one.isPermissive && (one.command === 'ALL' || one.command === command),
      );
      if (isFor) continue;
      const what = `row security is on for ${name} and no permissive policy is for ${role} and ${command}`;
      // The rows that an insert returns or compares have to pass the policies for SELECT, or the insert fails.
      if (command === 'SELECT' && inserts)
        yield {
          text: `${what}: ${refused}, because the request also reads it`,
          remedy: `create policy … on ${name} for select to ${quoteIdentifier(role)} using (…), or send "Prefer: return=minimal"`,
        };
      else yield { text: `${what}: ${command === 'INSERT' ? refused : 'every row is hidden'}` };
    }
  }
  if (fault?.code !== '42501' || !/row-level security/.test(fault.message)) return;
  const checking = access.relations.flatMap(({ name, policies }) =>
    policies.filter(({ applies }) => applies).map((one) => `${one.name} on ${name}`),
  );
  if (checking.length > 0)
    yield { text: `the new row does not pass the policies that apply: ${checking.join(', ')}` };
}

function* countReasons({ counts, role, access, fault }: Circumstances): Generator<TrialReason> {
  if (!counts || fault) return;
  const { matching, visible, unsecured } = counts;
  if (typeof unsecured === 'number' && unsecured !== matching) {
    const rows = unsecured === 1 ? 'row matches' : 'rows match';
    yield { text: `${counted(unsecured)} ${rows} without row security, ${counted(matching)} with it` };
  }
  if (matching > 0) return;
  if (unsecured === 'unknown') {
    yield {
      text: `row security applies to ${role}; how many rows match without it is unknown: ${access.login} cannot count as the owner of the table`,
    };
  }
  if (visible === 0) yield { text: `${role} sees no row at all, whatever the filter` };
  else if (typeof unsecured !== 'number' || unsecured === 0) yield { text: 'the filter matches no row' };
}

function counted(rows: number): string {
  return rows > MOST_COUNTED ? `more than ${MOST_COUNTED}` : String(rows);
}

/** The message of the fault, if nothing else explains it. */
function* otherReasons(found: Circumstances): Generator<TrialReason> {
  const { fault } = found;
  if (!fault) return;
  yield { text: `${fault.code}: ${fault.message}${fault.hint === null ? '' : ` (${fault.hint})`}` };
}

/** Longest time of a statement that reads the catalogue. */
const CATALOGUE_MS = 10_000;

const READ_ONLY: Step = {
  statement: {
    text: `select from (select pg_catalog.set_config('transaction_read_only', 'on', true),
      pg_catalog.set_config('search_path', '', true),
      pg_catalog.set_config('statement_timeout', '${CATALOGUE_MS}', true)) s`,
    values: [],
  },
};

/** Reads one text from the catalogue, as the login role, in a read-only transaction. */
export async function readText(session: Session, statement: Statement): Promise<string> {
  const results = await session.run([READ_ONLY, { statement }], CATALOGUE_MS);
  return results[1]?.[0] ?? '';
}

/** A request whose rights are looked up. */
export interface Inquiry {
  readonly role: string;
  readonly config: DbrestConfig;
  /** Absent if it could not be planned. */
  readonly plan?: Plan | undefined;
  /** The names in the request, as far as they could be read. */
  readonly asked: { readonly schema: string; readonly name: string };
}

/** The rights of a role on the objects of a request, and the objects that have the name in the request. */
interface Rights {
  readonly access: Access;
  readonly namesakes: readonly Namesake[];
}

/** Reads the rights of a role that concern a request. */
export async function readRights(session: Session, { role, plan, asked }: Inquiry): Promise<Rights> {
  const access = readAccess(await readText(session, accessStatement(role, plan ? needsOf(plan) : [])));
  const isNamed = asked.name !== '' && !asked.name.includes('\0') && (!plan || plan.kind === 'call');
  const namesakes = isNamed
    ? (JSON.parse(await readText(session, namesakesStatement(asked.name, role))) as readonly Namesake[])
    : [];
  return { access, namesakes };
}

/** Explains why a request is refused or has no rows. */
export function explainOutcome(
  { role, config, plan, asked }: Inquiry,
  { access, namesakes }: Rights,
  outcome: { readonly fault?: DbrestFault | undefined; readonly counts?: Circumstances['counts'] } = {},
): readonly TrialReason[] {
  const called = plan?.kind === 'call' ? plan.call.called : undefined;
  return reasonsOf({ role, config, access, asked, namesakes, called, ...outcome });
}
