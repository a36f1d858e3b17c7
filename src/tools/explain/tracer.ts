import type { DirectiveNode } from '../../../grammar/index.ts';
import type { ExplainedAction, ExplainedPhase, Liveness } from '../../contract/index.ts';
import type { ResponseRules, Exchange, Verdict } from '../../http/index.ts';
import type { ErrorLog, Level } from '../../log/index.ts';
import type { LocationPlan } from '../../plan/index.ts';

/** A variable that a step has read. */
export interface VariableRead {
  readonly name: string;
  readonly value: string | undefined;
  /** True if the value is an example that only a running gateway knows. */
  readonly live: boolean;
}

/** A question that only a running gateway decides, and the assumed option. */
export interface OpenQuestion {
  readonly question: string;
  readonly options: readonly [string, string];
  readonly taken: 0 | 1;
}

/** The effect of a directive of the rewrite phase. */
export interface DirectiveStep {
  readonly kind: 'directive';
  readonly node: DirectiveNode;
  /** True if an `if` was entered or a pattern matched; absent for other directives. */
  readonly holds?: boolean;
  readonly reads: readonly VariableRead[];
  readonly assigned: readonly { readonly name: string; readonly value: string; readonly live: boolean }[];
  readonly before: { readonly uri: string; readonly args: string };
  readonly after: { readonly uri: string; readonly args: string };
  /** `last`: another search follows; `break`: the rest of the rewrites is skipped. */
  readonly end?: 'last' | 'break';
  readonly open?: OpenQuestion;
  /** The path of the main request, if this is a subrequest. */
  readonly of?: string;
  /** True if the directive made the response. */
  readonly answers?: true;
}

/** One step of a request, in the order of execution. */
export type TraceStep =
  | {
      readonly kind: 'enter';
      readonly plan: LocationPlan;
      readonly uri: string;
      /** True if the request may enter internal locations. */
      readonly internal: boolean;
    }
  | DirectiveStep
  | {
      readonly kind: 'phase';
      readonly phase: ExplainedPhase | 'postRead';
      readonly module: string;
      readonly deed?: ExplainedAction | undefined;
      readonly verdict?: Verdict;
      readonly open?: OpenQuestion;
      /** The client's address from here on. */
      readonly address?: string;
      readonly reads: readonly VariableRead[];
    }
  | { readonly kind: 'jump'; readonly target: string }
  | { readonly kind: 'end'; readonly status: number; readonly page: boolean }
  | { readonly kind: 'closed'; readonly status: number }
  | { readonly kind: 'log'; readonly level: Level; readonly message: string }
  | ({ readonly kind: 'answer' } & TracedResponse);

/** The response that the client would get. */
export interface TracedResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body?: string | Uint8Array;
  readonly lengthBytes?: number;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
}

/** The steps between two searches for a location. */
export interface TraceRound {
  readonly uri: string;
  readonly args: string;
  readonly steps: TraceStep[];
}

/** The variables that were read and assigned during one step. */
export interface StepFrame {
  readonly reads: Map<string, VariableRead>;
  readonly assigned: { readonly name: string; readonly value: string; readonly live: boolean }[];
  /** The steps of the round in which it began, and its index there. */
  readonly steps: TraceStep[] | undefined;
  readonly start: number;
  /** True if a value that was read is an example. */
  live: boolean;
  open?: OpenQuestion;
  /** The result of the last match against a regular expression. */
  matches?: boolean;
}

/** Records the steps of one exchange. `choices` decide its open questions in order. */
export class Tracer implements ErrorLog {
  readonly rounds: TraceRound[] = [];
  readonly questions: OpenQuestion[] = [];
  refusal: string | undefined;
  /** The modules whose filters change the body. */
  readonly filters = new Set<string>();
  /** True if a subrequest has reached a handler whose response only a running gateway knows. */
  isUnknown = false;
  readonly #plans: ReadonlyMap<ResponseRules, LocationPlan>;
  readonly #choices: readonly (0 | 1)[];
  readonly #frames: StepFrame[] = [];
  /** The variables whose values are examples. */
  readonly #live = new Set<string>();
  #round = -1;

  constructor(plans: ReadonlyMap<ResponseRules, LocationPlan>, choices: readonly (0 | 1)[]) {
    this.#plans = plans;
    this.#choices = choices;
  }

  enters(x: Exchange): void {
    const plan = this.#plans.get(x.rules);
    if (!plan) return;
    if (x.internalRedirects !== this.#round) {
      this.#round = x.internalRedirects;
      this.rounds.push({ uri: x.uri, args: x.args, steps: [] });
    }
    this.add({ kind: 'enter', plan, uri: x.uri, internal: x.internal });
  }

  /** Records that the head of the request is refused before a server is chosen. */
  refused(why: string): void {
    this.refusal = why;
    this.rounds.push({ uri: '', args: '', steps: [] });
  }

  add(step: TraceStep): void {
    this.rounds.at(-1)?.steps.push(step);
  }

  phase(
    phase: ExplainedPhase | 'postRead',
    module: string,
    {
      frame,
      ...found
    }: { frame: StepFrame; deed?: ExplainedAction | undefined; verdict?: Verdict; address?: string },
  ): void {
    if (frame.open) for (const name of found.deed?.unknownVariables ?? []) this.#live.add(name);
    const reads = [...frame.reads.values()];
    const step = {
      kind: 'phase',
      phase,
      module,
      ...found,
      reads,
      ...(frame.open && { open: frame.open }),
    } as const;
    // The step of an access check precedes its log lines.
    if (phase === 'access') frame.steps?.splice(frame.start, 0, step);
    else this.add(step);
  }

  jumps(target: string): void {
    this.add({ kind: 'jump', target });
  }

  ends(x: Exchange, status: number): void {
    const page = !x.errorPagesEnded && x.rules.errorPages?.has(status) === true;
    this.add({ kind: 'end', status, page });
  }

  closed(status: number): void {
    this.add({ kind: 'closed', status });
  }

  answers({ status, response }: Exchange, body: Pick<TracedResponse, 'body' | 'lengthBytes'>): void {
    const { type: contentType, headers = [] } = response;
    this.add({ kind: 'answer', status, contentType, ...body, headers: [...headers] });
  }

  write(level: Level, message: string): void {
    // Messages about an unknown response are not recorded.
    if (this.isUnknown) return;
    this.add({ kind: 'log', level, message });
  }

  /** Opens a frame: variables that are read until `close` belong to one step. */
  open(): StepFrame {
    const steps = this.rounds.at(-1)?.steps;
    const frame: StepFrame = {
      reads: new Map(),
      assigned: [],
      live: false,
      steps,
      start: steps?.length ?? 0,
    };
    this.#frames.push(frame);
    return frame;
  }

  close(frame: StepFrame): void {
    const at = this.#frames.lastIndexOf(frame);
    if (at >= 0) this.#frames.splice(at, 1);
  }

  get frame(): StepFrame | undefined {
    return this.#frames.at(-1);
  }

  /** Reads a variable and records whether its value is an example. */
  read(name: string, live: Liveness | false, get: () => string | undefined): string | undefined {
    const inner = this.open();
    let value: string | undefined;
    try {
      value = get();
    } finally {
      this.close(inner);
    }
    const isLive = inner.live || this.#live.has(name) || isExample(live, value);
    if (isLive) this.#live.add(name);
    const { frame } = this;
    if (frame) {
      frame.live ||= isLive;
      frame.reads.set(name, { name, value, live: isLive });
    }
    return value;
  }

  assigned(name: string, value: string): void {
    const live = this.frame?.live ?? false;
    if (live) this.#live.add(name);
    else this.#live.delete(name);
    this.frame?.assigned.push({ name, value, live });
  }

  /** Decides an open question: by the choices, else the first option. */
  decide(frame: StepFrame, question: string, options: readonly [string, string]): 0 | 1 {
    const taken = this.#choices[this.questions.length] ?? 0;
    frame.open = { question, options, taken };
    this.questions.push(frame.open);
    return taken;
  }
}

/** True if a value that was read stands for one that only a running gateway knows. */
function isExample(live: Liveness | false, value: string | undefined): boolean {
  return live === 'even empty' || (live && value !== undefined && value !== '');
}
