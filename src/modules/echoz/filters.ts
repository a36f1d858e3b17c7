import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import {
  type BodyFilter,
  type BodyTransform,
  cleanHeaderValue,
  type Exchange,
  hasNoBody,
  type HeaderFilter,
  isUncoded,
  markTransformed,
} from '../../http/index.ts';
import type { EchozConfig } from './directives.ts';

/** Renders words with blanks between them. */
export function compileWords(words: readonly ComplexValue[], build: Build): (x: Exchange) => string {
  const rendered = words.map((word) => build.value(word));
  return (x) => rendered.map((render) => render(x)).join(' ');
}

/** Compiles `echoz_status` and `echoz_header`; `undefined` without them. */
export function compileHead({ status, headers = [] }: EchozConfig, build: Build): HeaderFilter | undefined {
  const steps = headers.map(({ name, value }): HeaderFilter => {
    const render = build.value(value);
    if (name.toLowerCase() === 'content-type')
      return (x) => void (x.response.type = cleanHeaderValue(render(x)));
    return (x) => x.response.setHeader(name, cleanHeaderValue(render(x)));
  });
  if (status) steps.unshift(compileStatus(status, build));
  if (steps.length === 0) return undefined;
  return (x) => {
    for (const step of steps) step(x);
  };
}

function compileStatus({ code, reason }: NonNullable<EchozConfig['status']>, build: Build): HeaderFilter {
  const phrase = reason && build.value(reason);
  return (x) => {
    // Errors and redirects keep their status; so do 204 and 206, which have no body or a part of one.
    if (x.status < 200 || x.status > 299 || x.status === 206 || hasNoBody(x.status)) return;
    x.status = code;
    if (phrase) x.response.setReason(phrase(x));
    else x.response.reason = undefined;
  };
}

/** Compiles `echoz_before_body` and `echoz_after_body`; `undefined` without them. */
export function compileWrapping(
  { before = [], after = [] }: EchozConfig,
  build: Build,
): BodyFilter | undefined {
  if (before.length === 0 && after.length === 0) return undefined;
  const [first, last] = [before, after].map((lines) => {
    const rendered = lines.map((words) => compileWords(words, build));
    return (x: Exchange): Buffer => Buffer.from(rendered.map((render) => render(x)).join(''));
  }) as [(x: Exchange) => Buffer, (x: Exchange) => Buffer];
  return {
    wants: (x) => x.status !== 206 && !hasNoBody(x.status) && isUncoded(x),
    open(x) {
      markTransformed(x);
      return new WrappingTransform(first(x), () => last(x));
    },
  };
}

/** Sends a text before the first piece, and another after the last. */
class WrappingTransform implements BodyTransform {
  #before: Buffer;
  readonly #after: () => Buffer;

  constructor(before: Buffer, after: () => Buffer) {
    this.#before = before;
    this.#after = after;
  }

  whole(body: Uint8Array): Uint8Array {
    return Buffer.concat([this.#before, body, this.#after()]);
  }

  write(piece: Uint8Array): Uint8Array {
    return Buffer.concat([this.#takeBefore(), piece]);
  }

  end(): Uint8Array {
    return Buffer.concat([this.#takeBefore(), this.#after()]);
  }

  #takeBefore(): Buffer {
    const before = this.#before;
    this.#before = Buffer.alloc(0);
    return before;
  }
}
