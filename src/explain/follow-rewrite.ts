import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import type { Build } from '../contract/index.ts';
import type { Exchange, Handler } from '../http/index.ts';
import type { Frame, Tracer } from './tracer.ts';
import type { DirectiveStep } from './trace.ts';

/** Who follows a compile. */
interface Follower {
  readonly tracer: Tracer;
  /** The directives of all rewrite phases. */
  readonly directives: Set<DirectiveNode>;
}

interface Following {
  readonly build: Build;
  readonly follower: Follower;
  /** Which directives gave the fields of the module's config there. */
  readonly fields: ReturnType<BlockView['from']> | undefined;
  /** The block that the directives stand in. */
  readonly around: BlockView | undefined;
}

/** The handlers of a rewrite phase, each telling what it did as the directive that it was compiled from. */
export function followRewrite(
  handlers: readonly Handler[],
  { build, follower, fields, around }: Following,
): readonly Handler[] {
  // They stand for the directives of one list, in file order.
  const list = [...(fields?.values() ?? [])].find(({ nodes }) => nodes.length === handlers.length);
  for (const node of list?.nodes ?? []) follower.directives.add(node);
  return handlers.map((handler, index) => {
    const node = list?.nodes[index];
    if (!node) return handler;
    const enter = node.block && build.block(around?.own().indexOf(node) ?? -1);
    return (x) => {
      const step = new Step(x, node, follower);
      return step.run(handler, enter);
    };
  });
}

/** One directive at work. */
class Step {
  readonly #x: Exchange;
  readonly #node: DirectiveNode;
  readonly #follower: Follower;
  readonly #before: { readonly uri: string; readonly args: string };
  readonly #steps: number;
  readonly #round: number;

  constructor(x: Exchange, node: DirectiveNode, follower: Follower) {
    const { rounds } = follower.tracer;
    this.#x = x;
    this.#node = node;
    this.#follower = follower;
    this.#before = { uri: x.uri, args: x.args };
    this.#round = rounds.length - 1;
    this.#steps = rounds[this.#round]?.steps.length ?? 0;
  }

  run(handler: Handler, enter: Handler | undefined): void | Promise<void> {
    const { tracer } = this.#follower;
    const frame = tracer.open();
    const redirects = this.#x.internalRedirects;
    const waiting = handler(this.#x);
    // Its condition did not hold for the example: it may be entered all the same.
    const entering = enter && frame.live && !frame.open ? enter(this.#x) : undefined;
    tracer.close(frame);
    const isEntered = enter && this.#isEntered(frame);
    if (this.#x.internalRedirects === redirects) this.#note(frame, isEntered);
    else this.#splice(frame, { ...(isEntered !== undefined && { holds: isEntered }), after: this.#before });
    return entering ?? waiting;
  }

  #isEntered(frame: Frame): boolean {
    const { steps = [] } = this.#follower.tracer.rounds[this.#round] ?? {};
    return frame.open?.taken === 1 || steps.slice(this.#steps).some(({ kind }) => kind === 'enter');
  }

  #note(frame: Frame, isEntered: boolean | undefined): void {
    const { uri, args, rewriteEnded, relocate } = this.#x;
    const holds = isEntered ?? frame.matches;
    const isIf = isEntered !== undefined;
    this.#splice(frame, {
      ...(holds !== undefined && { holds }),
      after: isIf ? this.#before : { uri, args },
      ...(rewriteEnded && !isIf && { end: relocate ? 'last' : 'break' }),
    });
  }

  /** In front of what happened inside of it. */
  #splice(frame: Frame, found: Pick<DirectiveStep, 'holds' | 'after' | 'end'>): void {
    const step: DirectiveStep = {
      kind: 'directive',
      node: this.#node,
      ...found,
      reads: [...frame.reads.values()],
      assigned: frame.assigned,
      before: this.#before,
      ...(frame.open && { open: frame.open }),
      ...(this.#x.done && { answers: true }),
      ...(this.#x.main !== this.#x && { of: this.#before.uri }),
    };
    this.#follower.tracer.rounds[this.#round]?.steps.splice(this.#steps, 0, step);
  }
}
