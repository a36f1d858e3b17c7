/** A value of a span's attribute. A list is an array of strings. */
export type AttributeValue = string | number | boolean | readonly string[];

/** A finished part of a request, ready for export. Times are in milliseconds since the epoch. */
export interface Span {
  readonly trace: RequestTrace;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** 16 hexadecimal digits; `undefined` for the span of the request, whose id its trace has. */
  readonly spanId: string | undefined;
  /** 16 digits; '' for the first span of a trace. */
  readonly parentId: string;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Name, value … */
  readonly attributes: readonly AttributeValue[];
  readonly isError: boolean;
}

/** Takes the spans of what a request has waited for. Never blocks and never throws. */
export interface SpanRecorder {
  record(span: Span): void;
  newSpanId(): string;
}

/** The trace that a request belongs to (W3C Trace Context). Ids are hexadecimal digits in lower case. */
export interface RequestTrace {
  /** 32 digits; '' if the request is not traced. */
  readonly traceId: string;
  /** 16 digits: the span of the request in this gateway. */
  readonly spanId: string;
  /** Writes the 16 bytes of the trace's id. An id that is only exported is never made as digits. */
  writeTraceId(to: Uint8Array, at: number): void;
  /** Writes the eight bytes of the span's id. */
  writeSpanId(to: Uint8Array, at: number): void;
  /** The span of the client; '' if it sent none, or none that counts. */
  readonly parentId: string;
  readonly parentSampled: boolean;
  /** The `tracestate` of the client, unchanged; '' if there is none. */
  readonly state: string;
  /** The request's span is exported. */
  readonly sampled: boolean;
  /** Takes the spans inside of the request's span; absent if they are not recorded. */
  readonly recorder: SpanRecorder | undefined;
  /** How many of them have begun. */
  children: number;
}

/** The trace of a request that has none, once that is decided. */
export const UNTRACED: RequestTrace = {
  traceId: '',
  spanId: '',
  writeTraceId: () => undefined,
  writeSpanId: () => undefined,
  parentId: '',
  parentSampled: false,
  state: '',
  sampled: false,
  recorder: undefined,
  children: 0,
};

/** Writes a `traceparent` of version 00 (W3C Trace Context, 3.2). */
export function traceparentOf({
  traceId,
  spanId,
  sampled,
}: Pick<RequestTrace, 'traceId' | 'spanId' | 'sampled'>): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Most spans inside of one request: a stream may last for hours, and a batch has many queries. */
const MOST_CHILDREN = 128;

/** A part of a request that is under way. It is recorded when it ends. */
export class ChildSpan {
  readonly id: string;
  readonly #trace: RequestTrace;
  readonly #recorder: SpanRecorder;
  readonly #name: string;
  readonly #kind: Span['kind'];
  readonly #beganAt = performance.now();
  readonly #attributes: AttributeValue[] = [];
  #isEnded = false;

  constructor(trace: RequestTrace, recorder: SpanRecorder, { name, kind }: Pick<Span, 'name' | 'kind'>) {
    this.#trace = trace;
    this.#recorder = recorder;
    this.#name = name;
    this.#kind = kind;
    this.id = recorder.newSpanId();
  }

  set(name: string, value: AttributeValue): this {
    this.#attributes.push(name, value);
    return this;
  }

  /** Only the first call counts. */
  end(isError = false): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const endedMs = Date.now();
    this.#recorder.record({
      trace: this.#trace,
      name: this.#name,
      kind: this.#kind,
      spanId: this.id,
      parentId: this.#trace.spanId,
      // The clock may have been set meanwhile: a span must not end before it begins.
      startedMs: endedMs - (performance.now() - this.#beganAt),
      endedMs,
      attributes: this.#attributes,
      isError,
    });
  }
}

/** What has a trace: a request, or a part of one. */
export interface Traced {
  readonly main: { readonly trace: RequestTrace | undefined };
}

/** Begins a part of a request; `undefined` if the parts of this request are not recorded. */
export function beginSpan(
  { main: { trace } }: Traced,
  name: string,
  kind: Span['kind'],
): ChildSpan | undefined {
  if (!trace?.recorder || trace.children >= MOST_CHILDREN) return undefined;
  trace.children++;
  return new ChildSpan(trace, trace.recorder, { name, kind });
}

/** Records a part of a request that a promise stands for, if there is one and parts are recorded. */
export function timedSpan<T extends Promise<unknown> | undefined>(
  x: Traced,
  { name, kind }: Pick<Span, 'name' | 'kind'>,
  waiting: T,
): T {
  const span = waiting && beginSpan(x, name, kind);
  if (span)
    void waiting.then(
      () => span.end(),
      () => span.end(true),
    );
  return waiting;
}
