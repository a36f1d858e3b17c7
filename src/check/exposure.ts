import type { DirectiveNode } from '../../grammar/index.ts';
import { type BlockView, groupBy, isLocal, oncePer, serverOf } from '../config/index.ts';
import {
  type AnyModule,
  type CheckedConfig,
  type Condition,
  conditionOf,
  configOf,
  type Exposed,
  type ListenConfig,
  matchOf,
} from '../contract/index.ts';

/** A configuration, and the modules that know what its directives let strangers do. */
export interface ConfigOfModules extends CheckedConfig {
  readonly modules: readonly AnyModule[];
}

/** What a stranger does not have. */
const PROOF = /^(?:secure_link|ssl_client_\w+)$/;
/** What is right for those only whom a condition names. */
const CLAIM =
  /^(?:remote_addr|binary_remote_addr|realip_remote_addr|http_authorization|http_x_\w+|arg_\w+|cookie_\w+)$/;

/** Whether an `if` of the block, or of its server, refuses those whom the configuration does not know. */
function refusesStrangers(config: ConfigOfModules, block: BlockView): boolean {
  return blocksAsked(block).some((around) => refusalsIn(config, around).strangers);
}

/** Whether requests are turned away that leave a variable empty. */
export function rejectsEmpty(config: ConfigOfModules, block: BlockView, variable: string): boolean {
  return blocksAsked(block).some((around) => refusalsIn(config, around).variables.has(variable));
}

/** A location and its server: the `if` of locations around it are not asked. */
function blocksAsked(block: BlockView): readonly BlockView[] {
  const location = block.context === 'location if' ? block.outer : block;
  return [...block.outward()].filter((around) => around === location || around.context === 'server');
}

/** What the `if` of one block refuse. */
interface Refusals {
  readonly strangers: boolean;
  /** What an `if` asks before it ends the request. */
  readonly variables: ReadonlySet<string>;
}

/** Each of ten thousand locations asks for those of the one server around it. */
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

/** A condition that strangers fulfil and others do not. */
function tellsApart({ bound }: ConfigOfModules, condition: Condition): boolean {
  if (!('variable' in condition)) return false;
  const { variable } = condition;
  // A map or a `set` of the author's own: what it is good for cannot be told, but it was written to decide.
  if (PROOF.test(variable) || bound.defined.has(variable)) return true;
  if (condition.test === 'true' || !condition.negated) return false;
  return CLAIM.test(variable) && (condition.test === 'match' || condition.value.parts.length > 0);
}

/** What modules call sensitive under the name of a rule, wherever strangers get at it. */
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

/** Most configurations of ten thousand locations know nothing of most modules. */
function isUsed(config: ConfigOfModules, { directives }: AnyModule): boolean {
  return config.uses(...Object.keys(directives)).length > 0;
}

/**
 * Whether somebody whom the configuration knows nothing of gets through to what answers in a block: a request from
 * another machine, without password, certificate or token.
 */
export function isOpen(config: ConfigOfModules, block: BlockView, method = 'GET'): boolean {
  return isOpenFrom(config, block, { method, seen: new Set() });
}

interface OpenSearch {
  readonly method: string;
  /** Named locations on the way here: they may lead to each other. */
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

/** True when requests from other machines come to the server that a block is in. */
export function isPublic(block: BlockView): boolean {
  const server = serverOf(block);
  const listens = server && configOf(server.level, 'core').listens;
  // Without a `listen` a server has all addresses.
  return listens?.some((listen) => isForeign(listen) && !wantsCertificate(listen, block)) ?? true;
}

function isForeign({ address }: ListenConfig): boolean {
  return address.kind === 'inet' && !isLocal(address.host);
}

function wantsCertificate({ ssl }: ListenConfig, block: BlockView): boolean {
  return ssl === true && configOf(block.level, 'ssl').verifyClient === 'on';
}

/** The `limit_except` that takes the place of a location for a method. */
function limitedTo(block: BlockView, method: string): BlockView | undefined {
  return block.inner.find(({ context, args }) => {
    if (context !== 'limit_except' || !Array.isArray(args)) return false;
    return !args.includes(method) && !(method === 'HEAD' && args.includes('GET'));
  });
}

/** The access phase, as a stranger meets it. */
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

/** The blocks of the same server, or around it, that send requests on to a named location. */
function waysTo(name: string, from: BlockView): readonly BlockView[] {
  const around = [...from.outward()].filter(({ context }) => context === 'http');
  const server = serverOf(from);
  return [
    ...around.filter((block) => block.own().some((node) => namesIn(node).includes(name))),
    ...((server && waysIn(server).get(name)) ?? []),
  ];
}

/** The blocks of a server by the named locations that they send to: each of ten thousand asks. */
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
