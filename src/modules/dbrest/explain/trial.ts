import {
  type LocationFacts,
  type TrialApi,
  TrialRefusal,
  type TrialReport,
  type TrialRequest,
} from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import { isStatementError, type ConnectionTarget, loadPg, PoolRefusal } from '../../../postgres/index.ts';
import type { Identity } from '../auth/index.ts';
import type { RestDatabase } from '../database/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { DbrestFault } from '../fault/index.ts';
import { compileSteps, type Steps } from '../pipeline.ts';
import type { Plan } from '../plan/index.ts';
import {
  argsOf,
  type Content,
  needsFeatures,
  readContent,
  type RequestHead,
  requestWith,
} from '../request/index.ts';
import { compileResponse, faultOf, respondToOptions, sendFault } from '../response/index.ts';
import {
  type BatchRules,
  type Results,
  runSteps,
  type RunStep,
  type Session,
  openSession,
} from '../session/index.ts';
import type { RunPlan, Statements } from '../sql/index.ts';
import type { FoundRelation } from './access.ts';
import { countRows } from './counting.ts';
import { describeApi, type Allowed, checkRole, rolesStatement, doesOf } from './description.ts';
import { explainOutcome, type Inquiry, readRights, readText } from './reasons.ts';
import { explainSteps, maskedValues, PlanText } from './shown-statement.ts';
import { readIdentity, readTried, TrialWire } from './trial-request.ts';
import { unreachableReason } from '../../../system/index.ts';

/** Opens the trials of a location. Each trial gets a session of its own, which is not used again. */
export function openTrials({
  target,
  ...parts
}: Omit<TrialParts, 'withSession'> & { readonly target: ConnectionTarget }): TrialApi {
  return new Trials({
    ...parts,
    async withSession(use) {
      const session = await connected(target);
      try {
        return await use(session);
      } finally {
        await session.end();
      }
    },
  });
}

async function connected(target: ConnectionTarget): Promise<Session> {
  const pg = await loadPg();
  try {
    return await openSession(pg, target, { ended: () => undefined });
  } catch (error) {
    const reason = unreachableReason(error as Error) ?? 'it refuses the connection';
    throw new TrialRefusal(503, `the database cannot be reached: ${reason}`);
  }
}

/** Longest time of one statement of a trial. */
const LONGEST_MS = 10_000;
/** Extra time in which the server can report its timeout. */
const GRACE_MS = 500;
/** Trials of a worker at a time; each has a session of its own. */
const MOST_TRIALS = 2;

/** The parts that trials of a location use. */
interface TrialParts {
  readonly config: DbrestConfig;
  readonly location: LocationFacts;
  readonly database: Pick<RestDatabase, 'schema' | 'features'>;
  /** Runs `use` with a session that serves nothing else, before or after. */
  readonly withSession: <T>(use: (session: Session) => Promise<T>) => Promise<T>;
}

/** Trials of requests on one location. Every transaction is rolled back, and its session is closed. */
class Trials implements TrialApi {
  readonly location: LocationFacts;
  readonly #parts: TrialParts;
  readonly #config: DbrestConfig;
  readonly #steps: Steps;
  readonly #responseOf: ReturnType<typeof compileResponse>;
  #running = 0;

  constructor(parts: TrialParts) {
    const { config, location, database } = parts;
    this.location = location;
    this.#parts = parts;
    // No `Prefer: tx=commit` overrides this.
    this.#config = {
      ...config,
      txEnd: 'rollback',
      timeoutMs: Math.min(config.timeoutMs, LONGEST_MS),
      serverTiming: false,
    };
    this.#steps = compileSteps(this.#config, database, { location });
    this.#responseOf = compileResponse(this.#config, { location, token: undefined });
  }

  describe(): ReturnType<TrialApi['describe']> {
    return this.#withSession(async (session) => {
      const roles = JSON.parse(await readText(session, rolesStatement(this.#config.anonRole))) as Allowed[];
      const known = await this.#parts.database.schema.current();
      return describeApi({ roles, known, config: this.#config, location: this.location });
    });
  }

  async run(request: TrialRequest, origin: Exchange): Promise<TrialReport> {
    const tried = readTried(request, this.location);
    const identity = readIdentity(request);
    return this.#withSession(async (session) => {
      origin.onAbort(() => session.cancel());
      if (origin.aborted) throw new PoolRefusal('abandoned');
      const roles = JSON.parse(await readText(session, rolesStatement(this.#config.anonRole))) as Allowed[];
      checkRole(identity.role, roles);
      const wire = new TrialWire(tried, origin);
      const trial = new Trial({ session, wire, identity, config: this.#config, runs: request.runs });
      return trial.run(this.#steps, this.#responseOf, this.#parts.database);
    });
  }

  async #withSession<T>(use: (session: Session) => Promise<T>): Promise<T> {
    if (this.#running >= MOST_TRIALS) throw new TrialRefusal(503, 'other trials are running: try again');
    this.#running += 1;
    try {
      return await this.#parts.withSession(use);
    } catch (error) {
      throw refusalOf(error);
    } finally {
      this.#running -= 1;
    }
  }
}

/** The reason why a trial cannot be made, for the operator. Rethrows defects of gw. */
function refusalOf(error: unknown): TrialRefusal {
  if (error instanceof TrialRefusal) return error;
  const fault = faultOf(error, { authenticated: true });
  return new TrialRefusal(503, fault ? `${fault.code}: ${fault.message}` : 'the client has left');
}

interface TrialScope {
  readonly session: Session;
  readonly wire: TrialWire;
  readonly identity: Identity;
  readonly config: DbrestConfig;
  readonly runs: boolean;
}

/** A request whose statements are known. */
interface Written {
  readonly plan: RunPlan;
  readonly statements: Statements;
}

/** One trial. */
class Trial {
  readonly #scope: TrialScope;
  #head: RequestHead | undefined;
  #plan: Plan | undefined;
  #fault: DbrestFault | undefined;

  constructor(scope: TrialScope) {
    this.#scope = scope;
  }

  async run(
    steps: Steps,
    responseOf: ReturnType<typeof compileResponse>,
    database: TrialParts['database'],
  ): Promise<TrialReport> {
    const { runs, session, wire } = this.#scope;
    const written = await this.#guarded(() => this.#write(steps, database));
    const rights = await readRights(session, this.#inquiry);
    if (written && runs) await this.#guarded(() => this.#serve(written, responseOf));
    const plan = written && (await this.#explain(written));
    const direct = rights.access.relations.filter(({ isDirect }) => isDirect);
    const counts = written && runs && !this.#fault ? await this.#count(written, direct) : undefined;
    const reasons = explainOutcome(this.#inquiry, rights, { fault: this.#fault, counts });
    const { response } = wire;
    return {
      does: this.#head ? doesOf(this.#head) : 'is not understood',
      ...(response && { response }),
      statements: written ? this.#shown(written) : [],
      ...(plan !== undefined && plan !== '' && { plan }),
      relations: rights.access.relations.map(shownRelation),
      reasons,
    };
  }

  get #inquiry(): Inquiry {
    const { identity, config } = this.#scope;
    const { schema = config.schemas[0] as string, resource } = this.#head ?? {};
    return { role: identity.role, config, plan: this.#plan, asked: { schema, name: resource?.name ?? '' } };
  }

  /** Turns errors into the response that a client would get. */
  async #guarded<T>(act: () => Promise<T>): Promise<T | undefined> {
    const { identity, config, wire } = this.#scope;
    try {
      return await act();
    } catch (error) {
      const fault = faultOf(error, { authenticated: identity.role !== config.anonRole });
      this.#fault ??= fault;
      if (fault && !wire.x.done) sendFault(wire.x, fault, config.errorVerbosity);
      return undefined;
    }
  }

  /** Parses and plans the request. `undefined`: it runs no statements, or has its response. */
  async #write(steps: Steps, database: TrialParts['database']): Promise<Written | undefined> {
    const { wire, identity, config } = this.#scope;
    const { x } = wire;
    const head = steps.headOf(x);
    this.#head = head;
    const features = needsFeatures(head) ? await database.features() : undefined;
    const args = await argsOf(x);
    if (args === undefined) return undefined;
    const parsed = steps.queryOf(x, head, { args, range: x.header('range'), features });
    const content: Content | undefined = await readContent(x, parsed);
    if (!content) return undefined;
    const plan = await steps.planOf(requestWith(parsed, content), identity.role);
    this.#plan = plan;
    if (plan.kind === 'options') {
      respondToOptions(x, plan, { config, stopwatch: undefined });
      return undefined;
    }
    // A timeout of the function itself does not prolong a trial.
    const work = { ...steps.workOf(plan), timeoutMs: undefined };
    return { plan, statements: steps.statementsOf(x, identity, { plan, work }) };
  }

  /** Runs the statements and makes the response; the transaction ends with a rollback. */
  async #serve({ plan, statements }: Written, responseOf: ReturnType<typeof compileResponse>): Promise<void> {
    const { wire, config } = this.#scope;
    const parts = { config, statements, stopwatch: undefined, isStored: false };
    const response = responseOf(wire.x, plan, parts);
    const { sink, verdict } = response;
    await response.end(
      await this.#send(runSteps(statements, sink), { verdict, isolation: statements.isolation }),
    );
  }

  async #explain({ statements }: Written): Promise<string | undefined> {
    const { runs } = this.#scope;
    const sink = new PlanText();
    const steps = explainSteps(statements, { measured: runs && !this.#fault, sink });
    if (!steps) return undefined;
    await this.#guarded(() => this.#send(steps));
    return sink.text;
  }

  async #count(
    { plan, statements }: Written,
    direct: readonly FoundRelation[],
  ): ReturnType<typeof countRows> {
    const { session } = this.#scope;
    const { schema, name } = this.#inquiry.asked;
    const relation = direct.find(({ table }) => table.schema === schema && table.name === name);
    const opening = statements.before.slice(0, statements.settingsAt + 1);
    const counting = { session, deadlineMs: this.#deadlineMs, opening, relation };
    try {
      return await countRows(plan, counting);
    } catch (error) {
      // The counts are optional: a trial that has its response does not fail without them.
      if (isStatementError(error)) return undefined;
      throw error;
    }
  }

  /** Runs a transaction, unless the operator has left. */
  #send(steps: readonly RunStep[], rules: BatchRules = {}): Promise<Results> {
    const { session, wire } = this.#scope;
    if (wire.isLeft) throw new PoolRefusal('abandoned');
    return session.run(steps, this.#deadlineMs, rules);
  }

  get #deadlineMs(): number {
    return this.#scope.config.timeoutMs + GRACE_MS;
  }

  #shown({ plan, statements: { before, main, after } }: Written): TrialReport['statements'] {
    const { identity, config } = this.#scope;
    const masking = { identity, config, roleSettings: plan.roleSettings };
    return [...before, main, ...after].map(({ statement }) => ({
      text: statement.text.trim(),
      values: maskedValues(statement, masking),
    }));
  }
}

function shownRelation(found: FoundRelation): TrialReport['relations'][number] {
  const { name, kind, role, isDirect, commands, rowSecurity, policies } = found;
  return { name, kind, role, isDirect, commands, rowSecurity, policies };
}
