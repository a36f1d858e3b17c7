import { isStatementError } from '../../../postgres/index.ts';
import type { Condition, Plan, ReadNode } from '../plan/index.ts';
import type { Session } from '../session/index.ts';
import { BEGIN_READ_ONLY, ROLLBACK, type Statements, type Step, totalSql } from '../sql/index.ts';
import type { FoundRelation } from './access.ts';
import { type Counts, MOST_COUNTED } from './reasons.ts';

/** The session and the parts of a request that counting its rows needs. */
interface Counting {
  readonly session: Session;
  readonly deadlineMs: number;
  /** The first statements of the request: its transaction and its settings. */
  readonly opening: Statements['before'];
  /** The table that the rows come from, if the request names one. */
  readonly relation: FoundRelation | undefined;
}

/** Counts the rows that a read finds or a write touches; `undefined` for other requests. */
export async function countRows(plan: Plan, counting: Counting): Promise<Counts | undefined> {
  const node = countedNode(plan);
  if (!node) return undefined;
  const matching = await countAsRole(node, counting);
  // Groups are not compared with rows.
  const isSecured = counting.relation?.rowSecurity === 'applies' && !node.grouped && node.distinct === 0;
  const visible = matching === 0 ? await countAsRole(withoutFilters(node), counting, 1) : undefined;
  return { matching, visible, unsecured: isSecured ? await countUnsecured(node, counting) : undefined };
}

function countedNode(plan: Plan): ReadNode | undefined {
  if (plan.kind === 'read') return plan.rows;
  return plan.kind === 'write' && plan.write.kind !== 'insert' ? plan.write.rows.node : undefined;
}

function withoutFilters(node: ReadNode): ReadNode {
  return {
    ...node,
    outputs: [{ kind: 'all' }],
    embeds: [],
    conditions: [],
    sorts: [],
    offset: 0,
    grouped: false,
    having: [],
    distinct: 0,
  };
}

async function countAsRole(
  node: ReadNode,
  { session, deadlineMs, opening }: Counting,
  most = MOST_COUNTED + 1,
): Promise<number> {
  const steps = [...opening, { statement: totalSql(node, most) }, ROLLBACK];
  const results = await session.run(steps, deadlineMs);
  return Number(results[opening.length]?.[0]);
}

/** Returns whether a condition compares columns of built-in types, which `format_type` prints without a schema. */
function isBuiltIn(condition: Condition): boolean {
  if ('terms' in condition) return condition.terms.every(isBuiltIn);
  if ('embed' in condition || ('read' in condition && condition.read)) return false;
  const { of, path } = condition.value;
  if (of.kind !== 'column' || of.column.type.includes('.')) return false;
  return path.length === 0 || /^jsonb?$/.test(of.column.type);
}

/**
 * Counts as the owner of the table, to whom its row security does not apply. No foreign code runs with the owner's
 * rights: the statement reads one table, compares columns of built-in types, and only uses operators of `pg_catalog`.
 */
async function countUnsecured(
  node: ReadNode,
  { session, deadlineMs, relation }: Counting,
): Promise<number | 'unknown'> {
  const isTable = relation?.relkind === 'r' || relation?.relkind === 'p';
  const isPlain = node.embeds.length === 0 && node.conditions.every(isBuiltIn);
  if (!relation?.seesAll || !isTable || !isPlain) return 'unknown';
  const counted: ReadNode = { ...withoutFilters(node), conditions: node.conditions };
  const settings: Step = {
    statement: {
      text: `select from (select pg_catalog.set_config('role', $1, true), pg_catalog.set_config('search_path', '', true),
        pg_catalog.set_config('statement_timeout', $2, true)) s`,
      values: [relation.owner, String(deadlineMs)],
    },
  };
  const steps = [BEGIN_READ_ONLY, settings, { statement: totalSql(counted, MOST_COUNTED + 1) }, ROLLBACK];
  try {
    return Number((await session.run(steps, deadlineMs))[2]?.[0]);
  } catch (error) {
    // An operator of a type that is not of `pg_catalog`, or a role that the server refuses.
    if (isStatementError(error)) return 'unknown';
    throw error;
  }
}
