import type { DirectiveNode } from '../../../grammar/index.ts';
import type { CompileWatch, WatchedPart } from '../../compile/index.ts';
import type { BlockView } from '../../config/index.ts';
import type {
  Build,
  ExplainedAction,
  LocationParts,
  ModuleExplanation,
  Explainer,
  ExplainedPhase,
  Liveness,
} from '../../contract/index.ts';
import {
  type AccessCheck,
  type BodyFilter,
  type BodyTransform,
  type Exchange,
  type Getter,
  type Handler,
  type ResponseRules,
} from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import type { LocationPlan } from '../../plan/index.ts';
import type { PlanBlocks } from './plan-blocks.ts';
import type { DirectiveStep, StepFrame, Tracer } from './tracer.ts';
import type { ExplainedWire } from './explained-wire.ts';

interface FollowedPhase {
  readonly build: Build;
  readonly follower: Follower;
  /** The directives that set the fields of the module's config. */
  readonly fields: ReturnType<BlockView['from']> | undefined;
  /** The block of the directives. */
  readonly around: BlockView | undefined;
}

/** Wraps the handlers of a rewrite phase so that each traces the directive it was compiled from. */
function followRewrite(
  handlers: readonly Handler[],
  { build, follower, fields, around }: FollowedPhase,
): readonly Handler[] {
  // The handlers correspond to the directives of one list, in file order.
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

/** Traces one directive while its handler runs. */
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
    // The condition does not hold for the example value, but may hold in a running gateway.
    const entering = enter && frame.live && !frame.open ? enter(this.#x) : undefined;
    tracer.close(frame);
    const isEntered = enter && this.#isEntered(frame);
    if (this.#x.internalRedirects === redirects) this.#note(frame, isEntered);
    else this.#splice(frame, { ...(isEntered !== undefined && { holds: isEntered }), after: this.#before });
    return entering ?? waiting;
  }

  #isEntered(frame: StepFrame): boolean {
    const { steps = [] } = this.#follower.tracer.rounds[this.#round] ?? {};
    return frame.open?.taken === 1 || steps.slice(this.#steps).some(({ kind }) => kind === 'enter');
  }

  #note(frame: StepFrame, isEntered: boolean | undefined): void {
    const { uri, args } = this.#x;
    const phase = this.#x.rewritePhase;
    const holds = isEntered ?? frame.matches;
    const isIf = isEntered !== undefined;
    this.#splice(frame, {
      ...(holds !== undefined && { holds }),
      after: isIf ? this.#before : { uri, args },
      ...(phase?.isEnded && !isIf && { end: phase.relocates ? 'last' : 'break' }),
    });
  }

  /** Inserts the step before the steps that were traced inside it. */
  #splice(frame: StepFrame, found: Pick<DirectiveStep, 'holds' | 'after' | 'end'>): void {
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

/** Wraps the handlers of one compile so that they report to the tracer of the current run. */
export class Follower implements CompileWatch {
  readonly #blocks: PlanBlocks;
  readonly plans = new Map<ResponseRules, LocationPlan>();
  /** The directives of all rewrite phases. */
  readonly directives = new Set<DirectiveNode>();
  #tracer: Tracer | undefined;
  #wire: ExplainedWire | undefined;

  constructor(blocks: PlanBlocks) {
    this.#blocks = blocks;
  }

  /** Sets the tracer for the request of a wire. */
  use(tracer: Tracer, wire: ExplainedWire): void {
    this.#tracer = tracer;
    this.#wire = wire;
  }

  get tracer(): Tracer {
    if (!this.#tracer) throw new Error('a handler ran before there was a request');
    return this.#tracer;
  }

  /** Messages of the compile itself are not traced. */
  get log(): ErrorLog {
    return this.#tracer ?? SILENCE;
  }

  rules(rules: ResponseRules, plan: LocationPlan): void {
    this.plans.set(rules, plan);
  }

  getter(getter: Getter, { name, live }: { readonly name: string; readonly live: Liveness | false }): Getter {
    return (x) => this.tracer.read(name, live, () => getter(x));
  }

  matched(_x: Exchange, { matches }: { readonly matches: boolean }): void {
    const { frame } = this.tracer;
    if (frame) frame.matches = matches;
  }

  assigned(_x: Exchange, name: string, value: string): void {
    this.tracer.assigned(name, value);
  }

  /** An `if` with an unknown condition is entered according to the choices. */
  block(enter: Handler): Handler {
    return (x) => {
      const { frame } = this.tracer;
      if (frame?.live && !frame.open && this.tracer.decide(frame, ...IF) === 0) return undefined;
      return enter(x);
    };
  }

  /** Log handlers are left out: no log line is written. */
  parts({ bodyFilter, log: _log, ...parts }: LocationParts, part: WatchedPart): LocationParts {
    const { module, config, resources, build, plan } = part;
    const explanation = module.explanation as ModuleExplanation<object, unknown> | undefined;
    const told = explanation?.explain?.(config, resources, build) ?? {};
    const runs = explanation?.runs === true;
    const follow = (phase: Exclude<ExplainedPhase, 'access'>): Handler | undefined => {
      const own = parts[phase];
      const telling = told[phase];
      return (
        (own ?? telling) &&
        this.#phase(phase, module.name, { own: telling && !runs ? undefined : own, telling })
      );
    };
    const access = parts.access && this.#access(module.name, parts.access, told.access);
    return {
      ...parts,
      ...(parts.postRead && { postRead: this.#phase('postRead', module.name, { own: parts.postRead }) }),
      ...(parts.rewrite && {
        rewrite: followRewrite(parts.rewrite, {
          build,
          follower: this,
          fields: this.#blocks.view(plan)?.from(module.name),
          around: this.#blocks.view(plan),
        }),
      }),
      ...present({
        preaccess: follow('preaccess'),
        precontent: follow('precontent'),
        content: follow('content'),
      }),
      ...(access && { access }),
      ...(bodyFilter && { bodyFilter: this.#bodyFilter(module.name, bodyFilter) }),
    };
  }

  enters(x: Exchange): void {
    // The locations of a subrequest are not traced.
    if (x === this.#wire?.x) this.tracer.enters(x);
  }

  ends(x: Exchange, status: number): void {
    if (x === this.#wire?.x) this.tracer.ends(x, status);
  }

  redirects(x: Exchange, target: string): void {
    if (x === this.#wire?.x) this.tracer.jumps(target);
  }

  /** Keeps the changes to the head; no body is sent. */
  #bodyFilter(module: string, { open, ...filter }: BodyFilter): BodyFilter {
    return {
      ...filter,
      open: (x) => {
        this.tracer.filters.add(module);
        open(x).close?.();
        return UNTOUCHED;
      },
    };
  }

  #phase(
    phase: Exclude<ExplainedPhase, 'access'> | 'postRead',
    module: string,
    { own, telling }: { readonly own?: Handler | undefined; readonly telling?: Explainer | undefined },
  ): Handler {
    return async (x) => {
      const { tracer } = this;
      const frame = tracer.open();
      const address = x.remoteAddress;
      try {
        const deed = await telling?.(x);
        if (deed) tracer.phase(phase, module, { frame, deed: x.main === x ? deed : asSubrequest(deed, x) });
      } finally {
        tracer.close(frame);
      }
      if (own) await own(x);
      else if (phase === 'content') this.#leave(x);
      if (x.remoteAddress !== address) tracer.phase(phase, module, { frame, address: x.remoteAddress });
    };
  }

  /** Stops at a response that only a running gateway knows. */
  #leave(x: Exchange): void {
    if (x === this.#wire?.x) return this.#wire.stop();
    this.tracer.isUnknown = true;
    x.abort();
  }

  /** Runs an access check, subrequests included. If it leaves the gateway, the choices decide its result. */
  #access(module: string, check: AccessCheck, telling: Explainer | undefined): AccessCheck {
    return async (x) => {
      const { tracer } = this;
      const frame = tracer.open();
      try {
        const deed = await telling?.(x);
        tracer.isUnknown = deed?.isVerdictUnknown === true;
        let verdict = await check(x);
        const { unknown, ...known } = deed ?? {};
        const isOpen = tracer.isUnknown && unknown !== undefined;
        if (isOpen) verdict = tracer.decide(frame, unknown, ADMISSION) === 0 ? 'allowed' : { status: 403 };
        const told = isOpen ? deed : deed && (known as ExplainedAction);
        tracer.isUnknown = false;
        tracer.phase('access', module, { frame, deed: told, ...(verdict && { verdict }) });
        return verdict;
      } finally {
        tracer.close(frame);
      }
    };
  }
}

/** The effect of a subrequest in one line. */
function asSubrequest({ does }: ExplainedAction, { uri }: Exchange): ExplainedAction {
  return { does: `for "${uri}", ${does}` };
}

const UNTOUCHED: BodyTransform = { whole: (body) => body, write: (piece) => piece, end: () => NOTHING };
const NOTHING = new Uint8Array();

const SILENCE: ErrorLog = { write: () => undefined };
const IF = ['whether it holds', ['does not hold', 'holds']] as const;
const ADMISSION = ['lets the request in', 'keeps it out with 401 or 403'] as const;

function present<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
