import { placeOf } from '../../grammar/index.ts';
import type { DirectiveNode, Span } from '../../grammar/index.ts';

const MASK = '***';

/** A place as people click on it: `file:line`. */
export function placeText(span: Span | undefined): string {
  if (!span) return '';
  const { file, line } = placeOf(span);
  return `${file}:${line}`;
}

/** Writes directives as the text has them, without what is secret in them. */
export class Wording {
  readonly #secrets: readonly Span[];
  readonly #texts: readonly string[];

  constructor(secrets: readonly Span[]) {
    this.#secrets = secrets;
    this.#texts = secrets
      .map(({ source, start, end }) => source.text.slice(start, end))
      .filter((text) => text !== '')
      .sort((a, b) => b.length - a.length);
  }

  /** A directive in one line; what its block holds is left out. */
  directive({ name, args, block }: DirectiveNode): string {
    const last = args.at(-1)?.span ?? name.span;
    const words = [name, ...args].map(({ span }) => this.#masked(span));
    return last.source === name.span.source ? `${words.join(' ')}${block ? ' { … }' : ''}` : words.join(' ');
  }

  /** A text that requests and configuration have made: a secret that is in it as it was written does not show. */
  masked(text: string): string {
    return this.#texts.reduce((shown, secret) => shown.replaceAll(secret, MASK), text);
  }

  #masked(span: Span): string {
    const { source, start, end } = span;
    let shown = '';
    let at = start;
    for (const secret of this.#secrets) {
      if (secret.source !== source || secret.start < at || secret.end > end) continue;
      shown += source.text.slice(at, secret.start) + MASK;
      at = secret.end;
    }
    return (shown + source.text.slice(at, end)).replace(/\s+/g, ' ');
  }
}
