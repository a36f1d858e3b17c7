import type { BlockView, ComplexValue } from '../config/index.ts';
import type { CheckedConfig } from './rule.ts';

/** What `if` asks, as far as it matters here. */
interface Condition {
  readonly variable?: string;
  readonly negated?: boolean;
  readonly value?: ComplexValue;
}

/** What a stranger does not have. */
const PROOF = /^(?:secure_link|ssl_client_\w+)$/;
/** What is right for those only whom a condition names. */
const CLAIM =
  /^(?:remote_addr|binary_remote_addr|realip_remote_addr|http_authorization|http_x_\w+|arg_\w+|cookie_\w+)$/;

/** Whether an `if` of the block, or of its server, refuses those whom the configuration does not know. */
export function refusesStrangers(config: CheckedConfig, block: BlockView): boolean {
  return askedIn(block).some((around) => refusalsIn(config, around).strangers);
}

/** Whether requests are turned away that leave a variable empty. */
export function rejectsEmpty(config: CheckedConfig, block: BlockView, variable: string): boolean {
  return askedIn(block).some((around) => refusalsIn(config, around).variables.has(variable));
}

/** A location and its server: the `if` of locations around it are not asked. */
function askedIn(block: BlockView): readonly BlockView[] {
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

function refusalsIn(config: CheckedConfig, block: BlockView): Refusals {
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
        .flatMap((condition) => conditionOf(condition)?.variable ?? []),
    ),
  };
  known.set(block, refusals);
  return refusals;
}

function conditionOf({ args }: BlockView): Condition | undefined {
  return (args as { readonly condition: Condition } | undefined)?.condition;
}

function isRefusal(config: CheckedConfig, block: BlockView): boolean {
  const condition = conditionOf(block);
  const refuses = block
    .own('return')
    .some(({ args: [code] }) => /^4(?:01|03|04|44)$/.test(code?.value ?? ''));
  return condition !== undefined && refuses && tellsApart(config, condition);
}

/** A condition that strangers fulfil and others do not. */
function tellsApart({ bound }: CheckedConfig, { variable, negated, value }: Condition): boolean {
  if (variable === undefined) return false;
  // A map or a `set` of the author's own: what it is good for cannot be told, but it was written to decide.
  if (PROOF.test(variable) || bound.defined.has(variable)) return true;
  const isNamed = value === undefined || value.parts.length > 0;
  return CLAIM.test(variable) && negated === true && isNamed;
}
