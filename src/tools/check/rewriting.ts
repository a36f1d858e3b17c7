import type { DirectiveNode } from '../../../grammar/index.ts';
import type { BlockView, ComplexValue } from '../../config/index.ts';
import { configOf, type IfStep, nodesOf, type Step } from '../../contract/index.ts';

/** The rewrite steps of a block in order of execution, each with its directive. */
export function stepsOf(block: BlockView): readonly { readonly step: Step; readonly node: DirectiveNode }[] {
  const nodes = nodesOf(block, 'rewrite', 'steps');
  return (configOf(block.level, 'rewrite').steps ?? []).flatMap((step, index) => {
    const node = nodes[index];
    return node ? { step, node } : [];
  });
}

/**
 * The effect of a block's steps on a URI. `moves`: the directive `by` starts a new search for a location. `stays`: the
 * URI no longer changes. `over`: the request ends. `unknown`: the effect depends on more than the URI and the client.
 */
type Rewritten =
  | { readonly kind: 'moves'; readonly uri: string; readonly by: DirectiveNode }
  | { readonly kind: 'stays'; readonly uri: string }
  | { readonly kind: 'over' | 'unknown' };

const UNKNOWN: Rewritten = { kind: 'unknown' };
const OVER: Rewritten = { kind: 'over' };

/** Runs the rewrite steps of a block on a URI. */
export function rewritten(block: BlockView, given: string): Rewritten {
  let uri = given;
  let by: DirectiveNode | undefined;
  for (const { step, node } of stepsOf(block)) {
    if (step.kind === 'return') return OVER;
    if (step.kind === 'break') return { kind: 'stays', uri };
    if (step.kind === 'if' && !isClients(step) && mayLeave(block, node)) return UNKNOWN;
    const match = 'regex' in step && new RegExp(step.regex.source).exec(uri);
    if (!match) continue;
    if (step.kind === 'redirect') return OVER;
    const changed = textOf(step.path, match);
    if (changed === undefined) return UNKNOWN;
    if (changed === '') return OVER;
    uri = changed;
    if (step.flag === 'break') return { kind: 'stays', uri };
    by ??= node;
    if (step.flag === 'last') return { kind: 'moves', uri, by };
  }
  return by ? { kind: 'moves', uri, by } : { kind: 'stays', uri };
}

/** Variables that clients control besides the path: for some requests a condition on them does not hold. */
const CLIENTS = /^(host|args|query_string|request_method|remote_addr|content_type|(http|arg|cookie)_\w+)$/;

function isClients({ condition }: IfStep): boolean {
  return 'variable' in condition && CLIENTS.test(condition.variable);
}

/** Returns whether the URI may leave the block through a condition. Other conditions are not evaluated. */
function mayLeave(block: BlockView, condition: DirectiveNode): boolean {
  const inside = block.inner.find(({ node }) => node === condition);
  return !inside || stepsOf(inside).some(({ step }) => step.kind !== 'set');
}

function textOf({ parts }: ComplexValue, match: RegExpExecArray): string | undefined {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') text += part;
    else if ('capture' in part) text += match[part.capture] ?? '';
    else return undefined;
  }
  return text;
}
