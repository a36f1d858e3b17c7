import type { DirectiveNode } from '../../../grammar/index.ts';
import { type BlockView, groupBy, isLocal, oncePer, serverOf } from '../../config/index.ts';
import {
  type AnyModule,
  type CheckedConfig,
  type Condition,
  conditionOf,
  configOf,
  type Exposed,
  type ListenConfig,
  matchOf,
} from '../../contract/index.ts';

/** A configuration with its modules, which know what their directives expose. */
export interface ConfigOfModules extends CheckedConfig {
  readonly modules: readonly AnyModule[];
}

/** Variables that are set only for clients with a proof of identity. */
const PROOF = /^(?:secure_link|ssl_client_\w+)$/;
/** Variables with which clients claim an identity, which a condition can compare. */
const CLAIM =
  /^(?:remote_addr|binary_remote_addr|realip_remote_addr|http_authorization|http_x_\w+|arg_\w+|cookie_\w+)$/;

/** Returns whether an `if` of the block or its server refuses unknown clients. */
function refusesStrangers(config: ConfigOfModules, block: BlockView): boolean {
  return blocksAsked(block).some((around) => refusalsIn(config, around).strangers);
}

/** Returns whether requests with an empty variable are refused. */
export function rejectsEmpty(config: ConfigOfModules, block: BlockView, variable: string): boolean {
  return blocksAsked(block).some((around) => refusalsIn(config, around).variables.has(variable));
}

/** A location and its server: the `if` blocks of enclosing locations do not apply. */
function blocksAsked(block: BlockView): readonly BlockView[] {
  const location = block.context === 'location if' ? block.outer : block;
  return [...block.outward()].filter((around) => around === location || around.context === 'server');
}

/** The refusals by the `if` blocks of one block. */
interface Refusals {
  readonly strangers: boolean;
  /** The variables that an `if` tests before it ends the request. */
  readonly variables: ReadonlySet<string>;
}

/** Cached, since each of ten thousand locations asks for the refusals of its server. */
const known = new WeakMap<BlockView, Refusals>();

function refusalsIn(config: ConfigOfModules, block: BlockView): Refusals {
  const found = known.get(block);
  if (found) return found;
  const conditions = block.inner.filter(
    ({ context }) => context === 'server if' || context === 'location if',
  );
  const refusals: Refusals = {
    strangers: conditions.some((condition) => isRefusal(config, condition)),
    variables: new Set(
      conditions
        .filter((condition) => condition.own('return', 'rewrite').length > 0)
        .flatMap((block) => variableIn(conditionOf(block)) ?? []),
    ),
  };
  known.set(block, refusals);
  return refusals;
}

function variableIn(condition: Condition | undefined): string | undefined {
  return condition && 'variable' in condition ? condition.variable : undefined;
}

function isRefusal(config: ConfigOfModules, block: BlockView): boolean {
  const condition = conditionOf(block);
  const refuses = block
    .own('return')
    .some(({ args: [code] }) => /^4(?:01|03|04|44)$/.test(code?.value ?? ''));
  return condition !== undefined && refuses && tellsApart(config, condition);
}

/** True for a condition that unknown clients meet and others do not. */
function tellsApart({ bound }: ConfigOfModules, condition: Condition): boolean {
  if (!('variable' in condition)) return false;
  const { variable } = condition;
  // The purpose of the author's own map or `set` is unknown, but it was written to decide something.
  if (PROOF.test(variable) || bound.defined.has(variable)) return true;
  if (condition.test === 'true' || !condition.negated) return false;
  return CLAIM.test(variable) && (condition.test === 'match' || condition.value.parts.length > 0);
}

/** The directives that modules declare sensitive for a rule, in blocks that strangers can reach. */
export function* exposed(config: ConfigOfModules, rule: string): Generator<Exposed> {
  const modules = config.modules.filter((module) => module.sensitive && isUsed(config, module));
  if (modules.length === 0) return;
  for (const block of config.blocks('server', 'location', 'location if')) {
    for (const module of modules) {
      const values = block.config(module.name);
      if (module.enabled?.(values) === false) continue;
      const sensitive = module.sensitive?.(values);
      const node = sensitive && block.from(module.name).get(sensitive.field)?.nodes[0];
      if (!node || sensitive.rule !== rule) continue;
      const methods = sensitive.methods ?? ['GET'];
      if (methods.some((method) => isOpen(config, block, method))) yield { node, block, sensitive };
    }
  }
}

/** Skips modules without directives in the configuration, for the sake of ten thousand locations. */
function isUsed(config: ConfigOfModules, { directives }: AnyModule): boolean {
  return config.uses(...Object.keys(directives)).length > 0;
}

/**
 * Returns whether an unknown client can reach the content of a block: a request from another machine, without password,
 * certificate or token.
 */
export function isOpen(config: ConfigOfModules, block: BlockView, method = 'GET'): boolean {
  return isOpenFrom(config, block, { method, seen: new Set() });
}

interface OpenSearch {
  readonly method: string;
  /** Named locations that have been visited, because they may lead to each other. */
  readonly seen: ReadonlySet<BlockView>;
}

function isOpenFrom(config: ConfigOfModules, block: BlockView, { method, seen }: OpenSearch): boolean {
  if (!isPublic(block)) return false;
  const holding = limitedTo(block, method) ?? block;
  if (configOf(holding.level, 'core').internal || !letsIn(config, holding)) return false;
  if (refusesStrangers(config, block)) return false;
  const name = nameOf(block);
  if (name === undefined) return true;
  if (seen.has(block)) return false;
  const asking = { method, seen: new Set([...seen, block]) };
  return waysTo(name, block).some((way) => isOpenFrom(config, way, asking));
}

/** True if requests from other machines reach the server of a block. */
export function isPublic(block: BlockView): boolean {
  const server = serverOf(block);
  const listens = server && configOf(server.level, 'core').listens;
  // Without `listen` a server listens on all addresses.
  return listens?.some((listen) => isForeign(listen) && !wantsCertificate(listen, block)) ?? true;
}

function isForeign({ address }: ListenConfig): boolean {
  return address.kind === 'inet' && !isLocal(address.host);
}

function wantsCertificate({ ssl }: ListenConfig, block: BlockView): boolean {
  return ssl === true && configOf(block.level, 'ssl').verifyClient === 'on';
}

/** The `limit_except` that replaces a location for a method. */
function limitedTo(block: BlockView, method: string): BlockView | undefined {
  return block.inner.find(({ context, args }) => {
    if (context !== 'limit_except' || !Array.isArray(args)) return false;
    return !args.includes(method) && !(method === 'HEAD' && args.includes('GET'));
  });
}

/** Returns whether the access phase lets an unknown client in. */
function letsIn({ modules }: ConfigOfModules, block: BlockView): boolean {
  const verdicts = modules.flatMap((module) => {
    const values = block.config(module.name);
    return module.enabled?.(values) === false ? [] : (module.strangers?.(values) ?? []);
  });
  if (configOf(block.level, 'core').satisfy === 'any' && verdicts.includes('allowed')) return true;
  return !verdicts.includes('denied');
}

function nameOf(block: BlockView): string | undefined {
  const { context, outer } = block;
  if (context !== 'location') return outer && context === 'location if' ? nameOf(outer) : undefined;
  const match = matchOf(block);
  return match?.kind === 'named' ? match.name : undefined;
}

/** The blocks of the same server, or around it, that redirect requests to a named location. */
function waysTo(name: string, from: BlockView): readonly BlockView[] {
  const around = [...from.outward()].filter(({ context }) => context === 'http');
  const server = serverOf(from);
  return [
    ...around.filter((block) => block.own().some((node) => namesIn(node).includes(name))),
    ...((server && waysIn(server).get(name)) ?? []),
  ];
}

/** The blocks of a server by the named locations that they redirect to; cached for ten thousand locations. */
const waysIn = oncePer((server: BlockView): ReadonlyMap<string, readonly BlockView[]> => {
  const all = within(server).flatMap((block) =>
    [...new Set(block.own().flatMap(namesIn))].map((name) => ({ name, block })),
  );
  const ways = groupBy(all, ({ name }) => name);
  return new Map([...ways].map(([name, found]) => [name, found.map(({ block }) => block)]));
});

function namesIn({ name, args }: DirectiveNode): readonly string[] {
  if (name.value === 'location') return [];
  return args.flatMap(({ value }) => (value.startsWith('@') ? [value] : []));
}

function within(block: BlockView): readonly BlockView[] {
  return [block, ...block.inner.flatMap(within)];
}
