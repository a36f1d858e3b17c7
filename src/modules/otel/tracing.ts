import {
  type Exchange,
  type RequestTrace,
  type SpanRecorder,
  traceparentOf,
  UNTRACED,
} from '../../http/index.ts';
import type { Build } from '../../contract/index.ts';
import { type ComplexValue, constantText } from '../../config/index.ts';
import { type OtelConfig, shareOf } from './directives.ts';
import {
  type ClientTrace,
  newSpanId,
  newTraceId,
  NO_CLIENT_TRACE,
  readClientTrace,
} from './trace-context.ts';
import { RandomId, writeDigits } from './random-id.ts';

/** The trace of a request. Whether its span is exported may not be decided yet. */
class OwnTrace implements RequestTrace {
  readonly #client: ClientTrace;
  #traceId: string;
  #spanId = '';
  /** The ids as they were made for an export, if nobody had asked for their digits before. */
  #madeTraceId: readonly [RandomId, RandomId] | undefined = undefined;
  #madeSpanId: RandomId | undefined = undefined;
  sampled = false;
  recorder: SpanRecorder | undefined = undefined;
  children = 0;
  isDecided = false;

  constructor(client: ClientTrace) {
    this.#client = client;
    this.#traceId = client.traceId;
  }

  /** The ids are made when they are asked for: most requests are not exported, and tell nobody of their trace. */
  get traceId(): string {
    if (this.#traceId === '') {
      const made = this.#madeTraceId;
      this.#traceId = made ? made[0].digits + made[1].digits : newTraceId();
    }
    return this.#traceId;
  }

  get spanId(): string {
    if (this.#spanId === '') this.#spanId = this.#madeSpanId?.digits ?? newSpanId();
    return this.#spanId;
  }

  writeTraceId(to: Uint8Array, at: number): void {
    if (this.#traceId !== '') return writeDigits(this.#traceId, to, at);
    const [first, second] = (this.#madeTraceId ??= [new RandomId(), new RandomId()]);
    first.write(to, at);
    second.write(to, at + RandomId.bytes);
  }

  writeSpanId(to: Uint8Array, at: number): void {
    if (this.#spanId !== '') return writeDigits(this.#spanId, to, at);
    (this.#madeSpanId ??= new RandomId()).write(to, at);
  }

  get parentId(): string {
    return this.#client.parentId;
  }

  get parentSampled(): boolean {
    return this.#client.parentSampled;
  }

  get state(): string {
    return this.#client.state;
  }
}

const OFF = { parts: ['off'] };
const NEVER = (): boolean => false;

/** The values of `otel_trace` for which a span is exported. */
const isOn = (text: string): boolean => text === 'on' || text === '1';

/** Tells whether the trace of the client is continued. */
const continuesTrace = (use: OtelConfig['contextUse']): boolean => use === 'extract' || use === 'propagate';

/** Returns the trace of a request; makes its ids at their first use. `undefined`: the request has none. */
type ReadTrace = (x: Exchange) => OwnTrace | undefined;

/** Compiles the access to a request's trace. The first location that asks decides whether the client's headers are read. */
export function compileReadTrace({ contextUse }: Pick<OtelConfig, 'contextUse'>, build: Build): ReadTrace {
  const extracts = continuesTrace(contextUse);
  if (extracts) {
    build.needHeader('traceparent');
    build.needHeader('tracestate');
  }
  return ({ main }) => {
    const known = main.trace as OwnTrace | undefined;
    if (known) return known === UNTRACED ? undefined : known;
    const trace = new OwnTrace(extracts ? readClientTrace(main.request.headers) : NO_CLIENT_TRACE);
    main.trace = trace;
    return trace;
  };
}

/**
 * Compiles the decision about the trace of a request, which is made once: internal redirects and error pages keep it. With
 * `recorder`, the parts of a request whose span is exported are recorded too.
 */
export function compileDecide(
  config: OtelConfig,
  build: Build,
  recorder: SpanRecorder | undefined,
): (x: Exchange) => void {
  const { trace = OFF, contextUse } = config;
  const read = compileReadTrace(config, build);
  const isSampled = compileSampler(trace, { continues: continuesTrace(contextUse), read, build });
  const injects = contextUse === 'inject' || contextUse === 'propagate';
  const isTraced = contextUse !== 'ignore';
  if (!isTraced && isSampled === NEVER)
    return (x) => {
      if (x.main === x && !isDecided(x.trace)) leaveUntraced(x);
    };
  return (x) => {
    if (x.main !== x || isDecided(x.trace)) return;
    const sampled = isSampled(x);
    if (!sampled && !isTraced) return leaveUntraced(x);
    const own = read(x);
    if (!own) return;
    own.sampled = sampled;
    own.recorder = sampled ? recorder : undefined;
    own.isDecided = true;
    // The span has the client's address, which may be gone by the end of the request.
    if (sampled) x.wire.keepPeer();
    if (injects) inject(x, own);
  };
}

/** Compiles whether the span of a request is exported. With a share, a client that has a trace decides instead. */
function compileSampler(
  trace: ComplexValue,
  { continues, read, build }: { continues: boolean; read: ReadTrace; build: Build },
): (x: Exchange) => boolean {
  const constant = constantText(trace);
  if (constant === undefined) {
    const render = build.value(trace);
    return (x) => isOn(render(x));
  }
  const share = shareOf(constant);
  if (share === undefined) return isOn(constant) ? () => true : NEVER;
  // An id is made only for a request that needs it: the share is one of random numbers, not of ids.
  const isOfShare = (): boolean => Math.random() < share;
  if (!continues) return isOfShare;
  return (x) => {
    const own = read(x);
    return own === undefined || own.parentId === '' ? isOfShare() : own.parentSampled;
  };
}

function isDecided(trace: RequestTrace | undefined): boolean {
  return trace !== undefined && (trace === UNTRACED || (trace as OwnTrace).isDecided);
}

/** Decides that a request is not traced. Ids that a variable has already shown stay. */
function leaveUntraced(x: Exchange): void {
  if (x.trace) (x.trace as OwnTrace).isDecided = true;
  else x.trace = UNTRACED;
}

/** Puts the trace into the request's own headers, so that it gets to upstreams of any protocol (nginx-otel). */
function inject(x: Exchange, trace: OwnTrace): void {
  const { headers } = x.request;
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name !== 'traceparent' && name !== 'tracestate') kept.push(name, headers[index + 1] as string);
  }
  kept.push('traceparent', traceparentOf(trace));
  if (trace.state !== '') kept.push('tracestate', trace.state);
  x.request = { ...x.request, headers: kept };
}
