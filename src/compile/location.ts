import type {
  AnyModule,
  LocationFacts,
  LocationMatch,
  LocationParts,
  VariableDefinition,
  WorkerScope,
} from '../contract/index.ts';
import { logContext } from '../http/index.ts';
import type { AnswerRules, Handler, LogStep } from '../http/index.ts';
import { locationText } from '../plan/index.ts';
import type { LocationPlan } from '../plan/index.ts';
import { LocationBuild } from './build.ts';
import type { BuildContext } from './build.ts';
import { compileErrorPages } from './error-pages.ts';
import type { Redirector } from './error-pages.ts';
import { connectionRules } from './connection-rules.ts';
import { sequence } from './phases.ts';
import { compileRequestCounter } from './request-counter.ts';

/** A location that is ready to serve. */
export interface LocationHandler {
  readonly rules: AnswerRules;
  readonly internal: boolean;
  /** The rewrite phase alone: what a server level runs before the location is chosen. */
  readonly rewrite: Handler | undefined;
  /** All phases but the rewrite phase: what a server level does when no location matches. */
  readonly answer: Handler;
  /** All phases. */
  readonly serve: Handler;
}

/** What the locations of one compile share. */
export interface LocationContext extends BuildContext {
  readonly worker: WorkerScope;
  readonly version: string;
  readonly countsRequests: boolean;
  readonly requestTail: LogStep | undefined;
  /** As metrics name the server. */
  readonly server: string;
  /** What `provision` gave, by config object: locations that share a config share its resources. */
  readonly provisioned: Map<object, unknown>;
}

/** Opens what a location needs, and compiles its phases. */
export async function compileLocation(
  plan: LocationPlan,
  redirector: Redirector,
  context: LocationContext,
): Promise<LocationHandler> {
  const used: Used[] = [];
  for (const module of context.modules) {
    const config = plan.modules[module.name];
    if (config) used.push({ module, config, resources: await provision(module, config, context) });
  }
  const build = new LocationBuild(factsOf(plan), { core: plan.core, defined: definedBy(used) }, context);
  const parts = used.map(({ module, config, resources }) => module.compile(config, resources, build));
  const rules = compileRules(plan, parts, { redirector, context, build });
  const rewrite = parts.flatMap((part) => part.rewrite ?? []);
  const rest = parts.flatMap(({ access }) => access ?? []);
  const content = parts.find((part) => part.content)?.content ?? notFound;
  return {
    rules,
    internal: plan.core.internal === true,
    rewrite: rewrite.length > 0 ? sequence(rewrite) : undefined,
    answer: sequence([...rest, content]),
    serve: sequence([...rewrite, ...rest, content]),
  };
}

/** A module that acts in this location. */
interface Used {
  readonly module: AnyModule;
  readonly config: object;
  readonly resources: unknown;
}

const notFound: Handler = (x) => x.end(404);

/** The variables that the configuration of this location defines, by name. */
function definedBy(used: readonly Used[]): Readonly<Record<string, VariableDefinition>> {
  return Object.assign(
    {},
    ...used.map(({ module, config, resources }) => module.defines?.(config, resources)),
  ) as Record<string, VariableDefinition>;
}

async function provision(module: AnyModule, config: object, context: LocationContext): Promise<unknown> {
  if (!module.provision) return undefined;
  if (!context.provisioned.has(config)) {
    context.provisioned.set(config, await module.provision(config, context.worker));
  }
  return context.provisioned.get(config);
}

interface RulesContext {
  readonly redirector: Redirector;
  readonly context: LocationContext;
  readonly build: LocationBuild;
}

function compileRules(
  { core, match }: LocationPlan,
  parts: readonly LocationParts[],
  { redirector, context, build }: RulesContext,
): AnswerRules {
  const { log } = build;
  const place = { server: context.server, location: match ? locationText(match) : '' };
  const counting = context.countsRequests ? [compileRequestCounter(build.metrics, place)] : [];
  const watching = parts.some(({ quiet }) => quiet) ? [] : [...counting, context.requestTail ?? []].flat();
  return {
    defaultType: core.defaultType,
    maxBodyBytes: core.maxBodyBytes,
    bodyTimeoutMs: core.bodyTimeoutMs,
    sendTimeoutMs: core.sendTimeoutMs,
    connection: connectionRules(core, build),
    serverToken: core.serverTokens === 'off' ? 'gw' : `gw/${context.version}`,
    absoluteRedirect: core.absoluteRedirect,
    filters: parts.flatMap(({ filter }) => filter ?? []),
    logs: [...parts.flatMap((part) => part.log ?? []), ...watching],
    tooLarge: parts.find((part) => part.tooLarge)?.tooLarge,
    errorPages: compileErrorPages(core.errorPages, redirector, build),
    warn: (message, x) => log.write('error', message, logContext(x)),
  };
}

function factsOf({ match, place }: LocationPlan): LocationFacts {
  return { kind: match?.kind ?? 'server', path: match ? pathOf(match) : '', place };
}

function pathOf(match: LocationMatch): string {
  if (match.kind === 'regex') return match.regex.pattern;
  return match.kind === 'named' ? match.name : match.path;
}
