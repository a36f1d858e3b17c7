import { LRUCache } from 'lru-cache';
import type { Exchange } from '../../../http/index.ts';
import type { CacheMetrics } from '../metrics.ts';
import {
  type Content,
  hasCondition,
  isBodyless,
  methodOf,
  type ParsedHead,
  QUERY,
} from '../request/index.ts';
import type { Schema } from '../schema/index.ts';
import type { RunPlan, Work } from '../sql/index.ts';
import type { RunsOf, StatementRuns } from '../statement-runs.ts';
import { type Lifted, liftLiterals, markedContent, WorkTemplate } from './literals.ts';

/** All that the plan of a request depends on, apart from the schema and the body; and the literals of the request. */
export interface RequestShape extends Lifted {
  /** Equal for requests with equal plans. */
  readonly key: string;
  readonly role: string;
}

/** A plan and its statements. */
export interface PreparedPlan {
  readonly plan: RunPlan;
  readonly work: Work;
  /** The counts of its main statement. */
  readonly runs?: StatementRuns | undefined;
}

/** The steps that the cache saves. Each one throws when it finds a fault. */
export interface PlanningSteps {
  /** Parses the query in `args` and the headers. Throws also if they depend on features of the server. */
  readonly parse: (x: Exchange, args: string) => ParsedHead;
  readonly prepare: (
    parsed: ParsedHead,
    content: Content,
    context: { role: string; schema: Schema },
  ) => PreparedPlan;
}

/** A plan without literals. */
interface KeptPlan {
  readonly plan: RunPlan;
  readonly template: WorkTemplate;
  readonly runs: StatementRuns | undefined;
}

/** In place of a query: a literal decides about its plan, or it has a fault. Such requests are planned each time. */
const UNFIT = 'unfit';

/** Most memory that a worker uses for the plans of a database, half of it for queries; an estimate. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Size of a parsed query, and of a plan with its statements, as measured: a fixed part, and one for each character. */
const ENTRY_BYTES = 4_096;
const BYTES_PER_CHARACTER = 40;

const sizeOf = (key: string): number => ENTRY_BYTES + BYTES_PER_CHARACTER * key.length;

/** The queries and plans that are kept for one version of the schema. */
interface KeptForSchema {
  readonly queries: LRUCache<string, ParsedHead | typeof UNFIT>;
  readonly plans: LRUCache<string, KeptPlan>;
}

/** The plans of all locations that use a database. They are dropped with the schema that they were made for. */
export class KeptPlans {
  readonly metrics: CacheMetrics | undefined;
  /** By schema, so that an old one does not stay in memory. */
  readonly #bySchema = new WeakMap<Schema, KeptForSchema>();
  #locations = 0;

  constructor(metrics?: CacheMetrics) {
    this.metrics = metrics;
  }

  /** A number that separates the plans of a location from those of others and of earlier configurations. */
  nextLocation(): number {
    this.#locations += 1;
    return this.#locations;
  }

  of(schema: Schema): KeptForSchema {
    const known = this.#bySchema.get(schema);
    if (known) return known;
    const maxSize = MOST_BYTES / 2;
    const kept: KeptForSchema = {
      queries: new LRUCache({ maxSize, sizeCalculation: (_query, key) => sizeOf(key) }),
      plans: new LRUCache({
        maxSize,
        sizeCalculation: (_plan, key) => sizeOf(key),
        dispose: (_plan, _key, reason) => reason === 'evict' && this.metrics?.evictions.add(),
      }),
    };
    this.#bySchema.set(schema, kept);
    return kept;
  }
}

/**
 * The plans of a location, so that requests that differ only in literals are parsed and planned once. A plan is made
 * from a query without literals and without a body, so that none can have affected it.
 */
export class PlanCache {
  readonly #steps: PlanningSteps;
  readonly #kept: KeptPlans;
  readonly #known: () => Schema | undefined;
  readonly #runsOf: RunsOf | undefined;
  readonly #location: number;

  /** `known`: the schema in use. */
  constructor(
    steps: PlanningSteps,
    { kept, known, runsOf }: { kept: KeptPlans; known: () => Schema | undefined; runsOf: RunsOf | undefined },
  ) {
    this.#steps = steps;
    this.#kept = kept;
    this.#known = known;
    this.#runsOf = runsOf;
    this.#location = kept.nextLocation();
  }

  /** The shape of a request with a raw query; `undefined` if that is too large or has a fault. */
  shapeOf(x: Exchange, args: string, role: string): RequestShape | undefined {
    const lifted = liftLiterals(args);
    // Roles and paths come decoded; without line ends in them, the lines of a key are unambiguous.
    if (!lifted || role.includes('\n') || x.uri.includes('\n')) return undefined;
    const method = methodOf(x);
    const isRead = method === 'GET' || method === 'HEAD' || method === QUERY;
    // The conditions of a write are not worth a plan of their own.
    if (!isRead && hasCondition(x)) return undefined;
    const profile = x.header(isRead ? 'accept-profile' : 'content-profile');
    const headers = `${lineOf(profile)}${lineOf(x.header('accept'))}${lineOf(x.header('prefer'))}`;
    const range = method === 'GET' || method === QUERY ? lineOf(x.header('range')) : '\n';
    const form = isBodyless(x) ? 'bodyless ' : '';
    const lines = `${this.#location} ${role}\n${form}${method} ${x.uri}\n${headers}${range}`;
    return { ...lifted, role, key: lines + lifted.template };
  }

  /** The parsed query of requests of a shape; `undefined` if the request has to be parsed and planned itself. */
  parsed(x: Exchange, { key, template }: RequestShape): ParsedHead | undefined {
    const schema = this.#known();
    if (!schema) return undefined;
    const { queries } = this.#kept.of(schema);
    const kept = queries.get(key);
    if (kept) return kept === UNFIT ? undefined : kept;
    try {
      return this.#steps.parse(x, template);
    } catch {
      queries.set(key, UNFIT);
      return undefined;
    }
  }

  /** The plan of a request whose query `parsed` has returned; `undefined` if the request has to be planned itself. */
  prepare(shape: RequestShape, parsed: ParsedHead, content: Content): PreparedPlan | undefined {
    const schema = this.#known();
    const form = contentShape(content);
    if (!schema || form === undefined) return undefined;
    const { queries, plans } = this.#kept.of(schema);
    const { metrics } = this.#kept;
    const key = form === '' ? shape.key : `${shape.key}\n${form}`;
    metrics?.requests.add();
    let found = plans.get(key);
    if (found) metrics?.hits.add();
    else {
      try {
        found = this.#plan(shape, parsed, { content, schema });
      } catch {
        // A content with a fault says nothing about the others.
        if (form === '') queries.set(shape.key, UNFIT);
        return undefined;
      }
      queries.set(shape.key, parsed);
      plans.set(key, found);
    }
    const { plan, template, runs } = found;
    return { plan, work: template.filledWith({ literals: shape.literals, content }), runs };
  }

  #plan(
    { role, literals }: RequestShape,
    parsed: ParsedHead,
    { content, schema }: { content: Content; schema: Schema },
  ): KeptPlan {
    const { plan, work } = this.#steps.prepare(parsed, markedContent(content), { role, schema });
    const template = new WorkTemplate(work, literals.length);
    return { plan, template, runs: this.#runsOf?.(work.main.statement.text, role) };
  }
}

/** A line of a key. An absent header differs from an empty one. */
function lineOf(header: string | undefined): string {
  return header === undefined ? '\n' : `=${header}\n`;
}

/** Longer keys of a body are not worth the memory. */
const LONGEST_KEYS = 2_048;

/** The part of a content that a plan depends on: '' without a body, `undefined` if it is large or depends on values. */
function contentShape(content: Content): string | undefined {
  switch (content.kind) {
    case 'none':
      return '';
    case 'rows': {
      // Rows of other tables are planned each time: a shape has the keys of one table only.
      if (content.rows.nested && content.rows.nested.rows.size > 0) return undefined;
      const { kind, keys, numbered = false, isText = false, isSeveral = false } = content.rows;
      return keysShape(`${kind} ${numbered} ${isText} ${isSeveral}`, keys);
    }
    case 'input': {
      const { input } = content;
      if (input.kind === 'texts') return undefined;
      if (input.kind === 'whole') return `whole ${input.type}`;
      const { isArray, keys, from, body } = input;
      return keysShape(`json ${isArray} ${from} ${body.length === 0} ${keys !== undefined}`, keys ?? []);
    }
  }
}

/** The number of keys makes it unambiguous: no name in the schema contains NUL. */
function keysShape(kind: string, keys: readonly string[]): string | undefined {
  const text = keys.join('\0');
  return text.length > LONGEST_KEYS ? undefined : `${kind} ${keys.length} ${text}`;
}
